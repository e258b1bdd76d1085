// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/testcrd"
)

// gatesInUnions guards parts of sourceSchema, some of them inside union members.
const gatesInUnions = `
featureGates:
- name: Hidden
  preRelease: alpha
  enabled: true
  fieldPaths: [.spec.image, .spec.source.git.url, '.spec.listMap[*].s3', '.spec.map[*].git.depth', .spec.map]
- name: Old
  preRelease: deprecated
  default: true
  fieldPaths: ['.spec.listMap[*].git.url', .spec.source.socks]
`

// badSpecs have VALUE in place of a union, a guarded field, or one of their ancestors.
var badSpecs = []string{
	`VALUE`, `{"image": VALUE}`, `{"source": VALUE}`,
	`{"source": {"type": VALUE}}`,
	`{"source": {"type": "Git", "git": VALUE}}`, `{"source": {"type": "Git", "git": {"url": VALUE}}}`,
	`{"source": {"type": "S3", "proxy": VALUE, "socks": VALUE, "http": VALUE}}`,
	`{"listMap": VALUE}`, `{"listMap": [VALUE]}`, `{"listMap": [{"name": VALUE, "type": "Git", "git": {}}]}`,
	`{"listMap": [{"name": "a", "type": VALUE}, {"name": "a", "s3": VALUE}]}`,
	`{"atomic": VALUE}`, `{"atomic": [VALUE, {"type": VALUE, "git": {}}]}`,
	`{"map": VALUE}`, `{"map": {"a": VALUE}}`, `{"map": {"a": {"type": VALUE, "git": VALUE}}}`,
}

var badValues = []string{`null`, `7`, `"x"`, `{}`, `{"a": null}`, `[]`, `[null]`, `[{"name": null}]`}

// badRequests write a spec in JSON. The first one creates an object, the others write an existing one. All are dry
// runs.
var badRequests = []struct {
	name string
	send func(o object, spec string) (*unstructured.Unstructured, error)
}{
	{"create", func(o object, spec string) (*unstructured.Unstructured, error) {
		return o.client.Create(o.Context(), o.withSpec("created", spec), metav1.CreateOptions{DryRun: dryRun})
	}},
	{"PUT", func(o object, spec string) (*unstructured.Unstructured, error) {
		u := o.withSpec(o.name, spec)
		u.SetResourceVersion(o.get().GetResourceVersion())
		return o.client.Update(o.Context(), u, metav1.UpdateOptions{DryRun: dryRun})
	}},
	{"JSON patch", func(o object, spec string) (*unstructured.Unstructured, error) {
		patch := []byte(`[{"op": "add", "path": "/spec", "value": ` + spec + `}]`)
		return o.client.Patch(o.Context(), o.name, types.JSONPatchType, patch, metav1.PatchOptions{DryRun: dryRun})
	}},
	{"merge patch", func(o object, spec string) (*unstructured.Unstructured, error) {
		patch := []byte(`{"spec": ` + spec + `}`)
		return o.client.Patch(o.Context(), o.name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: dryRun})
	}},
	{"server-side apply", func(o object, spec string) (*unstructured.Unstructured, error) {
		opts := metav1.ApplyOptions{FieldManager: "m", Force: true, DryRun: dryRun}
		return o.client.Apply(o.Context(), o.name, o.withSpec(o.name, spec), opts)
	}},
}

func (o object) withSpec(name, spec string) *unstructured.Unstructured {
	o.Helper()
	u := cronTab(o.T, o.crd, name, `{}`)
	u.Object["spec"] = parse[any](o.T, spec)
	return u
}

// TestR1BadInputIsNoServerError (rule R1) sends nulls and values of the wrong type in place of unions and guarded
// fields. The server may fail only if it also fails for a CRD without unions and gates: upstream answers an apply with
// 500 if field management cannot read the object.
func TestR1BadInputIsNoServerError(t *testing.T) {
	t.Parallel()
	crd, plainCRD := newUnionsCRD(t), newUnionsCRD(t)
	crd.Spec.CustomFeatureGates = gatesOf(t, gatesInUnions)
	testcrd.RemoveUnions(plainCRD.Spec.Versions[0].Schema.OpenAPIV3Schema)
	o, plain := newSubject(t, crd).newObject(t), newSubject(t, plainCRD).newObject(t)
	const member = `{type: Git, git: {url: u, depth: 1}, proxy: SOCKS, socks: s}`
	for _, o := range []object{o, plain} {
		o.create(`{image: i, source: ` + member + `, map: {a: ` + member + `}, ` +
			`listMap: [{name: a, type: S3, s3: {bucket: b}}]}`)
	}
	o.flip(map[string]bool{"Hidden": false}, `{image: i}`, "{}")
	for _, text := range badSpecs {
		for _, value := range badValues {
			spec := strings.ReplaceAll(text, "VALUE", value)
			for _, request := range badRequests {
				_, err := request.send(o, spec)
				if !isServerError(err) {
					continue
				}
				if _, plainErr := request.send(plain, spec); !isServerError(plainErr) {
					t.Errorf("%s of %s is a server error: %v\nwithout unions and gates: %v", request.name, spec, err, plainErr)
				}
			}
		}
	}
}

// isServerError reports whether a request failed in another way than with a 4xx code.
func isServerError(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || status.Status().Code < 400 || status.Status().Code >= 500)
}
