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
	v1 := func(discriminator string) string { return version("v1", discriminator) }
	v2 := func(discriminator string) string { return version("v2", discriminator) }
	deep := func(extension string) string {
		object := `{type: object, properties: {t: {type: string, enum: [A]` + extension + `}}}`
		return `[{name: v1, schema: {openAPIV3Schema: {type: object, properties: {
l: {type: array, items: ` + object + `}, m: {type: object, additionalProperties: ` + object + `}, n: ` + object + `}}}}]`
	}
	const deepUnion = `, x-kubernetes-unions: {fieldMembers: {A: {}, "": {}}}`
	const columns = `, additionalPrinterColumns: [{name: c, type: string, jsonPath: .spec}]`

	for _, tc := range []struct {
		claim, old, new string
		want            string // new if empty
	}{
		{claim: "C9: unions that an update leaves out are kept", old: list(v1(union)), new: list(v1(plain)), want: list(v1(union))},
		{claim: "C9: unions at any depth are kept", old: deep(deepUnion), new: deep(""), want: deep(deepUnion)},
		{claim: "C9: the unions of all versions are kept", old: list(v1(union), v2(union)), new: list(v1(plain), v2(plain)), want: list(v1(union), v2(union))},
		{claim: "C9: the unions of one version are kept, even if both versions share a schema without them",
			old: list(v1(union), v2(plain)), new: list(v1(plain), v2(plain)), want: list(v1(union), v2(plain))},
		{claim: "C9: different unions are kept, even if both versions share a schema without them",
			old: list(v1(union), v2(otherUnion)), new: list(v1(plain), v2(plain)), want: list(v1(union), v2(otherUnion))},
		{claim: "C9: versions are matched by name", old: list(v1(union), v2(plain)), new: list(v2(plain), v1(plain)), want: list(v2(plain), v1(union))},
		{claim: "C9: unions are kept beside a version without a schema", old: list(v1(union), `{name: v2}`), new: list(v1(plain), `{name: v2}`), want: list(v1(union), `{name: v2}`)},
		{claim: "C9: unions are kept if the update changes other fields than schemas", old: list(v1(union), v2(union)),
			new:  list(strings.Replace(v1(plain), "served: true", "served: false", 1), strings.Replace(v2(plain), ", schema", columns+", schema", 1)),
			want: list(strings.Replace(v1(union), "served: true", "served: false", 1), strings.Replace(v2(union), ", schema", columns+", schema", 1))},

		{claim: "C9: unions are removed if the schema changes elsewhere", old: list(v1(union)), new: list(v1(plain + `, description: d`))},
		{claim: "C9: the unions of all versions are removed if one schema changes elsewhere", old: list(v1(union), v2(union)), new: list(v1(plain), v2(plain+`, description: d`))},
		{claim: "C9: unions are removed if a version is added", old: list(v1(union)), new: list(v1(plain), v2(plain))},
		{claim: "C9: unions are removed if a version is removed", old: list(v1(union), v2(union)), new: list(v1(plain))},
		{claim: "C9: unions are removed if a version is renamed", old: list(v1(union)), new: list(v2(plain))},
		{claim: "C9: unions are removed if the schema is removed", old: list(v1(union)), new: `[{name: v1}]`},
		{claim: "C9: an update with some of the unions removes the others", old: list(v1(union), v2(union)), new: list(v1(union), v2(plain))},
		{claim: "C9: an update may change unions", old: list(v1(union)), new: list(v1(otherUnion))},
		{claim: "C9: an update with the same unions changes nothing", old: list(v1(union)), new: list(v1(union))},
		{claim: "C9: an update may add unions", old: list(v1(plain)), new: list(v1(union))},
		{claim: "C9: a CRD without unions gets none", old: list(v1(plain)), new: list(v1(plain + `, description: d`))},
		{claim: "R1: duplicate versions are left to validation", old: list(v1(union), v2(union)), new: list(v1(plain), v1(plain))},
		{claim: "R1: a CRD without versions is left to validation", old: list(v1(union)), new: `[]`},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			var wantWarnings []string
			if tc.want != "" {
				wantWarnings = []string{unionsKept}
			} else {
				tc.want = tc.new
			}
			warnings := testKeepLeftOut(t, "update", "", crdOf(t, tc.old, ""), crdOf(t, tc.new, ""), crdOf(t, tc.want, ""))
			if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
