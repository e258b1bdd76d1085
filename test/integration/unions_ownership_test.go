// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// apply applies the spec, and fails the test on an error.
func (o object) apply(manager, spec string) {
	o.Helper()
	if err := o.tryApply(manager, spec, false); err != nil {
		o.Fatal(err)
	}
}

func (o object) tryApply(manager, spec string, force bool) error {
	o.Helper()
	u := cronTab(o.T, o.crd, o.name, spec)
	_, err := o.client.Apply(o.Context(), o.name, u, metav1.ApplyOptions{FieldManager: manager, Force: force})
	return err
}

// update sends all of the object with another spec, as a controller does that reads, changes and writes.
func (o object) update(manager, spec string) {
	o.Helper()
	u := o.get(o.name)
	u.Object["spec"] = parse[map[string]any](o.T, spec)
	if _, err := o.client.Update(o.Context(), u, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		o.Fatal(err)
	}
}

// conflicts expects an apply to conflict with a manager about the discriminator.
func (o object) conflicts(err error, manager string) {
	o.Helper()
	const field = ".spec.source.type"
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), manager) || !strings.Contains(err.Error(), field) {
		o.Errorf("want a conflict with %q about %s, got: %v", manager, field, err)
	}
}

// owns compares what managedFields say that a manager owns, as dotted paths of leaves; none is nothing.
func (o object) owns(manager string, want ...string) {
	o.Helper()
	var got []string
	for _, entry := range o.get(o.name).GetManagedFields() {
		if entry.Manager != manager {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			o.Fatal(err)
		}
		got = append(got, leaves("", fields)...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		o.Errorf("U8: fields of %q (-want +got):\n%s", manager, diff)
	}
	o.ownsNothingAbsent()
}

// ownsNothingAbsent is U8's own words: no entry of the request's version names a field that the object does not have.
func (o object) ownsNothingAbsent() {
	o.Helper()
	u := o.get(o.name)
	for _, entry := range u.GetManagedFields() {
		if entry.APIVersion != u.GetAPIVersion() {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			o.Fatal(err)
		}
		for _, path := range leaves("", fields) {
			if strings.ContainsAny(path, "{[") {
				continue // items have tests of their own
			}
			if _, found, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...); !found {
				o.Errorf("U8: %q owns %s, which is not there", entry.Manager, path)
			}
		}
	}
}

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

// TestU8OneApplierSwitches (rule U8): she owns what she applied, and can switch back.
func TestU8OneApplierSwitches(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	o.apply("author", `{source: {type: Git, git: {url: u}}}`)
	o.apply("author", `{source: {type: S3, s3: {bucket: b}}}`)
	o.owns("author", "spec.source.type", "spec.source.s3.bucket")
	o.warned() // her own apply removed git, as it would without unions
	o.apply("author", `{source: {type: Git, git: {url: u}}}`)
	o.owns("author", "spec.source.type", "spec.source.git.url")
	o.isNow(`{source: {type: Git, git: {url: u}}}`)
}

// TestU8TwoAppliers (rule U8): the second takes the union over by force. What the first owned of the cleared member is gone;
// her next apply conflicts about the discriminator, and wins the union back by force.
func TestU8TwoAppliers(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	const gits, s3s = `{image: i, source: {type: Git, git: {url: u}}}`, `{source: {type: S3, s3: {bucket: b}}}`
	o.apply("author", gits)
	o.conflicts(o.tryApply("other", s3s, false), "author")
	if err := o.tryApply("other", s3s, true); err != nil {
		t.Fatal(err)
	}
	o.warned(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.owns("author", "spec.image")
	o.owns("other", "spec.source.type", "spec.source.s3.bucket")

	o.conflicts(o.tryApply("author", gits, false), "other")
	if err := o.tryApply("author", gits, true); err != nil {
		t.Fatal(err)
	}
	o.owns("author", "spec.image", "spec.source.type", "spec.source.git.url")
	o.owns("other")
	o.isNow(gits)
}

// TestU8TheMembersOwnerAppliesAgain (rules U6, U8): who applied only the member, and not the discriminator, lost it when another
// switched. The next apply of it fails loudly: the member is not the selected one any more.
func TestU8TheMembersOwnerAppliesAgain(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	o.apply("author", `{source: {type: Git, git: {url: u}}}`)
	o.apply("tuner", `{source: {git: {depth: 1}}}`)
	o.owns("tuner", "spec.source.git.depth")
	o.apply("author", `{source: {type: S3}}`)
	o.warned(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.owns("author", "spec.source.type")
	o.owns("tuner")
	o.refused(o.tryApply("tuner", `{source: {git: {depth: 1}}}`, false), `spec.source.git: Forbidden: `)
	o.apply("tuner", `{image: i}`)
	o.isNow(`{image: i, source: {type: S3}}`)
}

// TestU8AControllerThatOwnsNothing (rule U8): it reads, switches and writes, echoing the member that it does not know. It owns what
// it changed; the author's next apply conflicts about the discriminator.
func TestU8AControllerThatOwnsNothing(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	const gits = `{source: {type: Git, git: {url: u}}}`
	o.apply("author", gits)
	o.update("controller", `{source: {type: S3, git: {url: changed}, s3: {bucket: b}}}`)
	o.warned(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.owns("author")
	o.owns("controller", "spec.source.type", "spec.source.s3.bucket")
	o.conflicts(o.tryApply("author", gits, false), "controller")
	if err := o.tryApply("author", gits, true); err != nil {
		t.Fatal(err)
	}
	o.owns("author", "spec.source.type", "spec.source.git.url")
	o.owns("controller")
	o.isNow(gits)
}

// TestU8AMemberThatNobodyOwns (rule U8): it came with the defaults of the object around it. Clearing it takes it from nobody,
// and the author of the discriminator goes on as before.
func TestU8AMemberThatNobodyOwns(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	source := spec.Properties["source"]
	source.Default = &apiextensionsv1.JSON{Raw: []byte(`{"type": "Git", "git": {"url": "default"}}`)}
	spec.Properties["source"] = source
	o := newSubject(t, crd).object(t)
	o.apply("author", `{image: i}`)
	o.isNow(`{image: i, source: {type: Git, git: {url: default}}}`)
	o.apply("switcher", `{source: {type: None}}`)
	o.warned(`spec.source.git: cleared: spec.source.type changed from "Git" to "None"`)
	o.owns("author", "spec.image")
	o.owns("switcher", "spec.source.type")
	o.apply("author", `{image: j}`)
	o.isNow(`{image: j, source: {type: None}}`)
	o.apply("switcher", `{source: {type: Git, git: {url: mine}}}`)
	o.owns("switcher", "spec.source.type", "spec.source.git.url")
}

// TestU8ThroughItemsAndMaps (rule U8): the items of a list map are found by their keys, values of a map by theirs; what
// others own of other items stays.
func TestU8ThroughItemsAndMaps(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	o.apply("author", `{listMap: [{name: a, type: Git, git: {url: u}}, {name: b, type: Git, git: {url: u}}], map: {k: {type: Git, git: {url: u}}}}`)
	if err := o.tryApply("other", `{listMap: [{name: b, type: S3}], map: {k: {type: None}}}`, true); err != nil {
		t.Fatal(err)
	}
	o.warned(
		`spec.listMap[1].git: cleared: spec.listMap[1].type changed from "Git" to "S3"`,
		`spec.map.k.git: cleared: spec.map.k.type changed from "Git" to "None"`,
	)
	o.owns("author", `spec.listMap.k:{"name":"a"}.name`, `spec.listMap.k:{"name":"a"}.type`, `spec.listMap.k:{"name":"a"}.git.url`,
		`spec.listMap.k:{"name":"b"}.name`, "spec.map.k")
	o.owns("other", `spec.listMap.k:{"name":"b"}.name`, `spec.listMap.k:{"name":"b"}.type`, `spec.map.k.type`)
	o.isNow(`{listMap: [{name: a, type: Git, git: {url: u}}, {name: b, type: S3}], map: {k: {type: None}}}`)
}

// TestU8ANoOpAfterASwitchWritesNothing (rule U8): what managedFields say is written as upstream writes it, so that a repeated
// write finds nothing to do.
func TestU8ANoOpAfterASwitchWritesNothing(t *testing.T) {
	t.Parallel()
	o := newSubject(t, newUnionsCRD(t)).object(t)
	o.apply("author", `{image: i, source: {type: Git, git: {url: u}}, listMap: [{name: "9", type: None}, {name: "10<", type: None}]}`)
	if err := o.tryApply("other", `{source: {type: S3}}`, true); err != nil {
		t.Fatal(err)
	}
	before := o.get(o.name).GetResourceVersion()
	o.apply("other", `{source: {type: S3}}`)
	if err := o.merge("author", `{image: i}`); err != nil {
		t.Fatal(err)
	}
	if after := o.get(o.name).GetResourceVersion(); after != before {
		t.Errorf("resourceVersion went from %s to %s", before, after)
	}
}

// TestU8OtherVersions (rule U8): entries of other versions lose the cleared member too where conversion is None.
func TestU8OtherVersions(t *testing.T) {
	t.Parallel()
	crd := newUnionsCRD(t)
	crd.Spec.Versions = append(crd.Spec.Versions, *crd.Spec.Versions[0].DeepCopy())
	crd.Spec.Versions[1].Name, crd.Spec.Versions[1].Storage = "v2", false
	o := newSubject(t, crd).object(t)
	v2 := o
	v2.crd = crd.DeepCopy()
	slices.Reverse(v2.crd.Spec.Versions)
	v2.client = o.client.server.customResources(v2.crd)

	v2.apply("author", `{image: i, source: {type: Git, git: {url: u}}}`)
	if err := o.tryApply("other", `{source: {type: S3}}`, true); err != nil {
		t.Fatal(err)
	}
	o.warned(`spec.source.git: cleared: spec.source.type changed from "Git" to "S3"`)
	o.owns("author", "spec.image")
	o.owns("other", "spec.source.type")
	v2.conflicts(v2.tryApply("author", `{image: i, source: {type: Git, git: {url: u}}}`, false), "other")
	v2.isNow(`{image: i, source: {type: S3}}`)
}
