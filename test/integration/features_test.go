// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

var gateNames = []string{"APIUnions", "APIUnionsRatcheting", "CRDFieldLevelVersioning"}

// apiserver runs the server with flags that make it print something and exit, and returns its output.
func apiserver(args ...string) (string, error) {
	out, err := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-apiserver"), args...).CombinedOutput()
	return string(out), err
}

// metrics returns /metrics of the server.
func (s *server) metrics(t *testing.T) string {
	t.Helper()
	text, err := s.getRaw(t.Context(), "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// seriesOf returns the series of a group in the metrics whose names start with one of the prefixes, without the group
// and without apiextensions_apiserver_.
func (s *server) seriesOf(t *testing.T, group string, prefixes ...string) []string {
	t.Helper()
	label := `group="` + group + `"`
	var found []string
	for _, line := range strings.Split(s.metrics(t), "\n") {
		series, ok := strings.CutPrefix(line, "apiextensions_apiserver_")
		hasPrefix := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(series, prefix) })
		if ok && hasPrefix && strings.Contains(line, label) {
			found = append(found, strings.ReplaceAll(series, label+",", ""))
		}
	}
	return found
}

func TestF1GatesAreInTheHelp(t *testing.T) {
	t.Parallel()
	help, err := apiserver("--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range gateNames {
		if want := name + "=true|false (ALPHA - default=false)"; !strings.Contains(help, want) {
			t.Errorf("--help does not print %q", want)
		}
	}
}

func TestF1GatesAreInTheMetrics(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		server *server
		want   string
	}{
		"F1: the gates are 1 in the metrics if they are enabled": {shared, "1"},
		"F1: the gates are 0 in the metrics by default":          {startFor(t, options{}), "0"},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := tc.server.metrics(t)
			for _, gate := range gateNames {
				if want := `kubernetes_feature_enabled{name="` + gate + `",stage="ALPHA"} ` + tc.want; !strings.Contains(metrics, want) {
					t.Errorf("/metrics does not have %s", want)
				}
			}
		})
	}
}

func TestF1RatchetingNeedsUnions(t *testing.T) {
	t.Parallel()
	out, err := apiserver("--feature-gates=APIUnionsRatcheting=true")
	if err == nil || !strings.Contains(out, "APIUnions") {
		t.Errorf("the server accepts APIUnionsRatcheting without APIUnions: %v, %s", err, out)
	}
}

// TestF1EmulatedVersions (rule F1): the gates are there from the oldest supported line on. A server can emulate the
// minor before its own, which for that line is too old.
func TestF1EmulatedVersions(t *testing.T) {
	t.Parallel()
	line := version.MustParse(kubernetesVersion(t))
	older := fmt.Sprintf("%d.%d", line.Major(), line.Minor()-1)
	if version.MustParse(older).AtLeast(version.MustParse("1.33")) {
		s := startFor(t, options{featureGates: allGates, args: map[string]string{"emulated-version": older}})
		crd := newCRD(t, replicasGate)
		s.install(t, crd)
		if s.getCRD(t, crd.Name).Spec.CustomFeatureGates == nil {
			t.Errorf("the gate is not on at emulated version %s", older)
		}
		return
	}

	out, err := apiserver("--emulated-version="+older, "--feature-gates=CRDFieldLevelVersioning=true")
	if err == nil || !strings.Contains(out, "CRDFieldLevelVersioning") {
		t.Errorf("the gate can be set at emulated version %s: %v, %s", older, err, out)
	}
	s := startFor(t, options{args: map[string]string{"emulated-version": older}})
	if strings.Contains(s.metrics(t), `kubernetes_feature_enabled{name="CRDFieldLevelVersioning",stage="ALPHA"} 1`) {
		t.Errorf("the gate is on at emulated version %s", older)
	}
	crd := newCRD(t, replicasGate)
	s.install(t, crd)
	if s.getCRD(t, crd.Name).Spec.CustomFeatureGates != nil {
		t.Errorf("F4: the field was not dropped at emulated version %s", older)
	}
}

// kubernetesVersion returns the locked version of Kubernetes of the line whose server is tested, such as v1.37.1.
func kubernetesVersion(t *testing.T) string {
	t.Helper()
	line := filepath.Base(filepath.Dir(asset(""))) // see hack/build.sh: _output/<line>/envtest
	lock, err := os.ReadFile(filepath.Join("..", "..", "staging", "lines", line, "upstream.lock"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(lock), "\nk8s.io/kubernetes ")
	locked, _, found := strings.Cut(rest, " ")
	if !found {
		t.Fatalf("the lock of %s has no k8s.io/kubernetes", line)
	}
	return locked
}

func TestVersionIsThatOfTheLine(t *testing.T) {
	t.Parallel()
	version := regexp.QuoteMeta(kubernetesVersion(t)) + `\+fairlead\.\d+`
	out, err := apiserver("--version")
	if err != nil || !regexp.MustCompile(`^Kubernetes `+version+`\n$`).MatchString(out) {
		t.Errorf("--version prints %q, %v", out, err)
	}
	stdout, _ := shared.kubectl(t, "", "version")
	if !regexp.MustCompile(`(?m)^Server Version: ` + version + `$`).MatchString(stdout) {
		t.Errorf("kubectl version prints %q", stdout)
	}
	metrics := shared.metrics(t)
	if !regexp.MustCompile(`kubernetes_build_info{.*git_version="` + version + `"`).MatchString(metrics) {
		t.Errorf("kubernetes_build_info does not have the version %s", version)
	}
	if strings.Contains(metrics, "v0.0.0-master") {
		t.Error("/metrics has the version v0.0.0-master")
	}
}
