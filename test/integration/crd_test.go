// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/internal/testyaml"
	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
)

// dryRun is the value of the option DryRun of a request that writes nothing.
var dryRun = []string{metav1.DryRunAll}

// specSchema returns the schema of a custom resource whose .spec has the properties.
func specSchema(properties string) string {
	return "type: object\nproperties:\n  spec:\n    type: object\n    properties:" + strings.ReplaceAll(properties, "\n", "\n      ")
}

// cronTabSchema is the schema of KEP-2608's CronTab, with a list map.
var cronTabSchema = specSchema(`
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
`)

// replicasGate is the gate of KEP-2608's example.
const replicasGate = `
featureGates:
- name: ReplicasFeatureGate
  preRelease: alpha
  fieldPaths: [.spec.replicas]
`

// newCRD returns a CRD for CronTabs with gates, in a new group, so that tests do not interfere.
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
			CustomFeatureGates: gatesOf(t, gates),
		},
	}
}

// newCRDWithSchema returns a CRD without gates.
func newCRDWithSchema(t *testing.T, schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := newCRD(t, "{}")
	crd.Spec.CustomFeatureGates = nil
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = schema
	return crd
}

// serveVersion adds a served version to the CRD. The first version remains the stored one.
func serveVersion(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, name, schema string) {
	t.Helper()
	crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
		Name: name, Served: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: parse[*apiextensionsv1.JSONSchemaProps](t, schema)},
	})
}

// addStatus adds the property status to a version's schema, in YAML.
func addStatus(t *testing.T, version *apiextensionsv1.CustomResourceDefinitionVersion, schema string) {
	t.Helper()
	version.Schema.OpenAPIV3Schema.Properties["status"] = parse[apiextensionsv1.JSONSchemaProps](t, schema)
}

func statusSubresource() *apiextensionsv1.CustomResourceSubresources {
	return &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
}

func scaleSubresource(specReplicasPath string) *apiextensionsv1.CustomResourceSubresources {
	return &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
		SpecReplicasPath: specReplicasPath, StatusReplicasPath: ".status.replicas",
	}}
}

// gatesOf reads spec.customFeatureGates from YAML.
func gatesOf(t *testing.T, text string) *fairlead.CustomResourceDefinitionFeatureGates {
	t.Helper()
	return parse[*fairlead.CustomResourceDefinitionFeatureGates](t, text)
}

// parse reads a value from YAML. Unknown fields fail the test.
func parse[T any](t *testing.T, text string) T {
	t.Helper()
	return testyaml.Parse[T](t, text)
}

// crdClient returns a client that does not log warnings.
func (s *server) crdClient() crdclient.CustomResourceDefinitionInterface {
	return s.crds.ApiextensionsV1().CustomResourceDefinitions()
}

// crdClient returns a client that logs warnings as those of the user.
func (u *user) crdClient() crdclient.CustomResourceDefinitionInterface {
	return u.crds.ApiextensionsV1().CustomResourceDefinitions()
}

// crdClientIn returns a client that sends and accepts a content type, and logs warnings if the log is not nil.
func (s *server) crdClientIn(t *testing.T, contentType string, log *warningLog) crdclient.CustomResourceDefinitionInterface {
	t.Helper()
	config := rest.CopyConfig(s.config)
	config.ContentType, config.AcceptContentTypes = contentType, contentType
	if log != nil {
		config.WarningHandlerWithContext = log
	}
	client, err := crdclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.CustomResourceDefinitions()
}

// wantInEveryEncoding creates and reads a CRD in each encoding that is served to clients of CRDs by default (CBOR is
// not), and compares a part of it.
func wantInEveryEncoding[T any](
	t *testing.T, newCRD func(*testing.T) *apiextensionsv1.CustomResourceDefinition, part func(*apiextensionsv1.CustomResourceDefinition) T,
) {
	t.Helper()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf, runtime.ContentTypeYAML} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			crds := shared.crdClientIn(t, contentType, nil)
			crd := newCRD(t)
			t.Cleanup(func() { shared.uninstall(t, crd.Name) })
			if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			got, err := crds.Get(t.Context(), crd.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(part(crd), part(got)); diff != "" {
				t.Errorf("the CRD (-want +got):\n%s", diff)
			}
		})
	}
}

// resource is a client for the custom resources of a CRD, in the first version in its list, and the user whose client
// it is.
type resource struct {
	dynamic.ResourceInterface
	*user
}

// install creates the CRD as a new user and waits until its custom resources are served. It returns the user's client
// for them. The warnings about the CRD are in the user's log.
func (s *server) install(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) resource {
	t.Helper()
	client := s.customResources(crd)
	if _, err := client.crdClient().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
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

// uninstall deletes the CRD if it exists.
func (s *server) uninstall(t *testing.T, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // tests also call this when they clean up
	err := s.crdClient().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// getCRD reads the CRD.
func (s *server) getCRD(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd, err := s.crdClient().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// waitEstablished waits until the server's controllers have written the status of a new CRD.
func (s *server) waitEstablished(t *testing.T, name string) {
	t.Helper()
	eventually(t, "the CRD is established", func(context.Context) (bool, error) {
		_, _, err := s.tryKubectl("", "wait", "--for=condition=Established", "--timeout=60s", "crd/"+name)
		return err == nil, nil // it fails if the CRD does not have conditions yet
	})
}

// applyCRD applies a manifest of a CRD with kubectl, server-side, and returns what kubectl prints as errors and
// warnings.
func (s *server) applyCRD(t *testing.T, manager, manifest string) (stderr string) {
	t.Helper()
	_, stderr = s.kubectl(t, manifest, "apply", "--server-side", "--field-manager="+manager, "-f", "-")
	return stderr
}

// create creates an object and returns the answer with its warnings.
func create(t *testing.T, client resource, u *unstructured.Unstructured, opts metav1.CreateOptions) (*unstructured.Unstructured, []string) {
	t.Helper()
	client.warnings.take()
	created, err := client.Create(t.Context(), u, opts)
	if err != nil {
		t.Fatal(err)
	}
	return created, client.warnings.take()
}

// cronTab returns a custom resource with the given spec.
func cronTab(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": crd.Spec.Group + "/" + crd.Spec.Versions[0].Name,
		"kind":       crd.Spec.Names.Kind,
	}}
	u.SetName(name)
	u.Object["spec"] = parse[map[string]any](t, spec)
	return u
}

// specOf returns the spec of an object as YAML with sorted keys.
func specOf(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(u.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// wantSpec compares the spec of an object with YAML.
func wantSpec(t *testing.T, what string, u *unstructured.Unstructured, want string) {
	t.Helper()
	if diff := cmp.Diff(parse[any](t, want), parse[any](t, specOf(t, u))); diff != "" {
		t.Errorf("spec of %s (-want +got):\n%s", what, diff)
	}
}

func wantWarnings(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: warnings (-want +got):\n%s", what, diff)
	}
}

// getRaw reads a path of the server.
func (s *server) getRaw(ctx context.Context, path string) ([]byte, error) {
	return s.crds.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
}

// manifestOf returns a CRD as a manifest for kubectl.
func manifestOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	crd = crd.DeepCopy()
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	text, err := yaml.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventually polls until the condition is true. An error of the condition fails the test.
func eventually(t *testing.T, what string, condition wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
