// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/testaudit"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

func TestV2EveryActionHasItsAnnotation(t *testing.T) {
	outcome := func(path, gate, action string) fieldgate.Outcome {
		return fieldgate.Outcome{Path: path, QualifiedName: gate, Action: fieldgate.Action(action)}
	}
	for _, tc := range []struct {
		name     string
		outcomes []fieldgate.Outcome
		want     map[string]string
	}{
		{"without outcomes there is no annotation", nil, nil},
		{
			"a path is listed with its gate", []fieldgate.Outcome{outcome(".spec.a", "G", "dropped")},
			map[string]string{auditPrefix + "dropped": ".spec.a (G)"},
		},
		{
			"each action has an annotation, in the order of the outcomes", []fieldgate.Outcome{
				outcome(".spec.b", "c/G", "removed"), outcome(".spec.a", "c/G", "kept"), outcome(".spec.d", "H", "deprecated"),
				outcome(".spec.c", "c/H", "removed"), outcome(".spec['x,y']", "H", "dropped"),
			},
			map[string]string{
				auditPrefix + "removed": ".spec.b (c/G),.spec.c (c/H)", auditPrefix + "kept": ".spec.a (c/G)",
				auditPrefix + "deprecated": ".spec.d (H)", auditPrefix + "dropped": ".spec['x,y'] (H)",
			},
		},
	} {
		t.Run("V2: "+tc.name, func(t *testing.T) {
			got := testaudit.Annotations(t.Context(), func(ctx context.Context) { annotateOutcomes(ctx, tc.outcomes) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestV2AnnotationsOfGatesAreBounded has the maximum of outcomes, with the longest paths that a CRD can have (rule C4).
func TestV2AnnotationsOfGatesAreBounded(t *testing.T) {
	const gates, paths, pathBytes = 128, 128, 512
	var outcomes []fieldgate.Outcome
	for i := range gates * paths {
		path := fmt.Sprintf(".spec.f%05d", i)
		outcomes = append(outcomes, fieldgate.Outcome{
			Path:          path + strings.Repeat("x", pathBytes-len(path)),
			QualifiedName: strings.Repeat("c", 253) + "/" + strings.Repeat("G", 63),
			Action:        []fieldgate.Action{"dropped", "kept", "removed", "deprecated"}[i%4],
		})
	}
	got := testaudit.Annotations(t.Context(), func(ctx context.Context) { annotateOutcomes(ctx, outcomes) })
	if len(got) != 4 {
		t.Fatalf("%d annotations", len(got))
	}
	for key, value := range got {
		if len(value) > maxAnnotation || len(value) < maxAnnotation/2 {
			t.Errorf("%s has %d bytes", key, len(value))
		}
		shown := strings.Count(value, "(")
		if want := fmt.Sprintf(",and %d more", len(outcomes)/4-shown); !strings.HasSuffix(value, want) {
			t.Errorf("%s does not end in %q: %q", key, want, value[len(value)-40:])
		}
	}
}

// TestV2AnnotationsOfUnionsAreBounded (rule V2): the number of omitted entries is part of the 16 KiB.
func TestV2AnnotationsOfUnionsAreBounded(t *testing.T) {
	for keyBytes := range 64 {
		var cleared []union.Cleared
		for i := range 2000 {
			key := fmt.Sprintf("%04d%s", i, strings.Repeat("k", keyBytes))
			cleared = append(cleared, union.Cleared{Members: []string{"git"}, Path: []union.Step{{Name: "map"}, {Name: key}}})
		}
		got := testaudit.Annotations(t.Context(), func(ctx context.Context) { annotateCleared(ctx, cleared) })[clearedAnnotation]
		if len(got) > maxAnnotation || len(got) < maxAnnotation-200 {
			t.Errorf("keys of %d bytes: %d bytes", keyBytes, len(got))
		}
		if _, rest, _ := strings.Cut(got, ",and "); !strings.HasSuffix(rest, " more") {
			t.Errorf("keys of %d bytes: omitted entries are not counted: %q", keyBytes, got[len(got)-40:])
		}
	}
}

func TestV2AnnotationsOmitEntriesThatDoNotFit(t *testing.T) {
	long := strings.Repeat("x", maxAnnotation)
	longest := long[:maxAnnotation-maxOmittedNote-1]
	for _, tc := range []struct {
		name    string
		entries []string
		want    string
	}{
		{"no entries", nil, ""},
		{"the longest entry that fits is listed", []string{longest}, longest},
		{"an entry of one byte more is omitted", []string{longest + "x"}, "and 1 more"},
		{"nothing fits after the longest entry", []string{longest, "a", "b"}, longest + ",and 2 more"},
		{"all entries after the first that does not fit are omitted", []string{"a", long, "b"}, "a,and 2 more"},
		{"all entries are omitted if the first does not fit", []string{long, "a"}, "and 2 more"},
	} {
		t.Run("V2: "+tc.name, func(t *testing.T) {
			var list annotation
			for _, entry := range tc.entries {
				list.add(func() string { return entry })
			}
			if got := list.String(); got != tc.want {
				t.Errorf("got %d bytes ending in %.40q, want %d", len(got), got[max(0, len(got)-40):], len(tc.want))
			}
		})
	}
}
