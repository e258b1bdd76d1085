// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestV1UnionMetrics (rule V1): a request counts once for each union of the schema. Dry runs and valid writes do not
// count.
func TestV1UnionMetrics(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	o := s.newObject(t)
	wantSeries := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, shared.seriesOf(t, s.crd.Spec.Group, "union_")); diff != "" {
			t.Errorf("series after %s (-want +got):\n%s", when, diff)
		}
	}
	const git = `{type: Git, git: {url: u}}`
	o.create(`{source: ` + git + `, map: {a: ` + git + `, b: ` + git + `}}`)
	wantSeries("a valid create")

	const switches = `{"spec": {"source": {"type": "None"}, "map": {"a": {"type": "S3"}, "b": {"type": "S3"}}}}`
	for _, dryRun := range [][]string{dryRun, nil} {
		if err := o.patch(types.MergePatchType, switches, metav1.PatchOptions{DryRun: dryRun}); err != nil {
			t.Fatal(err)
		}
	}
	normalizations := `union_normalizations_total{resource="crontabs"} 2`
	wantSeries("a switch of two unions of the schema", normalizations)

	for _, dryRun := range [][]string{dryRun, nil} {
		u := cronTab(t, o.crd, "bad", `{source: {type: Nope, proxy: HTTP, socks: s}, map: {a: {git: {}}, b: {git: {}}}}`)
		_, err := o.client.Create(t.Context(), u, metav1.CreateOptions{DryRun: dryRun})
		o.wantInvalid(err, `spec.source.type: Unsupported value: "Nope"`)
	}
	wantSeries("an invalid create", normalizations,
		`union_validation_failures_total{reason="forbidden",resource="crontabs"} 2`,
		`union_validation_failures_total{reason="required",resource="crontabs"} 1`,
		`union_validation_failures_total{reason="unsupported",resource="crontabs"} 1`)

	shared.uninstall(t, s.crd.Name)
	eventually(t, "the series are removed with the CRD", func(context.Context) (bool, error) {
		return len(shared.seriesOf(t, s.crd.Spec.Group, "union_")) == 0, nil
	})
}

// TestV3AtMostTwentyWarnings (rule V3) clears 25 members. The last warning counts those that are not listed.
func TestV3AtMostTwentyWarnings(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	var before, after []string
	for i := range 25 {
		before = append(before, fmt.Sprintf(`{name: n%02d, type: Git, git: {}}`, i))
		after = append(after, fmt.Sprintf(`{name: n%02d, type: S3, git: {}}`, i))
	}
	o.create(`{listMap: [` + strings.Join(before, ", ") + `]}`)
	if err := o.merge("m", `{listMap: [`+strings.Join(after, ", ")+`]}`); err != nil {
		t.Fatal(err)
	}
	warnings := o.takeWarnings()
	if len(warnings) != 20 {
		t.Fatalf("%d warnings, want 20: %q", len(warnings), warnings)
	}
	if want := `spec.listMap[18].git: cleared: spec.listMap[18].type changed from "Git" to "S3"`; warnings[18] != want {
		t.Errorf("the last warning but one is %q, want %q", warnings[18], want)
	}
	if !strings.Contains(warnings[19], " 6 more ") {
		t.Errorf("the last warning does not count the others: %q", warnings[19])
	}
}

// TestV3DryRunAndRefusedRequests (rules V3, G13): a dry run has the warnings of the real request. A refused request
// clears nothing, so it has none.
func TestV3DryRunAndRefusedRequests(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.create(`{source: {type: Git, git: {url: u}}}`)
	patch := []byte(`{"spec": {"source": {"type": "S3"}}}`)
	u, err := o.client.Patch(t.Context(), o.name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: dryRun})
	if err != nil {
		t.Fatal(err)
	}
	o.wantSpecOf("the answer to the dry run", u, "source:\n  type: S3")
	o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.wantSpec(`{source: {type: Git, git: {url: u}}}`)
	o.wantInvalid(o.merge("m", `{image: 5, source: {type: S3}}`), "spec.image: Invalid value")
	o.wantWarnings()
}

// TestU4AfterMutatingAdmission (rules U4, U8, V3): normalization comes after admission, so a discriminator that
// admission changes is treated as if the client had changed it.
func TestU4AfterMutatingAdmission(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	o := s.newObject(t)
	o.apply("author", `{source: {type: Git, git: {url: u}}}`)
	o.mutate("UPDATE", `[{"op": "replace", "path": "/spec/source/type", "value": "S3"}]`)
	o.awaitMutation(`{"spec": {"image": "i"}}`, "S3")
	if err := o.merge("m", `{image: i}`); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.wantSpec(`{image: i, source: {type: S3}}`)
	o.wantOwned("author", "spec.source.type")
	if slices.Contains(owners(t, o.get(), "f:spec", "f:source", "f:git"), "author") {
		t.Error("U8: the author owns the cleared member")
	}
}
