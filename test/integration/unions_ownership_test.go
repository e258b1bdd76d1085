// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// wantConflict expects an apply to conflict with a manager about the discriminator.
func (o object) wantConflict(err error, manager string) {
	o.Helper()
	const field = ".spec.source.type"
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), manager) || !strings.Contains(err.Error(), field) {
		o.Errorf("want a conflict with %q about %s, got: %v", manager, field, err)
	}
}

// wantOwned compares the fields that a manager owns, as dotted paths.
func (o object) wantOwned(manager string, want ...string) {
	o.Helper()
	var got []string
	for _, entry := range o.get().GetManagedFields() {
		if entry.Manager == manager {
			got = append(got, leaves("", fieldsOf(o.T, entry))...)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		o.Errorf("U8: fields of %q (-want +got):\n%s", manager, diff)
	}
	o.wantNoAbsentFieldsOwned()
}

// wantNoAbsentFieldsOwned checks rule U8: no entry of the request's version lists a field that the object does not
// have.
func (o object) wantNoAbsentFieldsOwned() {
	o.Helper()
	u := o.get()
	for _, entry := range u.GetManagedFields() {
		if entry.APIVersion != u.GetAPIVersion() {
			continue
		}
		for _, path := range leaves("", fieldsOf(o.T, entry)) {
			if strings.ContainsAny(path, "{[") {
				continue // for items there are other tests
			}
			if _, found, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...); !found {
				o.Errorf("U8: %q owns %s, which is absent", entry.Manager, path)
			}
		}
	}
}

// leaves returns the fields that have no fields inside them, as dotted paths below path.
func leaves(path string, fields map[string]any) []string {
	var found []string
	for key, below := range fields {
		if key == "." {
			continue
		}
		at := strings.TrimPrefix(path+"."+strings.TrimPrefix(key, "f:"), ".")
		if more := leaves(at, below.(map[string]any)); len(more) > 0 {
			found = append(found, more...)
		} else {
			found = append(found, at)
		}
	}
	return found
}

// TestU8OneApplierSwitches (rule U8): the applier owns what it applied last, and can switch back.
func TestU8OneApplierSwitches(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.apply("author", `{source: {type: Git, git: {url: u}}}`)
	o.apply("author", `{source: {type: S3, s3: {bucket: b}}}`)
	o.wantOwned("author", "spec.source.type", "spec.source.s3.bucket")
	o.wantWarnings() // the apply itself removed git, as without unions
	o.apply("author", `{source: {type: Git, git: {url: u}}}`)
	o.wantOwned("author", "spec.source.type", "spec.source.git.url")
	o.wantSpec(`{source: {type: Git, git: {url: u}}}`)
}

// TestU8TwoAppliers (rule U8): a second applier takes over the union by force. The first one does not own the cleared
// member any more; its next apply conflicts about the discriminator, and takes the union back by force.
func TestU8TwoAppliers(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	const gits, s3s = `{image: i, source: {type: Git, git: {url: u}}}`, `{source: {type: S3, s3: {bucket: b}}}`
	o.apply("author", gits)
	o.wantConflict(o.tryApply("other", s3s, false), "author")
	if err := o.tryApply("other", s3s, true); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.wantOwned("author", "spec.image")
	o.wantOwned("other", "spec.source.type", "spec.source.s3.bucket")

	o.wantConflict(o.tryApply("author", gits, false), "other")
	if err := o.tryApply("author", gits, true); err != nil {
		t.Fatal(err)
	}
	o.wantOwned("author", "spec.image", "spec.source.type", "spec.source.git.url")
	o.wantOwned("other")
	o.wantSpec(gits)
}

// TestU8TheMembersOwnerAppliesAgain (rules U6, U8): an applier of the member alone loses it when another applier
// switches the union. If it applies the member again it is refused, since the member is not selected.
func TestU8TheMembersOwnerAppliesAgain(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.apply("author", `{source: {type: Git, git: {url: u}}}`)
	o.apply("tuner", `{source: {git: {depth: 1}}}`)
	o.wantOwned("tuner", "spec.source.git.depth")
	o.apply("author", `{source: {type: S3}}`)
	o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.wantOwned("author", "spec.source.type")
	o.wantOwned("tuner")
	o.wantInvalid(o.tryApply("tuner", `{source: {git: {depth: 1}}}`, false), `spec.source.git: Forbidden: `)
	o.apply("tuner", `{image: i}`)
	o.wantSpec(`{image: i, source: {type: S3}}`)
}

// TestU8AControllerThatOwnsNothing (rule U8): a controller updates the object with another discriminator, and sends
// back the member that it does not know. It owns what it changed; the author's next apply conflicts about the
// discriminator.
func TestU8AControllerThatOwnsNothing(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	const gits = `{source: {type: Git, git: {url: u}}}`
	o.apply("author", gits)
	o.update("controller", `{source: {type: S3, git: {url: changed}, s3: {bucket: b}}}`)
	o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.wantOwned("author")
	o.wantOwned("controller", "spec.source.type", "spec.source.s3.bucket")
	o.wantConflict(o.tryApply("author", gits, false), "controller")
	if err := o.tryApply("author", gits, true); err != nil {
		t.Fatal(err)
	}
	o.wantOwned("author", "spec.source.type", "spec.source.git.url")
	o.wantOwned("controller")
	o.wantSpec(gits)
}

// TestU8AClearedMemberOfTheWrongType (rule U8): field management cannot read a value of the wrong type. Normalization
// clears it, so the request succeeds, and its manager must own what it changed all the same.
func TestU8AClearedMemberOfTheWrongType(t *testing.T) {
	t.Parallel()
	s := newSubject(t, newUnionsCRD(t))
	const applied = `{image: i, source: {type: Git, git: {url: u}}}`
	for name, write := range map[string]func(object){
		"update":      func(o object) { o.update("other", `{image: j, source: {type: None, git: text}}`) },
		"merge patch": func(o object) { _ = o.merge("other", `{image: j, source: {type: None, git: 5}}`) },
	} {
		t.Run(name, func(t *testing.T) {
			o := s.forSubtest(t).newObject(t)
			o.apply("author", applied)
			write(o)
			o.wantSpec(`{image: j, source: {type: None}}`)
			o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from "Git" to "None"`)
			o.wantOwned("author")
			o.wantOwned("other", "spec.image", "spec.source.type")
			o.wantConflict(o.tryApply("author", applied, false), "other")
		})
	}
}

// TestU8AMemberThatNobodyOwns (rule U8): the member was set by the default of its parent. Clearing it changes no
// owners, and both appliers can go on.
func TestU8AMemberThatNobodyOwns(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	source := spec.Properties["source"]
	source.Default = &apiextensionsv1.JSON{Raw: []byte(`{"type": "Git", "git": {"url": "default"}}`)}
	spec.Properties["source"] = source
	o := newSubject(t, crd).newObject(t)
	o.apply("author", `{image: i}`)
	o.wantSpec(`{image: i, source: {type: Git, git: {url: default}}}`)
	o.apply("switcher", `{source: {type: None}}`)
	o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from "Git" to "None"`)
	o.wantOwned("author", "spec.image")
	o.wantOwned("switcher", "spec.source.type")
	o.apply("author", `{image: j}`)
	o.wantSpec(`{image: j, source: {type: None}}`)
	o.apply("switcher", `{source: {type: Git, git: {url: mine}}}`)
	o.wantOwned("switcher", "spec.source.type", "spec.source.git.url")
}

// TestU8ThroughItemsAndMaps (rules U5, U8): items of a list map and values of a map are matched by key. The owners of
// other items stay.
// TestU8AMemberThatAnotherManagerCreated (rules U4.1, U8): server-side apply makes null of a member if the applier owned
// all that is in it, and another manager owns the member itself. The null is cleared like a member that is set.
func TestU8AMemberThatAnotherManagerCreated(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.create(`{source: {type: Git, git: {url: u}}}`)
	if err := o.merge("switcher", `{source: {type: S3, git: null, s3: {bucket: x}}}`); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{`{source: {type: S3, s3: {bucket: q}}}`, `{source: {type: Git, git: {url: q}}}`} {
		o.takeWarnings()
		if err := o.tryApply("forcer", spec, true); err != nil {
			t.Fatal(err)
		}
		o.wantSpec(spec)
	}
	o.wantWarnings(`spec.source.s3: cleared: spec.source.type changed from "S3" to "Git"`)
	o.wantOwned("forcer", "spec.source.type", "spec.source.git.url")
	o.wantOwned("switcher")
}

func TestU8ThroughItemsAndMaps(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.apply("author", `{listMap: [{name: a, type: Git, git: {url: u}}, {name: b, type: Git, git: {url: u}}], map: {k: {type: Git, git: {url: u}}}}`)
	if err := o.tryApply("other", `{listMap: [{name: b, type: S3}], map: {k: {type: None}}}`, true); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings(
		`spec.listMap[1].git: cleared: spec.listMap[1].type changed from "Git" to "S3"`,
		`spec.map.k.git: cleared: spec.map.k.type changed from "Git" to "None"`,
	)
	o.wantOwned("author", `spec.listMap.k:{"name":"a"}.name`, `spec.listMap.k:{"name":"a"}.type`, `spec.listMap.k:{"name":"a"}.git.url`,
		`spec.listMap.k:{"name":"b"}.name`, "spec.map.k")
	o.wantOwned("other", `spec.listMap.k:{"name":"b"}.name`, `spec.listMap.k:{"name":"b"}.type`, `spec.map.k.type`)
	o.wantSpec(`{listMap: [{name: a, type: Git, git: {url: u}}, {name: b, type: S3}], map: {k: {type: None}}}`)
}

// TestU8ANoOpAfterASwitchWritesNothing (rule U8): managedFields are encoded as upstream encodes them, so a write that
// is sent again changes nothing.
func TestU8ANoOpAfterASwitchWritesNothing(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).newObject(t)
	o.apply("author", `{image: i, source: {type: Git, git: {url: u}}, listMap: [{name: "9", type: None}, {name: "10<", type: None}]}`)
	if err := o.tryApply("other", `{source: {type: S3}}`, true); err != nil {
		t.Fatal(err)
	}
	before := o.get().GetResourceVersion()
	o.apply("other", `{source: {type: S3}}`)
	if err := o.merge("author", `{image: i}`); err != nil {
		t.Fatal(err)
	}
	if after := o.get().GetResourceVersion(); after != before {
		t.Errorf("resourceVersion went from %s to %s", before, after)
	}
}

// TestU8OtherVersions (rule U8): with conversion None, entries of other versions lose the cleared member too.
func TestU8OtherVersions(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	crd.Spec.Versions = append(crd.Spec.Versions, *crd.Spec.Versions[0].DeepCopy())
	crd.Spec.Versions[1].Name, crd.Spec.Versions[1].Storage = "v2", false
	o := newSubject(t, crd).newObject(t)
	v2 := o
	v2.crd = crd.DeepCopy()
	slices.Reverse(v2.crd.Spec.Versions)
	v2.client = o.client.server.customResources(v2.crd)

	v2.apply("author", `{image: i, source: {type: Git, git: {url: u}}}`)
	if err := o.tryApply("other", `{source: {type: S3}}`, true); err != nil {
		t.Fatal(err)
	}
	o.wantWarnings(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.wantOwned("author", "spec.image")
	o.wantOwned("other", "spec.source.type")
	v2.wantConflict(v2.tryApply("author", `{image: i, source: {type: Git, git: {url: u}}}`, false), "other")
	v2.wantSpec(`{image: i, source: {type: S3}}`)
}
