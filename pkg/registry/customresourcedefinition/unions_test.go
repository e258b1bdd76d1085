// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresourcedefinition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestC9AFullUpdateKeepsTheUnionsThatItLeavesOut(t *testing.T) {
	const otherUnion = plain + `, x-kubernetes-unions: {fieldMembers: {Git: {}}}`
	list := func(versions ...string) string { return `[` + strings.Join(versions, ", ") + `]` }
	v1, v2 := func(discriminator string) string { return version("v1", discriminator) }, func(discriminator string) string { return version("v2", discriminator) }
	deep := func(extension string) string {
		object := `{type: object, properties: {t: {type: string, enum: [A]` + extension + `}}}`
		return `[{name: v1, schema: {openAPIV3Schema: {type: object, properties: {
l: {type: array, items: ` + object + `}, m: {type: object, additionalProperties: ` + object + `}, n: ` + object + `}}}}]`
	}
	const deepUnion = `, x-kubernetes-unions: {fieldMembers: {A: {}, "": {}}}`
	const columns = `, additionalPrinterColumns: [{name: c, type: string, jsonPath: .spec}]`

	for _, tc := range []struct {
		claim, old, new string
		want            string // the new ones if empty
	}{
		{claim: "C9: without any they are kept", old: list(v1(union)), new: list(v1(plain)), want: list(v1(union))},
		{claim: "C9: at any depth they are kept", old: deep(deepUnion), new: deep(""), want: deep(deepUnion)},
		{claim: "C9: those of all versions are kept", old: list(v1(union), v2(union)), new: list(v1(plain), v2(plain)), want: list(v1(union), v2(union))},
		{claim: "C9: those of one version are kept, also where both have one schema without them",
			old: list(v1(union), v2(plain)), new: list(v1(plain), v2(plain)), want: list(v1(union), v2(plain))},
		{claim: "C9: different unions are kept, also where both have one schema without them",
			old: list(v1(union), v2(otherUnion)), new: list(v1(plain), v2(plain)), want: list(v1(union), v2(otherUnion))},
		{claim: "C9: versions are matched by name", old: list(v1(union), v2(plain)), new: list(v2(plain), v1(plain)), want: list(v2(plain), v1(union))},
		{claim: "C9: beside a version without a schema they are kept", old: list(v1(union), `{name: v2}`), new: list(v1(plain), `{name: v2}`), want: list(v1(union), `{name: v2}`)},
		{claim: "C9: what is no schema may change", old: list(v1(union), v2(union)),
			new:  list(strings.Replace(v1(plain), "served: true", "served: false", 1), strings.Replace(v2(plain), ", schema", columns+", schema", 1)),
			want: list(strings.Replace(v1(union), "served: true", "served: false", 1), strings.Replace(v2(union), ", schema", columns+", schema", 1))},

		{claim: "C9: a schema that changes elsewhere loses them", old: list(v1(union)), new: list(v1(plain + `, description: d`))},
		{claim: "C9: so do all versions where one changes", old: list(v1(union), v2(union)), new: list(v1(plain), v2(plain+`, description: d`))},
		{claim: "C9: so they do with a version that is new", old: list(v1(union)), new: list(v1(plain), v2(plain))},
		{claim: "C9: so they do with a version that goes", old: list(v1(union), v2(union)), new: list(v1(plain))},
		{claim: "C9: so they do with a version of another name", old: list(v1(union)), new: list(v2(plain))},
		{claim: "C9: so they do without a schema", old: list(v1(union)), new: `[{name: v1}]`},
		{claim: "C9: one that is left shows that the client knows them", old: list(v1(union), v2(union)), new: list(v1(union), v2(plain))},
		{claim: "C9: one that changes shows so too", old: list(v1(union)), new: list(v1(otherUnion))},
		{claim: "C9: the same stay as they are", old: list(v1(union)), new: list(v1(union))},
		{claim: "C9: where there were none they are set", old: list(v1(plain)), new: list(v1(union))},
		{claim: "C9: none stay none", old: list(v1(plain)), new: list(v1(plain + `, description: d`))},
		{claim: "R1: versions twice are left to validation", old: list(v1(union), v2(union)), new: list(v1(plain), v1(plain))},
		{claim: "R1: no versions are left to validation", old: list(v1(union)), new: `[]`},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			ctx, recorder := requestOf(t, "update", "")
			oldCRD, newCRD := crdOf(t, tc.old, ""), crdOf(t, tc.new, "")
			persisted := oldCRD.DeepCopy()
			KeepLeftOut(ctx, newCRD, oldCRD)
			kept := tc.want != ""
			if !kept {
				tc.want = tc.new
			}
			KeepLeftOut(ctx, newCRD, oldCRD) // changes no more
			if diff := cmp.Diff(crdOf(t, tc.want, ""), newCRD); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(persisted, oldCRD); diff != "" {
				t.Errorf("R4: the persisted object changed (-want +got):\n%s", diff)
			}
			if got := len(recorder.texts) == 1 && recorder.texts[0] == unionsKept; got != kept {
				t.Errorf("warnings: %q", recorder.texts)
			}
		})
	}
}
