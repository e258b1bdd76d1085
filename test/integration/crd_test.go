// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// cronTabSchema is KEP-2608's CronTab, with a status and a list map besides.
const cronTabSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      cronSpec: {type: string}
      image: {type: string}
      replicas: {type: integer, minimum: 0}
      foo:
        type: object
        properties:
          baz: {type: integer}
          qux: {type: integer}
      containers:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string}
            size: {type: integer}
            port: {type: integer}
`

// replicasGate is the gate of KEP-2608's example.
const replicasGate = `
featureGates:
- name: ReplicasFeatureGate
  preRelease: alpha
  fieldPaths: [.spec.replicas]
`

// newCRD returns a CRD for CronTabs in a group of its own, so that tests do not meet.
func newCRD(t *testing.T, gates string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	group := "g" + rand.String(8) + ".example.com"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "crontabs." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "crontabs", Singular: "crontab", Kind: "CronTab", ListKind: "CronTabList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: parse[*apiextensionsv1.JSONSchemaProps](t, cronTabSchema),
				},
			}},
			CustomFeatureGates: parse[*fairlead.CustomResourceDefinitionFeatureGates](t, gates),
		},
	}
}

// parse reads YAML, and nothing that the type does not have.
func parse[T any](t *testing.T, text string) T {
	t.Helper()
	return testyaml.Parse[T](t, text)
}

// resource is a client for the custom resources of a CRD, in the version that stands first in it, and the user whose
// client it is.
type resource struct {
	dynamic.ResourceInterface
	*user
}

// install creates the CRD and returns a client for its custom resources once they are served: that of a new user, who
// was also warned of what is wrong with the CRD.
func (s *server) install(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) resource {
	t.Helper()
	ctx := t.Context()
	client := s.customResources(crd)
	if _, err := client.crds.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.uninstall(t, crd.Name) })
	eventually(t, "the custom resources are served", func(ctx context.Context) (bool, error) {
		_, err := client.List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	return client
}

// customResources returns a client of a new user.
func (s *server) customResources(crd *apiextensionsv1.CustomResourceDefinition) resource {
	return s.newUser().customResources(crd)
}

func (u *user) customResources(crd *apiextensionsv1.CustomResourceDefinition) resource {
	gvr := schema.GroupVersionResource{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Resource: crd.Spec.Names.Plural}
	return resource{ResourceInterface: u.dynamic.Resource(gvr).Namespace("default"), user: u}
}

func (s *server) uninstall(t *testing.T, name string) {
	ctx := context.WithoutCancel(t.Context()) // this runs when the test is over
	err := s.crds.ApiextensionsV1().CustomResourceDefinitions().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// cronTab returns a custom resource with the given spec.
func cronTab(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": crd.Spec.Group + "/" + crd.Spec.Versions[0].Name,
		"kind":       crd.Spec.Names.Kind,
	}}
	u.SetName(name)
	object := parse[map[string]any](t, spec)
	u.Object["spec"] = object
	return u
}

// specOf returns the spec of an object as YAML, sorted by key: easy to compare, and to read when it differs.
func specOf(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(u.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// manifestOf returns a CRD as a file that kubectl reads.
func manifestOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	text, err := yaml.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventually waits for what the server does in its own time.
func eventually(t *testing.T, what string, condition wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
