// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// newGatedUnion returns a subject whose CRD guards the member s3 of spec.source with a gate.
func newGatedUnion(t *testing.T, paths string) subject {
	t.Helper()
	crd := newUnionsCRD(t)
	crd.Spec.CustomFeatureGates = parse[*fairlead.CustomResourceDefinitionFeatureGates](t,
		`featureGates: [{name: S3, preRelease: alpha, enabled: true, fieldPaths: `+paths+`}]`)
	return newSubject(t, crd)
}

// flipS3 switches the gate; disabled is what it makes of s3Probe then.
func (s subject) flipS3(on bool, disabled string) {
	s.Helper()
	s.flip(map[string]bool{"S3": on}, s3Probe, map[bool]string{true: s3Enabled, false: disabled}[on])
}

const (
	s3Probe    = `{source: {type: S3, s3: {bucket: b}}}`
	s3Enabled  = "source:\n  s3:\n    bucket: b\n  type: S3"
	s3Disabled = "source:\n  type: S3"
)

// TestU9AMemberBehindAGate (rules G2, U9) goes through the four states of the table of G2 for a member, by every way to
// write: a union may move off a member whose gate is disabled, and never back by the gate's doing.
func TestU9AMemberBehindAGate(t *testing.T) {
	t.Parallel()
	s := newGatedUnion(t, "[.spec.source.s3]")
	const s3, git = `{source: {type: S3, s3: {bucket: b}}}`, `{source: {type: Git, git: {url: u}}}`
	kept := []string{`.spec.source.s3: not updated: feature gate "S3" is disabled`}
	cleared := []string{`spec.source.s3: cleared: spec.source.type changed from "S3" to "Git"`}
	for _, enabled := range []bool{true, false} {
		for _, w := range writers {
			t.Run(map[bool]string{true: "enabled", false: "disabled"}[enabled]+" by "+w.name, func(t *testing.T) {
				s := s.in(t)
				s.flipS3(true, s3Disabled)
				persisted, absent := s.object(t), s.object(t)
				persisted.create(s3)
				absent.create(git)
				s.flipS3(enabled, s3Disabled)
				write := func(o object, spec string) {
					t.Helper()
					if err := w.write(o.subject, o.name, spec); err != nil {
						t.Fatal(err)
					}
				}

				// Persisted, changed: updated, or kept.
				write(persisted, `{source: {type: S3, s3: {bucket: other}}}`)
				if enabled {
					persisted.warned()
					persisted.isNow(`{source: {type: S3, s3: {bucket: other}}}`)
				} else {
					persisted.warned(kept...)
					persisted.isNow(s3)
				}
				// Persisted, echoed while the union moves on: cleared, whatever the gate.
				write(persisted, `{source: {type: Git, git: {url: u}, s3: {bucket: other}}}`)
				persisted.warned(cleared...)
				persisted.isNow(git)
				// Not persisted: set, or dropped.
				write(absent, s3)
				if enabled {
					absent.warnedOfGit()
					absent.isNow(s3)
				} else {
					absent.isNow(`{source: {type: S3}}`)
				}
			})
		}
	}
}

// warnedOfGit allows for ways to write that remove git themselves, and for none but that warning.
func (o object) warnedOfGit() {
	o.Helper()
	for _, text := range o.takeWarnings() {
		if text != `spec.source.git: cleared: spec.source.type changed from "Git" to "S3"` {
			o.Errorf("V3: warned: %s", text)
		}
	}
}

// TestU9TheRequestLeavesTheMemberOut (rule U9): that is no attempt to remove a guarded field, and draws no warning.
func TestU9TheRequestLeavesTheMemberOut(t *testing.T) {
	t.Parallel()
	s := newGatedUnion(t, "[.spec.source.s3]")
	o := s.object(t)
	o.create(s3Probe)
	s.flipS3(false, s3Disabled)
	// While the union stays it is one.
	if err := o.merge("m", `{source: {s3: null}}`); err != nil {
		t.Fatal(err)
	}
	o.warned(`.spec.source.s3: not updated: feature gate "S3" is disabled`)
	o.update("controller", `{source: {type: None}}`)
	o.warned()
	o.isNow(`{source: {type: None}}`)
}

// TestU6TheGateThatDroppedTheMember (rule U6.3): a required member that a disabled gate drops is missing, and the error
// says which gate it was.
func TestU6TheGateThatDroppedTheMember(t *testing.T) {
	t.Parallel()
	s := newGatedUnion(t, "[.spec.source.git, '.spec.listMap[*].git']")
	s.flip(map[string]bool{"S3": false}, `{source: {type: None}, atomic: [{type: Git, git: {}}], listMap: [{name: a, type: S3}]}`,
		"atomic:\n- git: {}\n  type: Git\nlistMap:\n- name: a\n  type: S3\nsource:\n  type: None")
	o := s.object(t)
	refused := func(spec string, texts ...string) {
		t.Helper()
		_, err := o.client.Create(t.Context(), cronTab(t, o.crd, o.name, spec), metav1.CreateOptions{})
		o.refused(err, texts...)
		o.warned() // a request that is refused draws no warning (G10)
	}
	refused(`{source: {type: Git, git: {url: u}}}`,
		`spec.source.git: Required value: must be set when spec.source.type is "Git", but is dropped: feature gate "S3" is disabled`)
	refused(`{listMap: [{name: a, type: Git, git: {}}]}`,
		`spec.listMap[0].git: Required value: must be set when spec.listMap[0].type is "Git", but is dropped: feature gate "S3" is disabled`)
}

// TestU9AGateAroundTheUnion (rules G7, U8, U9, V3): a gate that keeps all around a union keeps the union. Nothing was
// cleared then, is said to be, or loses its owner.
func TestU9AGateAroundTheUnion(t *testing.T) {
	t.Parallel()
	s := newGatedUnion(t, "[.spec.source]")
	o := s.object(t)
	o.apply("author", `{image: i, source: {type: Git, git: {url: u}}}`)
	s.flipS3(false, "{}")
	if err := o.merge("m", `{source: {type: S3}}`); err != nil {
		t.Fatal(err)
	}
	o.warned(`.spec.source: not updated: feature gate "S3" is disabled`)
	o.isNow(`{image: i, source: {type: Git, git: {url: u}}}`)
	o.owns("author", "spec.image", "spec.source.type", "spec.source.git.url")
}
