// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	"github.com/fairlead-dev/fairlead/pkg/apis/apiextensions/fieldpath"
)

func TestFieldPathAccepted(t *testing.T) {
	schema := testyaml.Schema(t, richSchema)
	for _, tc := range []struct{ claim, path string }{
		{"C5: a field of the root", ".spec"},
		{"C5: status", ".status"},
		{"C5: a field in status", ".status.phase"},
		{"C5: a field in an object", ".spec.replicas"},
		{"C5: a quoted name", ".spec['a.b']"},
		{"C5: a name with a quote in it", ".spec.it's"},
		{"C5: a quoted name with an escape", `['spec']['it\'s']`},
		{"C5: an int-or-string", ".spec.size"},
		{"C5: a nullable scalar", ".spec.label"},
		{"C5: an object, nullable or not", ".spec.foo"},
		{"C5: a field in a nullable object", ".spec.foo.bar"},
		{"C5: a field named metadata of an object that is not a resource", ".spec.foo.metadata"},
		{"C5: a map as a whole", ".spec.map"},
		{"C5: a list map as a whole", ".spec.containers"},
		{"C5: an atomic list as a whole", ".spec.atomic"},
		{"C5: a set as a whole", ".spec.set"},
		{"C5: a field in the values of a map", ".spec.map[*].may"},
		{"C5: a field in the values of a map of maps", ".spec.maps[*][*].leaf"},
		{"C5: a field in the items of a list map", ".spec.containers[*].debug"},
		{"C5: a field in a list map in a list map", ".spec.containers[*].ports[*].host"},
		{"C5: an undeclared field below x-kubernetes-preserve-unknown-fields", ".spec.free.any"},
		{"C5: an undeclared field deep below x-kubernetes-preserve-unknown-fields", ".spec.free.any.depth['at.all']"},
		{"C5: an undeclared field named metadata below x-kubernetes-preserve-unknown-fields", ".spec.free.metadata.labels"},
		{"C5: an undeclared field below x-kubernetes-preserve-unknown-fields without a type", ".spec.untyped.any"},
		{"C5: a declared field below x-kubernetes-preserve-unknown-fields", ".spec.free.known.a"},
		{"C5: an undeclared field in the items of a list map that preserves unknown fields", ".spec.freeList[*].any"},
		{"C5: a declared field in the values of a map that preserves unknown fields", ".spec.freeMap[*].a"},
		{"C5: a declared field of an embedded resource", ".spec.template.spec"},
		{"C5: a field in a field of an embedded resource", ".spec.template.spec.a"},
		{"C5: an undeclared field of an embedded resource", ".spec.template.data"},
		{"C5: an undeclared metadata below a field of an embedded resource", ".spec.template.data.metadata"},
		{"C6: a field deeper in an item that has the name of a key", ".spec.containers[*].sub.name"},
		{"C6: a member of a union", ".spec.sources[*].git"},
		{"C6: a field in a member of a union", ".spec.sources[*].tls.ca"},
	} {
		t.Run(tc.claim+" is accepted", func(t *testing.T) {
			for _, err := range ValidateCustomFeatureGates(specOf(schema, alphaGate(tc.path)), specPath) {
				t.Errorf("%s: %v", tc.path, err)
			}
		})
	}
}

func TestFieldPathRejected(t *testing.T) {
	schema := testyaml.Schema(t, richSchema)
	const (
		unresolved = "must resolve in the schema of the storage version: "
		metaOfRoot = "must not guard apiVersion, kind or anything in metadata: guard a field beside "
		metaOf     = "must not guard apiVersion, kind or anything in metadata of "
		embedded   = ", which is an embedded resource"
		asAWhole   = "must not guard an embedded resource as a whole: guard the fields in it, or the field that it is in"
		noIdentity = ", so that its items have no identity: make it map, or guard "
		undeclared = ": the schema declares neither a map nor a list there, only x-kubernetes-preserve-unknown-fields"
		isAMap     = " with [*]: it is a map, of which single values such as "
	)
	for _, tc := range []struct{ claim, path, detail string }{
		{"C5: an empty path", "", "must not be empty: name a field, as in .spec.replicas"},
		{"C5: the root", ".", "must name a field, as in .spec.replicas: the root cannot be guarded"},
		{"C5: an index", ".spec.containers[0].debug", "must not use indexes: write [*] for all values of a map or items of a list (at byte 16)"},
		{"C5: a filter", ".spec.containers[?(@.name=='a')].debug", "must not use filters or expressions: write [*] for all values of a map or items of a list (at byte 16)"},
		{"C5: double quotes", `.spec["replicas"]`, "must not use double quotes: write ['name'] (at byte 5)"},
		{"C5: recursive descent", "..replicas", "must not use recursive descent (..): write out every field on the way (at byte 0)"},
		{"C5: a line break", ".spec\n", `must not contain line breaks or control characters: escape them, as in ['a\nb'] (at byte 5)`},

		{"C5: apiVersion", ".apiVersion", metaOfRoot + ".apiVersion"},
		{"C5: kind, quoted", "['kind']", metaOfRoot + ".kind"},
		{"C5: metadata", ".metadata", metaOfRoot + ".metadata"},
		{"C5: a field in metadata", ".metadata.labels", metaOfRoot + ".metadata"},
		{"C5: a value in metadata", ".metadata.labels[*]", metaOfRoot + ".metadata"},
		{"C5: an embedded resource as a whole", ".spec.template", asAWhole},
		{"C5: apiVersion of an embedded resource", ".spec.template.apiVersion", metaOf + ".spec.template" + embedded},
		{"C5: kind of an embedded resource", ".spec.template.kind", metaOf + ".spec.template" + embedded},
		{"C5: metadata of an embedded resource", ".spec.template.metadata", metaOf + ".spec.template" + embedded},
		{"C5: a field in metadata of an embedded resource", ".spec.template.metadata.labels.a", metaOf + ".spec.template" + embedded},
		{"C5: kind of an embedded resource in a list map", ".spec.templates[*].kind", metaOf + ".spec.templates[*]" + embedded},
		{"C5: an embedded resource in an embedded resource", ".spec.template.spec.inner", asAWhole},
		{"C5: kind of an embedded resource in an embedded resource", ".spec.template.spec.inner.kind", metaOf + ".spec.template.spec.inner" + embedded},

		{"C5: an unknown field of the root", ".spek.replicas", unresolved + `the root has no field "spek"`},
		{"C5: an unknown field", ".spec.replica", unresolved + `.spec has no field "replica"`},
		{"C5: an unknown field on the way", ".spec.fu.bar", unresolved + `.spec has no field "fu"`},
		{"C5: an unknown field in a list map", ".spec.containers[*].x", unresolved + `.spec.containers[*] has no field "x"`},
		{"C5: an unknown field below a declared field of an object that preserves unknown fields", ".spec.free.known.b", unresolved + `.spec.free.known has no field "b"`},
		{"C5: an unknown field below a declared field of an embedded resource", ".spec.template.spec.b", unresolved + `.spec.template.spec has no field "b"`},
		{"C5: an unknown field in the declared values of a map that preserves unknown fields", ".spec.freeMap[*].b", unresolved + `.spec.freeMap[*] has no field "b"`},
		{"C5: a field in a value that additionalProperties: true prunes", ".spec.anything[*].a", unresolved + `.spec.anything[*] has no field "a"`},
		{"C5: a field in a string", ".spec.label.x", unresolved + `.spec.label is of type string and has no field "x"`},
		{"C5: a field in a boolean", ".spec.enabled.x", unresolved + `.spec.enabled is of type boolean and has no field "x"`},
		{"C5: a field in a number", ".spec.ratio.x", unresolved + `.spec.ratio is of type number and has no field "x"`},
		{"C5: a field in an int-or-string", ".spec.size.x", unresolved + `.spec.size is an integer or a string and has no field "x"`},
		{"C5: a field in a string value of a map", ".spec.strings[*].x", unresolved + `.spec.strings[*] is of type string and has no field "x"`},

		{"C5: a name that steps into a map", ".spec.map.key", "must step through .spec.map" + isAMap + `"key" cannot be guarded`},
		{"C5: a name that steps through a map", ".spec.map.key.may", "must step through .spec.map" + isAMap + `"key" cannot be guarded`},
		{"C5: a name that steps into a map with additionalProperties: true", ".spec.anything.key", "must step through .spec.anything" + isAMap + `"key" cannot be guarded`},
		{"C5: a name that steps into a map that preserves unknown fields", ".spec.freeMap.key", "must step through .spec.freeMap" + isAMap + `"key" cannot be guarded`},
		{"C5: a name that steps into a list map", ".spec.containers.debug", "must step through .spec.containers with [*]: it is a list, not an object"},
		{"C5: a name that steps into an atomic list", ".spec.atomic.a", "must step through .spec.atomic with [*]: it is a list, not an object"},

		{"C5: [*] through a list without a list type", ".spec.unset[*].a", "must not step through .spec.unset with [*]: its x-kubernetes-list-type is not set and thereby atomic" + noIdentity + ".spec.unset itself"},
		{"C5: [*] through an atomic list", ".spec.atomic[*].a", "must not step through .spec.atomic with [*]: its x-kubernetes-list-type is atomic" + noIdentity + ".spec.atomic itself"},
		{"C5: [*] through a set", ".spec.set[*].a", "must not step through .spec.set with [*]: its x-kubernetes-list-type is set" + noIdentity + ".spec.set itself"},
		{"C5: [*] through an undeclared field", ".spec.free.any[*].a", "must not have [*] after .spec.free.any" + undeclared},
		{"C5: [*] through an object that preserves unknown fields", ".spec.free[*].a", "must not have [*] after .spec.free" + undeclared},
		{"C5: [*] through a value without a type", ".spec.untyped[*].a", "must not have [*] after .spec.untyped" + undeclared},
		{"C5: [*] through an atomic list in an object that preserves unknown fields", ".spec.free.list[*].a", "must not step through .spec.free.list with [*]: its x-kubernetes-list-type is not set and thereby atomic" + noIdentity + ".spec.free.list itself"},
		{"C5: [*] through an object", ".spec.foo[*].bar", "must not have [*] after .spec.foo: it is an object with named fields, neither a map nor a list"},
		{"C5: [*] through a scalar", ".spec.replicas[*].a", "must not have [*] after .spec.replicas: it is of type integer, neither a map nor a list"},
		{"C5: [*] through an int-or-string", ".spec.size[*].a", "must not have [*] after .spec.size: it is an integer or a string, neither a map nor a list"},
		{"C5: a path that ends in [*] of a map", ".spec.map[*]", "must not end in [*]: guard the list or map itself, .spec.map, or a field below"},
		{"C5: a path that ends in [*] of a list map", ".spec.containers[*]", "must not end in [*]: guard the list or map itself, .spec.containers, or a field below"},
		{"C5: a path that ends in [*] of a map of maps", ".spec.maps[*][*]", "must not end in [*]: guard the list or map itself, .spec.maps[*], or a field below"},

		{"C6: a required field of the root", ".mandatory", `must be optional, as every guarded field: remove "mandatory" from required of the root`},
		{"C6: a required field", ".spec.type", `must be optional, as every guarded field: remove "type" from required of .spec`},
		{"C6: a required field in a map", ".spec.map[*].must", `must be optional, as every guarded field: remove "must" from required of .spec.map[*]`},
		{"C6: a required field in a list map", ".spec.containers[*].image", `must be optional, as every guarded field: remove "image" from required of .spec.containers[*]`},
		{"C6: a required field that has no schema", ".spec.free.needed", `must be optional, as every guarded field: remove "needed" from required of .spec.free`},
		{"C6: a required key of a list map", ".spec.containers[*].name", `must not guard a key of the items of .spec.containers: x-kubernetes-list-map-keys has "name"`},
		{"C6: a key of a list map that has a default", ".spec.containers[*].protocol", `must not guard a key of the items of .spec.containers: x-kubernetes-list-map-keys has "protocol"`},
		{"C6: a key of a list map in a list map", ".spec.containers[*].ports[*].port", `must not guard a key of the items of .spec.containers[*].ports: x-kubernetes-list-map-keys has "port"`},
		{"C6: a union's discriminator", ".spec.sources[*].type", `must not guard "type" of .spec.sources[*], which is the discriminator of a union: guard its members`},
		{"C6: a union's discriminator that is required", ".spec.sources[*].proof", `must not guard "proof" of .spec.sources[*], which is the discriminator of a union: guard its members`},
	} {
		t.Run(tc.claim+" is rejected", func(t *testing.T) {
			want := field.ErrorList{field.Invalid(specPath.Child("customFeatureGates", "featureGates").Index(0).Child("fieldPaths").Index(0), tc.path, tc.detail)}
			field.ErrorMatcher{}.Exactly().Test(t, want, ValidateCustomFeatureGates(specOf(schema, alphaGate(tc.path)), specPath))
		})
	}
}

// TestQuotingIsLikeUpstream checks that fieldpath.Parse and upstream's ValidFieldPath parse names alike. ValidFieldPath
// resolves a path in a schema, so the schema has just the name that the path consists of.
func TestQuotingIsLikeUpstream(t *testing.T) {
	for _, text := range []string{
		".a", ".a-b", ".34", ".white space", ".foo's", `.\n`, ".$ref", ".größe", "['a']", "['a.b']", "['a[0]']", "['*']", "['']",
		`['it\'s']`, `['\a\b\f\n\r\t\v']`, `['a\\b']`, `['a"b']`, "[' a ']", `['\x']`, `['a`, `['a'`, "[a]", "[0]", `["a"]`, "a", ".a]",
	} {
		t.Run("C5: "+text+" is parsed as in upstream's fieldPath", func(t *testing.T) {
			path, ourErr := fieldpath.Parse(text)
			name := "a"
			if ourErr == nil {
				name = path[0].Name
			}
			schema := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{name: {}}}
			if _, _, err := cel.ValidFieldPath(text, schema); (err == nil) != (ourErr == nil) {
				t.Errorf("upstream: %v, ours: %v", err, ourErr)
			}
		})
	}
}

// FuzzFieldPath checks that no path causes a panic or more than one error, and that the result does not depend on how a
// path is written.
func FuzzFieldPath(f *testing.F) {
	for _, seed := range []string{
		".spec", ".spec.containers[*].debug", ".spec.maps[*][*].leaf", ".spec['a.b']", `['spec']['it\'s']`, ".spec.free.any[*]",
		".spec.template.spec.inner.kind", ".spec.freeList[*].x.y", ".spec.anything[*].a", ".spec.set[*]", ".spec.size.a", "[*]", ".",
	} {
		f.Add(seed)
	}
	schema := testyaml.Schema(f, richSchema)
	f.Fuzz(func(t *testing.T, text string) {
		errs := ValidateCustomFeatureGates(specOf(schema, alphaGate(text)), specPath)
		if len(errs) > 1 {
			t.Errorf("%q: more than one error: %v", text, errs)
		}
		path, err := fieldpath.Parse(text)
		if err != nil || len(text) > maxFieldPathBytes {
			if len(errs) == 0 {
				t.Errorf("%q is accepted", text)
			}
			return
		}
		again := ValidateCustomFeatureGates(specOf(schema, alphaGate(path.String())), specPath)
		if len(errs) != len(again) || (len(errs) == 1 && errs[0].Detail != again[0].Detail) {
			t.Errorf("%q: %v, but %q: %v", text, errs, path, again)
		}
		if len(errs) == 0 && strings.HasSuffix(text, "]") && path[len(path)-1].Each {
			t.Errorf("%q ends in [*] and is accepted", text)
		}
	})
}
