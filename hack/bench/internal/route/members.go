// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package route

// Union is a union as one writes it by hand, in a webhook or a policy.
type Union struct {
	Discriminator string
	// Members are by value.
	Members map[string]string
}

// The two unions of an HTTPRoute, in each of its rules and in each filter of those.
var (
	RuleUnion = Union{"action", map[string]string{"Forward": "forward", "Respond": "respond", "Drop": "drop"}}

	FilterUnion = Union{"type", map[string]string{
		"RequestHeaderModifier": "requestHeaderModifier", "ResponseHeaderModifier": "responseHeaderModifier",
		"RequestMirror": "requestMirror", "RequestRedirect": "requestRedirect", "URLRewrite": "urlRewrite",
		"CORS": "cors", "ExtensionRef": "extensionRef",
	}}
)

// IsValid tells whether exactly the selected member is set.
func (u Union) IsValid(object map[string]any) bool {
	selected, _ := object[u.Discriminator].(string)
	for value, member := range u.Members {
		if (object[member] != nil) != (value == selected) {
			return false
		}
	}
	_, known := u.Members[selected]
	return known
}

// Stale returns the members that a changed discriminator does not select any more.
func (u Union) Stale(object, old map[string]any) []string {
	selected, _ := object[u.Discriminator].(string)
	if old == nil || old[u.Discriminator] == selected {
		return nil
	}
	var stale []string
	for value, member := range u.Members {
		if value != selected && object[member] != nil {
			stale = append(stale, member)
		}
	}
	return stale
}

// Rules returns the rules of an HTTPRoute.
func Rules(object map[string]any) []map[string]any {
	spec, _ := object["spec"].(map[string]any)
	return Objects(spec, "rules")
}

// Objects returns a list of objects.
func Objects(parent map[string]any, name string) []map[string]any {
	list, _ := parent[name].([]any)
	objects := make([]map[string]any, len(list))
	for i := range list {
		objects[i], _ = list[i].(map[string]any)
	}
	return objects
}

// Named returns the object of a list with the name of another, nil if there is none.
func Named(list []map[string]any, like map[string]any) map[string]any {
	for _, object := range list {
		if object["name"] == like["name"] {
			return object
		}
	}
	return nil
}
