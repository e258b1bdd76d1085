// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newGatedUnion returns a subject with sourceSchema and a gate named S3 with the paths.
func newGatedUnion(t *testing.T, paths string) subject {
	t.Helper()
	crd := newUnionsCRD(t)
	crd.Spec.CustomFeatureGates = gatesOf(t, `featureGates: [{name: S3, preRelease: alpha, enabled: true, fieldPaths: `+paths+`}]`)
	return newSubject(t, crd)
}

// flipS3 sets the gate. If it is disabled, a create of s3Probe is answered with the spec disabled.
func (s subject) flipS3(on bool, disabled string) {
	s.Helper()
	s.flip(map[string]bool{"S3": on}, s3Probe, map[bool]string{true: s3Enabled, false: disabled}[on])
}

const (
	s3Probe    = `{source: {type: S3, s3: {bucket: b}}}`
	s3Enabled  = "source:\n  s3:\n    bucket: b\n  type: S3"
	s3Disabled = "source:\n  type: S3"
)

// TestU9AMemberBehindAGate (rules G2, U9, V3) plays the table of rule G2 for a union member, with every way to write. A
// union may switch away from a member whose gate is disabled, and the gate does not bring the member back.
func TestU9AMemberBehindAGate(t *testing.T) {
	t.Parallel()
	s := newGatedUnion(t, "[.spec.source.s3]")
	for _, enabled := range []bool{true, false} {
		for _, w := range writers {
			t.Run(fmt.Sprintf("%s, gate enabled: %v", w.name, enabled), func(t *testing.T) {
				s := s.forSubtest(t)
				s.flipS3(true, s3Disabled)
				persisted, absent := s.newObject(t), s.newObject(t)
				persisted.create(s3Probe)
				absent.create(gitSpec)
				s.flipS3(enabled, s3Disabled)
				persisted.playPersistedMember(w, enabled)
				absent.playAbsentMember(w, enabled)
			})
		}
	}
}

const gitSpec = `{source: {type: Git, git: {url: u}}}`

// playPersistedMember changes the persisted member s3, and then switches the union away from it.
func (o object) playPersistedMember(w writer, enabled bool) {
	o.Helper()
	o.writeWith(w, `{source: {type: S3, s3: {bucket: other}}}`)
	if enabled {
		o.wantWarnings()
		o.wantSpec(`{source: {type: S3, s3: {bucket: other}}}`)
	} else {
		o.wantWarnings(`.spec.source.s3: not updated: feature gate "S3" is disabled`)
		o.wantSpec(s3Probe)
	}
	o.writeWith(w, `{source: {type: Git, git: {url: u}, s3: {bucket: other}}}`)
	o.wantWarnings(`spec.source.s3: cleared: spec.source.type changed from "S3" to "Git"`)
	o.wantSpec(gitSpec)
}

// playAbsentMember switches the union from git to the member s3.
func (o object) playAbsentMember(w writer, enabled bool) {
	o.Helper()
	o.writeWith(w, s3Probe)
	if !enabled {
		o.wantSpec(`{source: {type: S3}}`)
		return
	}
	// Some ways to write remove git themselves, so that it is not cleared.
	for _, text := range o.takeWarnings() {
		if text != `spec.source.git: cleared: spec.source.type changed from "Git" to "S3"` {
			o.Errorf("V3: unexpected warning: %s", text)
		}
	}
	o.wantSpec(s3Probe)
}

func (o object) writeWith(w writer, spec string) {
	o.Helper()
	if err := w.write(o.subject, o.name, spec); err != nil {
		o.Fatal(err)
	}
}

// TestU9TheRequestLeavesTheMemberOut (rules G10, U9): a request that leaves out a guarded member draws a warning, but
// not if it also switches the union away from the member.
func TestU9TheRequestLeavesTheMemberOut(t *testing.T) {
	t.Parallel()
	s := newGatedUnion(t, "[.spec.source.s3]")
	o := s.newObject(t)
	o.create(s3Probe)
	s.flipS3(false, s3Disabled)
	if err := o.merge("m", `{source: {s3: null}}`); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings(`.spec.source.s3: not updated: feature gate "S3" is disabled`)
	o.update("controller", `{source: {type: None}}`)
	o.wantWarnings()
	o.wantSpec(`{source: {type: None}}`)
}

// TestU6TheGateThatDroppedTheMember (rules G10, U6.3): if a disabled gate drops a required member, the error names the
// gate.
func TestU6TheGateThatDroppedTheMember(t *testing.T) {
	t.Parallel()
	s := newGatedUnion(t, "[.spec.source.git, '.spec.listMap[*].git']")
	s.flip(map[string]bool{"S3": false}, `{source: {type: None}, atomic: [{type: Git, git: {}}], listMap: [{name: a, type: S3}]}`,
		"atomic:\n- git: {}\n  type: Git\nlistMap:\n- name: a\n  type: S3\nsource:\n  type: None")
	o := s.newObject(t)
	refused := func(spec string, texts ...string) {
		t.Helper()
		_, err := o.client.Create(t.Context(), cronTab(t, o.crd, o.name, spec), metav1.CreateOptions{})
		o.wantInvalid(err, texts...)
		o.wantWarnings() // G10: a refused request draws no warning
	}
	refused(`{source: {type: Git, git: {url: u}}}`,
		`spec.source.git: Required value: must be set when spec.source.type is "Git", but is dropped: feature gate "S3" is disabled`)
	refused(`{listMap: [{name: a, type: Git, git: {}}]}`,
		`spec.listMap[0].git: Required value: must be set when spec.listMap[0].type is "Git", but is dropped: feature gate "S3" is disabled`)
}

// TestU9AGateAroundTheUnion (rules G7, U8, U9, V3): a disabled gate that guards the parent of a union keeps the union.
// Nothing is cleared, no warning says so, and no field loses its owner.
func TestU9AGateAroundTheUnion(t *testing.T) {
	t.Parallel()
	s := newGatedUnion(t, "[.spec.source]")
	o := s.newObject(t)
	o.apply("author", `{image: i, source: {type: Git, git: {url: u}}}`)
	s.flipS3(false, "{}")
	if err := o.merge("m", `{source: {type: S3}}`); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings(`.spec.source: not updated: feature gate "S3" is disabled`)
	o.wantSpec(`{image: i, source: {type: Git, git: {url: u}}}`)
	o.wantOwned("author", "spec.image", "spec.source.type", "spec.source.git.url")
}
