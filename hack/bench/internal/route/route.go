// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route has the custom resource that is measured, an HTTPRoute of 5 KB with 16 unions, and its CRD in all the
// variants that are compared.
package route

import (
	_ "embed" // for the object
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

const (
	// Group of the resource.
	Group = "gateway.example.com"
	// Version of the resource.
	Version = "v1"
	// Plural is the name of the resource.
	Plural = "httproutes"
	// Resource is the path of the objects.
	Resource = "/apis/" + Group + "/" + Version + "/namespaces/default/" + Plural
	// CRDs is the path of CRDs.
	CRDs = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

//go:embed httproute.json
var object []byte

// Object returns a new HTTPRoute of 4 rules with 3 filters each: 16 unions, all of them valid.
func Object(name string) map[string]any {
	var out map[string]any
	if err := json.Unmarshal(object, &out); err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	out["metadata"].(map[string]any)["name"] = name
	return out
}

// Filter returns a filter of a rule of an HTTPRoute.
func Filter(object map[string]any, rule, filter int) map[string]any {
	r := object["spec"].(map[string]any)["rules"].([]any)[rule].(map[string]any)
	return r["filters"].([]any)[filter].(map[string]any)
}

// Spoil sets a member that is not selected.
func Spoil(object map[string]any) { Filter(object, 1, 0)["requestRedirect"] = map[string]any{} }

// Switch changes the type of a filter as a client does that does not know the member it leaves: a stale update.
func Switch(object map[string]any) {
	f := Filter(object, 1, 1)
	f["type"] = "ExtensionRef"
	f["extensionRef"] = map[string]any{"group": "example.com", "kind": "RateLimit", "name": "strict"}
}

// HasStaleMember tells whether the member that Switch leaves is still there.
func HasStaleMember(object map[string]any) bool { return Filter(object, 1, 1)["requestMirror"] != nil }

// SetPort changes the port of the gateway that the route is for.
func SetPort(object map[string]any, port int) {
	object["spec"].(map[string]any)["parentRefs"].([]any)[0].(map[string]any)["port"] = port
}

// SetGated sets a field that a gate of the CRD guards.
func SetGated(object map[string]any) {
	Filter(object, 1, 0)["urlRewrite"].(map[string]any)["hostname"] = "gated"
}

// HasGated tells whether that field is there.
func HasGated(object map[string]any) bool {
	return Filter(object, 1, 0)["urlRewrite"].(map[string]any)["hostname"] != nil
}

// gatedPaths are fields that the object has not: what almost every request meets. They are below list maps, where
// guards cost most.
var gatedPaths = []string{
	".spec.rules[*].drop.reason",
	".spec.rules[*].filters[*].requestHeaderModifier.add",
	".spec.rules[*].filters[*].responseHeaderModifier.add",
	".spec.rules[*].filters[*].requestMirror.backendRef.namespace",
	".spec.rules[*].filters[*].requestRedirect.scheme",
	".spec.rules[*].filters[*].requestRedirect.hostname",
	".spec.rules[*].filters[*].requestRedirect.port",
	".spec.rules[*].filters[*].requestRedirect.statusCode",
	".spec.rules[*].filters[*].urlRewrite.hostname",
	".spec.rules[*].filters[*].urlRewrite.path.replaceFullPath",
}

// Variant of the CRD.
type Variant struct {
	// Unions leaves the unions in the schema, OneUnion that of the filters alone; Rules puts the same checks there in CEL.
	Unions, OneUnion, Rules bool
	// Gates adds ten disabled gates.
	Gates bool
}

// Schema is the schema of the CRD with its unions.
type Schema []byte

// ReadSchema reads it from the file of the benchmarks.
func ReadSchema(path string) (Schema, error) { return os.ReadFile(path) }

// CRD returns a variant, in a group and with a plural as the resource's name.
func (s Schema) CRD(group, plural string, v Variant) (map[string]any, error) {
	var root map[string]any
	if err := yaml.Unmarshal(s, &root); err != nil {
		return nil, err
	}
	vary(root, v)
	spec := map[string]any{
		"group": group, "scope": "Namespaced",
		"names": map[string]any{"plural": plural, "kind": "HTTPRoute", "listKind": "HTTPRouteList"},
		"versions": []any{map[string]any{
			"name": Version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": root},
		}},
	}
	if v.Gates {
		spec["customFeatureGates"] = gates()
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group}, "spec": spec,
	}, nil
}

func gates() map[string]any {
	var list []any
	for i, path := range gatedPaths {
		list = append(list, map[string]any{
			"name": fmt.Sprintf("Gate%d", i), "preRelease": "alpha", "fieldPaths": []any{path},
		})
	}
	return map[string]any{"featureGates": list}
}

// vary changes a schema, and those below it, into a variant.
func vary(schema map[string]any, v Variant) {
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		property := property.(map[string]any)
		if unions, found := property["x-kubernetes-unions"].(map[string]any); found {
			if v.Rules {
				addRules(schema, name, unions["fieldMembers"].(map[string]any))
			}
			if !v.Unions && (!v.OneUnion || name != FilterUnion.Discriminator) {
				delete(property, "x-kubernetes-unions")
			}
		}
		vary(property, v)
	}
	if items, found := schema["items"].(map[string]any); found {
		vary(items, v)
	}
}

// addRules adds two rules for each member, as Gateway API writes them.
func addRules(schema map[string]any, discriminator string, members map[string]any) {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	for _, value := range slices.Sorted(maps.Keys(members)) {
		name := members[value].(map[string]any)["name"].(string)
		rules = append(rules,
			rule("!(has(self.%s) && self.%s != '%s')", name, discriminator, value),
			rule("!(!has(self.%s) && self.%s == '%s')", name, discriminator, value),
		)
	}
	schema["x-kubernetes-validations"] = rules
}

func rule(format, member, discriminator, value string) map[string]any {
	return map[string]any{
		"rule":    fmt.Sprintf(format, member, discriminator, value),
		"message": fmt.Sprintf("%s must be set if and only if %s is %s", member, discriminator, value),
	}
}
