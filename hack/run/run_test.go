// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func TestParsePort(t *testing.T) {
	for text, want := range map[string]int{"": defaultPort, "1": 1, "7443": 7443, "65535": 65535} {
		if got, err := parsePort(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "65536", "https", "80 81"} {
		if _, err := parsePort(text); err == nil || !strings.Contains(err.Error(), "is not a port") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := checkPort(port); err == nil || !strings.Contains(err.Error(), "is in use: choose another with make run PORT=") {
		t.Errorf("got %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkPort(port); err != nil {
		t.Errorf("free again: %v", err)
	}
}

func TestOtherPortIsOne(t *testing.T) {
	for port, want := range map[int]int{6443: 7443, 65535: 64535} {
		if got := otherPort(port); got != want {
			t.Errorf("%d: got %d, want %d", port, got, want)
		}
	}
}

func TestOneRunAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "_output", "run")
	unlock, err := lockRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockRunDir(dir); err == nil || !strings.Contains(err.Error(), "already running") {
		t.Errorf("got %v", err)
	}
	unlock()
	unlock, err = lockRunDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestCertificatesAreRenewedInTime(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		after  time.Duration
		change func(dir string) error
		renew  bool
	}{
		"still good":               {},
		"good for long enough":     {after: validity - renewBefore - time.Minute},
		"about to expire":          {after: validity - renewBefore + time.Minute, renew: true},
		"expired":                  {after: 2 * validity, renew: true},
		"from the future":          {after: -48 * time.Hour, renew: true},
		"a key is gone":            {change: remove("admin.key"), renew: true},
		"an authority is gone":     {change: remove("server-ca.crt"), renew: true},
		"another authority's":      {change: replace("client-ca.crt", "server-ca.crt"), renew: true},
		"a key of another's":       {change: replace("admin.key", "serving.key"), renew: true},
		"a certificate is damaged": {change: truncate("serving.crt"), renew: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first, err := ensureCredentials(dir, now)
			if err != nil {
				t.Fatal(err)
			}
			key := read(t, filepath.Join(dir, serviceAccountFile))
			if test.change != nil {
				if err := test.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			second, err := ensureCredentials(dir, now.Add(test.after))
			if err != nil {
				t.Fatal(err)
			}
			if renewed := !bytes.Equal(first.adminCrt, second.adminCrt); renewed != test.renew {
				t.Errorf("renewed: %v, want %v", renewed, test.renew)
			}
			if !bytes.Equal(key, read(t, filepath.Join(dir, serviceAccountFile))) {
				t.Error("the key for service accounts changed")
			}
		})
	}
}

func remove(name string) func(string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
}

func truncate(name string) func(string) error {
	return func(dir string) error { return os.Truncate(filepath.Join(dir, name), 100) }
}

func replace(name, by string) func(string) error {
	return func(dir string) error {
		data, err := os.ReadFile(filepath.Join(dir, by))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o600)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAdministrator(t *testing.T) {
	c, err := ensureCredentials(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if groups := c.admin.Leaf.Subject.Organization; !slices.Equal(groups, []string{"system:masters"}) {
		t.Errorf("groups %v", groups)
	}
}

func TestKubeconfigStandsAlone(t *testing.T) {
	dir := t.TempDir()
	c, err := ensureCredentials(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kubeconfig")
	for _, url := range []string{"https://127.0.0.1:1", "https://127.0.0.1:2"} { // the second replaces the first
		if err := writeKubeconfig(path, url, c); err != nil {
			t.Fatal(err)
		}
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		if config.Host != url || !bytes.Equal(config.CAData, c.serverCA) || !bytes.Equal(config.KeyData, c.adminKey) {
			t.Errorf("got %v", config)
		}
	}
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	c, err := ensureCredentials(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfig(filepath.Join(dir, "kubeconfig"), "https://127.0.0.1:1", c); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLastWords(t *testing.T) {
	const plain = "I1121 10:00:00.000000 1 a.go:1] one\nW1121 10:00:00.000000 1 a.go:1] two"
	for name, test := range map[string]struct {
		log  string
		want []string
	}{
		"errors among others": {
			log:  "E1121 10:00:00.000000 1 a.go:1] bad\n" + plain + "\n2026-11-21T10:00:00.000000Z\tfatal\ta.go:1\tworse\t{}\n",
			want: []string{"E1121 10:00:00.000000 1 a.go:1] bad", "2026-11-21T10:00:00.000000Z\tfatal\ta.go:1\tworse\t{}"},
		},
		"a flag":     {log: "Error: unknown flag: --x\n", want: []string{"Error: unknown flag: --x"}},
		"no errors":  {log: plain + "\n", want: strings.Split(plain, "\n")},
		"very brief": {log: "", want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lastWords(test.log)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDemo is about the commands as such; that they do what they should is a matter of the examples' tests.
func TestDemo(t *testing.T) {
	t.Setenv("PATH", "")
	root := t.TempDir()
	s := settings{root: root, runDir: filepath.Join(root, "_output", "run")}
	var out strings.Builder
	printDemo(&out, s)
	for _, want := range []string{
		"export KUBECONFIG=_output/run/kubeconfig\n",
		"./_output/envtest/kubectl apply -f examples/field-gates/crd.yaml\n",
		"make envtest-assets",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, root) {
			t.Errorf("not from the root of the repository: %s", line)
		}
	}
}
