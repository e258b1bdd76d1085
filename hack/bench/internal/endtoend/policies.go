// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

const admission = "/apis/admissionregistration.k8s.io/v1/"

// manifest is an object to create.
type manifest struct {
	path   string
	object map[string]any
}

func newManifest(plural, kind, name string, fields map[string]any) manifest {
	object := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name},
	}
	maps.Copy(object, fields)
	return manifest{path: admission + plural, object: object}
}

// matches selects requests for the resource.
func matches(operations ...any) map[string]any {
	return map[string]any{
		"operations": operations, "apiGroups": []any{route.Group}, "apiVersions": []any{route.Version},
		"resources": []any{route.Plural},
	}
}

// policies are what one writes with policies only: one that clears what an update leaves behind, and one that
// validates. Each looks at every object once.
func policies(*bench) []manifest {
	constraints := func(operations ...any) map[string]any {
		return map[string]any{"resourceRules": []any{matches(operations...)}}
	}
	return []manifest{
		newManifest("mutatingadmissionpolicies", "MutatingAdmissionPolicy", "clear", map[string]any{
			"spec": map[string]any{
				"matchConstraints": constraints("UPDATE"), "failurePolicy": "Fail", "reinvocationPolicy": "Never",
				"mutations": []any{
					map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": clearing()}},
				},
			},
		}),
		newManifest("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", "clear", map[string]any{
			"spec": map[string]any{"policyName": "clear"},
		}),
		newManifest("validatingadmissionpolicies", "ValidatingAdmissionPolicy", "validate", map[string]any{
			"spec": map[string]any{
				"matchConstraints": constraints("CREATE", "UPDATE"), "failurePolicy": "Fail",
				"validations": []any{
					map[string]any{"expression": valid(), "message": "exactly the selected member must be set"},
				},
			},
		}),
		newManifest("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "validate", map[string]any{
			"spec": map[string]any{"policyName": "validate", "validationActions": []any{"Deny"}},
		}),
	}
}

// valid is the expression that all unions of an object are valid.
func valid() string {
	return fmt.Sprintf("object.spec.rules.all(r, %s && r.filters.all(f, %s))",
		oneMember("r", route.RuleUnion), oneMember("f", route.FilterUnion))
}

func oneMember(variable string, u route.Union) string {
	var terms []string
	for _, value := range slices.Sorted(maps.Keys(u.Members)) {
		terms = append(terms, fmt.Sprintf("has(%s.%s) == (%s.%s == '%s')",
			variable, u.Members[value], variable, u.Discriminator, value))
	}
	return strings.Join(terms, " && ")
}

// clearing is the expression for the patches that remove the members that a changed discriminator left behind.
func clearing() string {
	const rulePatch = `"/spec/rules/" + string(i) + "/" + m[1]`
	const filterPatch = `"/spec/rules/" + string(i) + "/filters/" + string(j) + "/" + m[1]`
	return fmt.Sprintf(`object.spec.rules.transformList(i, r,
  oldObject.spec.rules.exists(o, o.name == r.name && o.action != r.action), %s).flatten() +
object.spec.rules.transformList(i, r, r.filters.transformList(j, f,
  oldObject.spec.rules.exists(o, o.name == r.name && o.filters.exists(g, g.name == f.name && g.type != f.type)), %s
).flatten()).flatten()`,
		removals("r", route.RuleUnion, rulePatch), removals("f", route.FilterUnion, filterPatch))
}

// removals are patches that remove the members of an object that are not selected.
func removals(variable string, u route.Union, path string) string {
	var members []string
	for _, value := range slices.Sorted(maps.Keys(u.Members)) {
		members = append(members, fmt.Sprintf("['%s', '%s']", value, u.Members[value]))
	}
	return fmt.Sprintf(`[%s].filter(m, m[0] != %s.%s && m[1] in %s).map(m, JSONPatch{op: "remove", path: %s})`,
		strings.Join(members, ", "), variable, u.Discriminator, variable, path)
}
