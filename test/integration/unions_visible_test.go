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
	"sigs.k8s.io/yaml"
)

// unionSeries returns the series of unions of a CRD.
func unionSeries(t *testing.T, group string) []string {
	t.Helper()
	var found []string
	for _, line := range strings.Split(shared.metrics(t), "\n") {
		if strings.HasPrefix(line, "apiextensions_apiserver_union_") && strings.Contains(line, `group="`+group+`"`) {
			line = strings.TrimPrefix(line, "apiextensions_apiserver_")
			found = append(found, strings.ReplaceAll(line, `group="`+group+`",`, ""))
		}
	}
	return found
}

// TestV1UnionMetrics (rule V1): a request counts once per union of the schema, a dry run and a valid write not at all.
func TestV1UnionMetrics(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	o := s.object(t)
	const git = `{type: Git, git: {url: u}}`
	o.create(`{source: ` + git + `, map: {a: ` + git + `, b: ` + git + `}}`)
	if got := unionSeries(t, s.crd.Spec.Group); got != nil {
		t.Errorf("after a create that is valid: %q", got)
	}
	switches, err := yaml.YAMLToJSON([]byte(`spec: {source: {type: None}, map: {a: {type: S3}, b: {type: S3}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		if _, err := o.client.Patch(t.Context(), o.name, types.MergePatchType, switches, metav1.PatchOptions{DryRun: dryRun}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`union_normalizations_total{resource="crontabs"} 2`}
	if diff := cmp.Diff(want, unionSeries(t, s.crd.Spec.Group)); diff != "" {
		t.Errorf("after a switch at two places of the schema (-want +got):\n%s", diff)
	}

	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		u := cronTab(t, o.crd, "bad", `{source: {type: Nope, proxy: HTTP, socks: s}, map: {a: {git: {}}, b: {git: {}}}}`)
		_, err := o.client.Create(t.Context(), u, metav1.CreateOptions{DryRun: dryRun})
		o.refused(err, `spec.source.type: Unsupported value: "Nope"`)
	}
	want = append(want,
		`union_validation_failures_total{reason="forbidden",resource="crontabs"} 2`,
		`union_validation_failures_total{reason="required",resource="crontabs"} 1`,
		`union_validation_failures_total{reason="unsupported",resource="crontabs"} 1`)
	if diff := cmp.Diff(want, unionSeries(t, s.crd.Spec.Group)); diff != "" {
		t.Errorf("after a create that is not valid (-want +got):\n%s", diff)
	}

	shared.uninstall(t, s.crd.Name)
	eventually(t, "the series are gone with the CRD", func(context.Context) (bool, error) {
		return len(unionSeries(t, s.crd.Spec.Group)) == 0, nil
	})
}

// TestV3AtMostTwentyWarnings (rule V3): several members of one union in alphabetical order, and the last warning counts
// what is not told.
func TestV3AtMostTwentyWarnings(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
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
		t.Fatalf("%d warnings: %q", len(warnings), warnings)
	}
	if want := `spec.listMap[18].git: cleared: spec.listMap[18].type changed from "Git" to "S3"`; warnings[18] != want {
		t.Errorf("the last but one is %q, want %q", warnings[18], want)
	}
	if !strings.Contains(warnings[19], " 6 more ") {
		t.Errorf("the last one does not count the rest: %q", warnings[19])
	}
}

// TestV3DryRunAndRefusedRequests (rules V3, G13): a dry run warns as the request would; one that is refused cleared nothing.
func TestV3DryRunAndRefusedRequests(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	o.create(`{source: {type: Git, git: {url: u}}}`)
	patch := []byte(`{"spec": {"source": {"type": "S3"}}}`)
	u, err := o.client.Patch(t.Context(), o.name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	if got := specOf(t, u); got != "source:\n  type: S3" {
		t.Errorf("the dry run answers %q", got)
	}
	o.warned(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.isNow(`{source: {type: Git, git: {url: u}}}`)
	o.refused(o.merge("m", `{image: 5, source: {type: S3}}`), "spec.image: Invalid value")
	o.warned()
}

// TestU4AfterMutatingAdmission (rules U4, U8, V3): a discriminator that admission changes counts like one that the client
// changes, and what the client sent is not normalized before.
func TestU4AfterMutatingAdmission(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	o := s.object(t)
	o.apply("author", `{source: {type: Git, git: {url: u}}}`)
	o.mutate("UPDATE", `JSONPatch{op: "replace", path: "/spec/source/type", value: "S3"}`)
	eventually(t, "the policy takes effect", func(ctx context.Context) (bool, error) {
		u, err := o.client.Patch(ctx, o.name, types.MergePatchType, []byte(`{"spec": {"image": "i"}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(specOf(t, u), "S3"), nil
	})
	o.takeWarnings()
	if err := o.merge("m", `{image: i}`); err != nil {
		t.Fatal(err)
	}
	o.warned(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.isNow(`{image: i, source: {type: S3}}`)
	o.owns("author", "spec.source.type")
	if got := slices.Contains(owners(t, o.get(o.name), "f:spec", "f:source", "f:git"), "author"); got {
		t.Error("U8: the author owns what was cleared")
	}
}
