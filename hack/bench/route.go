// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed" // for the object and the gates
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	routeGroup   = "gateway.example.com"
	routeVersion = "v1"
	routePlural  = "httproutes"
	routesPath   = "/apis/" + routeGroup + "/" + routeVersion + "/namespaces/default/" + routePlural
	crdsPath     = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

var (
	//go:embed httproute.json
	httpRoute []byte
	//go:embed gates.yaml
	gates []byte
)

// newRoute returns the object that is measured, an HTTPRoute of 5 KB with 4 rules of 3 filters each: 16 unions, all of
// them valid.
func newRoute(name string) map[string]any {
	var out map[string]any
	if err := json.Unmarshal(httpRoute, &out); err != nil {
		panic(err) // it is a part of the program, and a test reads it
	}
	out["metadata"].(map[string]any)["name"] = name
	return out
}

func filter(object map[string]any, i int) map[string]any {
	rule := object["spec"].(map[string]any)["rules"].([]any)[1].(map[string]any)
	return rule["filters"].([]any)[i].(map[string]any)
}

const mark = "marked"

// spoil sets a member that is not selected.
func spoil(object map[string]any) map[string]any {
	filter(object, 0)["requestRedirect"] = map[string]any{"path": map[string]any{"type": "ReplaceFullPath", "replaceFullPath": mark}}
	return object
}

// markMember marks the member that leaveMember leaves. That changes the type of the filter as a client does that does
// not know the member: a stale update.
func markMember(object map[string]any) map[string]any {
	filter(object, 1)["requestMirror"].(map[string]any)["backendRef"].(map[string]any)["name"] = mark
	return object
}

func leaveMember(object map[string]any) map[string]any {
	f := filter(object, 1)
	f["type"] = "ExtensionRef"
	f["extensionRef"] = map[string]any{"group": "example.com", "kind": "RateLimit", "name": "strict"}
	return object
}

// setGated sets a field that a gate of the CRD guards.
func setGated(object map[string]any) map[string]any {
	filter(object, 0)["urlRewrite"].(map[string]any)["hostname"] = mark
	return object
}

// hasMark reports whether what one of those functions sets is there.
func hasMark(object map[string]any) bool { return strings.Contains(fmt.Sprint(object["spec"]), mark) }

// setPort changes the port of the gateway that the route is for.
func setPort(object map[string]any, port int) {
	object["spec"].(map[string]any)["parentRefs"].([]any)[0].(map[string]any)["port"] = port
}

// variant of the CRD: with its unions, with the union of the filters only, with the same checks in CEL, and with ten
// disabled gates.
type variant struct{ unions, oneUnion, rules, gates bool }

// newCRD returns a variant of the CRD, whose schema with unions is in YAML.
func newCRD(schema []byte, group, plural, kind string, v variant) (map[string]any, error) {
	var root map[string]any
	if err := yaml.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	vary(root, v)
	spec := map[string]any{
		"group": group, "scope": "Namespaced",
		"names": map[string]any{"plural": plural, "kind": kind, "listKind": kind + "List"},
		"versions": []any{map[string]any{
			"name": routeVersion, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": root},
		}},
	}
	if v.gates {
		if err := yaml.Unmarshal(gates, &spec); err != nil {
			return nil, err
		}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group}, "spec": spec,
	}, nil
}

// vary changes a schema, and those below it, into a variant.
func vary(schema map[string]any, v variant) {
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		property := property.(map[string]any)
		if union, found := property["x-kubernetes-unions"].(map[string]any); found {
			if v.rules {
				addRules(schema, name, union["fieldMembers"].(map[string]any))
			}
			if isOfFilter := name == "type"; !v.unions && (!v.oneUnion || !isOfFilter) {
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
		for _, format := range []string{"!(has(self.%s) && self.%s != '%s')", "!(!has(self.%s) && self.%s == '%s')"} {
			rules = append(rules, map[string]any{
				"rule":    fmt.Sprintf(format, name, discriminator, value),
				"message": fmt.Sprintf("%s must be set if and only if %s is %s", name, discriminator, value),
			})
		}
	}
	schema["x-kubernetes-validations"] = rules
}
