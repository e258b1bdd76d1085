// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

// HasDefaults reports whether any discriminator has a default. If so, requests must be defaulted with Default.
func (p *Plan) HasDefaults() bool { return p != nil && p.hasDefaults }

// Default applies the defaults of the schema to the object in a request by calling applyDefaults. It then removes the
// default of a discriminator again if the request sets a member that the default does not select (rule U4.3).
//
// With that default the object would be invalid, or normalization would clear the member that the client set. Without
// it, validation rejects the object, and the client has to set the discriminator. The default of a whole union stays,
// because the request sets nothing in it.
func (p *Plan) Default(object map[string]any, applyDefaults func()) {
	var conflicts defaultConflicts
	if p.HasDefaults() {
		conflicts.object(p.everything, object)
	}
	applyDefaults()
	for _, u := range conflicts {
		if u.object[u.discriminator] != nil {
			delete(u.object, u.discriminator)
		}
	}
}

// defaultConflicts are the unions of an object whose discriminator must not be defaulted.
type defaultConflicts []defaultConflict

type defaultConflict struct {
	object        map[string]any
	discriminator string
}

func (found *defaultConflicts) value(n *node, value any) {
	switch value := value.(type) {
	case map[string]any:
		switch n.kind {
		case objectNode:
			found.object(n, value)
		case mapNode:
			for key := range value {
				found.value(n.elements, value[key])
			}
		}
	case []any:
		if n.kind == listMapNode || n.kind == listNode {
			for i := range value {
				found.value(n.elements, value[i])
			}
		}
	}
}

func (found *defaultConflicts) object(n *node, object map[string]any) {
	for i := range n.unions {
		if u := &n.unions[i]; u.conflictsWithDefault(object) {
			*found = append(*found, defaultConflict{object, u.discriminator})
		}
	}
	for i := range n.fields {
		c := &n.fields[i]
		found.value(c.node, object[c.name])
	}
}

// conflictsWithDefault reports whether the discriminator is absent, and has a default that does not select a member
// that is set.
func (u *union) conflictsWithDefault(object map[string]any) bool {
	return u.forDefault != nil && object[u.discriminator] == nil &&
		u.hasUnselected(object, u.forDefault.member, len(object))
}
