// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package union

// HasDefaults reports whether the discriminator of a union has a default, so that objects must be defaulted by Default.
func (p *Plan) HasDefaults() bool { return p != nil && p.hasDefaults }

// Default calls fill, which fills in the defaults of the schema in an object that a request sends. What it filled in for
// a discriminator is taken back where a member is set that the default does not select: the object would be invalid,
// and the member lost where normalization took the default for the client's choice (rule U4.3). Validation refuses what
// is left out. A default that fills in the whole union stays: nothing was left out.
func (p *Plan) Default(object map[string]any, fill func()) {
	var undecided undecidedUnions
	if p.HasDefaults() {
		undecided.object(p.everything, object)
	}
	fill()
	for _, u := range undecided {
		if u.object[u.discriminator] != nil {
			delete(u.object, u.discriminator)
		}
	}
}

// undecidedUnions are the unions of an object whose discriminator a default must not fill in.
type undecidedUnions []undecidedUnion

type undecidedUnion struct {
	object        map[string]any
	discriminator string
}

func (found *undecidedUnions) value(at *node, value any) {
	switch value := value.(type) {
	case map[string]any:
		switch at.kind {
		case anObject:
			found.object(at, value)
		case aMap:
			for key := range value {
				found.value(at.each, value[key])
			}
		}
	case []any:
		if at.kind == aListMap || at.kind == aList {
			for i := range value {
				found.value(at.each, value[i])
			}
		}
	}
}

func (found *undecidedUnions) object(at *node, object map[string]any) {
	for i := range at.unions {
		if u := &at.unions[i]; u.isUndecided(object) {
			*found = append(*found, undecidedUnion{object, u.discriminator})
		}
	}
	for i := range at.fields {
		c := &at.fields[i]
		found.value(c.node, object[c.name])
	}
}

// isUndecided reports whether the discriminator is absent and has a default that does not select a member which is set.
func (u *union) isUndecided(object map[string]any) bool {
	return u.preset != nil && object[u.discriminator] == nil && u.hasUnselected(object, u.preset.member, len(object))
}
