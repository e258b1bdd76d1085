// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

const defaultsSchema = `
type: object
properties:
  spec:
    type: object
    default: {image: fromParent, replicas: 9}
    properties:
      image: {type: string}
      replicas: {type: integer, default: 1}
`

// TestG8DefaultsOfDisabledFieldsDoNotApply (rules G8, G11) also checks what is in etcd.
func TestG8DefaultsOfDisabledFieldsDoNotApply(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, replicasGate)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = parse[*apiextensionsv1.JSONSchemaProps](t, defaultsSchema)
	s := newSubject(t, crd)
	withSpec, withoutSpec := cronTab(t, crd, "default-of-field", `{image: i}`), cronTab(t, crd, "default-of-spec", `{}`)
	delete(withoutSpec.Object, "spec")
	for _, tc := range []struct {
		sent *unstructured.Unstructured
		want string
	}{{withSpec, "image: i"}, {withoutSpec, "image: fromParent"}} {
		name := tc.sent.GetName()
		created, warnings := create(t, s.client, tc.sent, metav1.CreateOptions{})
		wantWarnings(t, "G8: create of "+name, nil, warnings)
		s.wantSpecOf("the answer to the create of "+name, created, tc.want)
		s.wantSpec(name, tc.want)
		if stored := s.stored(name); strings.Contains(stored, "replicas") {
			t.Errorf("%s: etcd has replicas: %s", name, stored)
		}
	}

	// With the gate enabled the default applies on read. The flip does not rewrite the object in etcd (G11).
	s.flip(map[string]bool{"ReplicasFeatureGate": true}, `{image: i}`, "image: i\nreplicas: 1")
	s.wantSpec("default-of-field", "image: i\nreplicas: 1")
	if stored := s.stored("default-of-field"); strings.Contains(stored, "replicas") {
		t.Errorf("the flip rewrote the object: %s", stored)
	}
}

// TestG12OpenAPIPublishesTheGates (rules G12, C8) before and after a flip.
func TestG12OpenAPIPublishesTheGates(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `{component: istio, featureGates: [{name: G, preRelease: alpha, fieldPaths: [.spec.foo]}, {name: Below, preRelease: beta, fieldPaths: [.spec.foo.qux]}]}`)
	s := newSubject(t, crd)
	for _, version := range []string{"v2", "v3"} {
		for _, enabled := range []bool{false, true} {
			s.flip(map[string]bool{"G": enabled}, `{foo: {baz: 1}}`, map[bool]string{false: "{}", true: "foo:\n  baz: 1"}[enabled])
			// Rule C8: a gate inside a disabled one is disabled.
			want := map[string]any{
				"foo":     map[string]any{"component": "istio", "name": "G", "preRelease": "alpha", "enabled": enabled},
				"foo.qux": map[string]any{"component": "istio", "name": "Below", "preRelease": "beta", "enabled": enabled},
			}
			eventually(t, "OpenAPI "+version+" has the state of the gate", func(ctx context.Context) (bool, error) {
				schema, err := shared.publishedSchema(ctx, t, crd, version)
				return err == nil && cmp.Equal(want["foo"], gateExtension(t, schema, "spec", "foo")), err
			})
			schema, err := shared.publishedSchema(t.Context(), t, crd, version)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want["foo.qux"], gateExtension(t, schema, "spec", "foo", "qux")); diff != "" {
				t.Errorf("OpenAPI %s of the nested field (-want +got):\n%s", version, diff)
			}
		}
	}
}

// gateExtension returns x-kubernetes-feature-gate of a property in a published schema, or nil if there is none.
func gateExtension(t *testing.T, schema json.RawMessage, property ...string) any {
	t.Helper()
	text := rawField(t, schema, append(propertyPath(property...), "x-kubernetes-feature-gate")...)
	if text == "" {
		return nil
	}
	return parse[any](t, text)
}

// TestV1Metrics (rule V1) checks the metrics of gates. A request counts once for each path of a gate, a dry run does
// not count.
func TestV1Metrics(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, `
component: istio
featureGates:
- {name: Replicas, preRelease: alpha, fieldPaths: [.spec.replicas, '.spec.containers[*].size']}
- {name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.image]}
- {name: Foo, preRelease: alpha, fieldPaths: [.spec.foo]}
- {name: Below, preRelease: beta, fieldPaths: [.spec.foo.qux]}
`)
	s := newSubject(t, crd)
	series := func() []string {
		return shared.seriesOf(t, crd.Spec.Group, "custom_feature_gate_enabled{", "gated_field_writes_total{")
	}
	const object = `{image: i, replicas: 3, containers: [{name: a, size: 1}, {name: b, size: 2}]}`
	create(t, s.client, cronTab(t, crd, "dry", object), metav1.CreateOptions{DryRun: dryRun})
	gauges := []string{
		`custom_feature_gate_enabled{component="istio",name="Below",pre_release="beta",resource="crontabs"} 0`,
		`custom_feature_gate_enabled{component="istio",name="Foo",pre_release="alpha",resource="crontabs"} 0`,
		`custom_feature_gate_enabled{component="istio",name="Old",pre_release="deprecated",resource="crontabs"} 1`,
		`custom_feature_gate_enabled{component="istio",name="Replicas",pre_release="alpha",resource="crontabs"} 0`,
	}
	if diff := cmp.Diff(gauges, series()); diff != "" {
		t.Errorf("series after a dry run (-want +got):\n%s", diff)
	}

	create(t, s.client, cronTab(t, crd, "a", object), metav1.CreateOptions{})
	writes := []string{
		`gated_field_writes_total{action="deprecated",name="Old",resource="crontabs"} 1`,
		`gated_field_writes_total{action="dropped",name="Replicas",resource="crontabs"} 2`,
	}
	if diff := cmp.Diff(append(gauges, writes...), series()); diff != "" {
		t.Errorf("series after a create (-want +got):\n%s", diff)
	}

	shared.uninstall(t, crd.Name)
	eventually(t, "the series are removed with the CRD", func(context.Context) (bool, error) {
		return len(series()) == 0, nil
	})
}

// auditPolicy names no resources, since not all Kubernetes lines have "*" for all groups.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: Metadata}]
`

// TestV2AuditAnnotations (rule V2) checks the annotations of gates and of unions.
func TestV2AuditAnnotations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startFor(t, options{featureGates: allGates, args: map[string]string{
		"audit-policy-file": policy, "audit-log-path": log, "audit-log-mode": "blocking",
	}})
	crd := newCRD(t, `{component: istio, featureGates: [{name: Replicas, preRelease: alpha, fieldPaths: [.spec.replicas, .spec.foo]}, {name: Old, preRelease: deprecated, default: true, fieldPaths: [.spec.image]}]}`)
	client := server.install(t, crd)
	if _, err := client.Create(t.Context(), cronTab(t, crd, "audited", `{image: i, replicas: 3, foo: {}}`), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	gates := map[string]string{
		"featuregates.apiextensions.k8s.io/dropped":    ".spec.replicas (istio/Replicas),.spec.foo (istio/Replicas)",
		"featuregates.apiextensions.k8s.io/deprecated": ".spec.image (istio/Old)",
	}
	if diff := cmp.Diff(gates, auditAnnotations(t, log, "create", "audited")); diff != "" {
		t.Errorf("annotations about gates (-want +got):\n%s", diff)
	}

	crd = newUnionsCRD(t)
	o := object{subject{T: t, crd: crd, client: server.install(t, crd)}, "switched"}
	o.create(`{source: {type: Git, git: {}, proxy: HTTP, http: h}, map: {a: {type: Git, git: {}}}}`)
	if err := o.merge("m", `{source: {type: S3, proxy: SOCKS, socks: s}, map: {a: {type: None}}}`); err != nil {
		t.Fatal(err)
	}
	unions := map[string]string{"unions.apiextensions.k8s.io/cleared": "spec.map.a.git,spec.source.http,spec.source.git"}
	if diff := cmp.Diff(unions, auditAnnotations(t, log, "patch", "switched")); diff != "" {
		t.Errorf("annotations about unions (-want +got):\n%s", diff)
	}
}

// auditAnnotations waits for the audit event of a request and returns fairlead's annotations.
func auditAnnotations(t *testing.T, log, verb, name string) map[string]string {
	t.Helper()
	var annotations map[string]string
	eventually(t, "the event is in the audit log", func(context.Context) (bool, error) {
		event, err := findEvent(log, verb, name)
		if event != nil {
			annotations = event.Annotations
		}
		return event != nil, err
	})
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return !strings.HasPrefix(key, "featuregates.") && !strings.HasPrefix(key, "unions.")
	})
	return annotations
}

// findEvent returns the event of a completed request from the audit log, or nil if there is none. The event of a create
// does not have the name of the object.
func findEvent(log, verb, name string) (*auditv1.Event, error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		event := &auditv1.Event{}
		if err := json.Unmarshal(lines.Bytes(), event); err != nil {
			return nil, err
		}
		found := event.Verb == verb && event.ObjectRef.Resource == "crontabs" && event.Stage == "ResponseComplete"
		if found && (verb == "create" || event.ObjectRef.Name == name) {
			return event, nil
		}
	}
	return nil, lines.Err()
}
