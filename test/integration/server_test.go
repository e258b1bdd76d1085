// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// server is a running kube-apiserver with clients as its administrator. Tests share it: their own warnings go to a user
// of their own.
type server struct {
	env        *envtest.Environment
	config     *rest.Config
	crds       apiextensionsclient.Interface
	kubeconfig string
}

// options of a server; the zero value is a server with fairlead's gates at their defaults.
type options struct {
	featureGates string
	args         map[string]string // further flags
}

// start runs a kube-apiserver of its own over an etcd of its own.
func start(opts options) (*server, error) {
	env := &envtest.Environment{
		BinaryAssetsDirectory: os.Getenv("KUBEBUILDER_ASSETS"),
		// A loaded machine takes its time; nothing is gained by giving up early.
		ControlPlaneStartTimeout: 2 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	args := env.ControlPlane.GetAPIServer().Configure()
	if opts.featureGates != "" {
		args.Set("feature-gates", opts.featureGates)
	}
	for name, value := range opts.args {
		args.Set(name, value)
	}
	config, err := env.Start()
	if err != nil {
		return nil, err
	}
	s := &server{env: env, config: config}
	return s, s.connect()
}

func (s *server) connect() error {
	s.config.WarningHandlerWithContext = rest.NoWarnings{}
	s.config.QPS, s.config.Burst = -1, -1
	var err error
	if s.crds, err = apiextensionsclient.NewForConfig(s.config); err != nil {
		return err
	}
	file, err := os.CreateTemp("", "fairlead-kubeconfig")
	if err != nil {
		return err
	}
	s.kubeconfig = file.Name()
	_, err = file.Write(s.env.KubeConfig)
	return errors.Join(err, file.Close())
}

func (s *server) stop() error {
	return errors.Join(s.env.Stop(), os.Remove(s.kubeconfig))
}

// startFor runs a server for one test.
func startFor(t *testing.T, opts options) *server {
	t.Helper()
	s, err := start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// user is an administrator of a server with clients of his own, and with a log of the warnings that the server sent to
// those clients and to no others. So tests that use one server do not see each other's warnings.
type user struct {
	server   *server
	dynamic  dynamic.Interface
	crds     apiextensionsclient.Interface
	warnings *warningLog
}

func (s *server) newUser() *user {
	u := &user{server: s, warnings: &warningLog{}}
	config := rest.CopyConfig(s.config)
	config.WarningHandlerWithContext = u.warnings
	// They fail on a bad configuration only, and connect made clients of this one.
	u.dynamic = dynamic.NewForConfigOrDie(config)
	u.crds = apiextensionsclient.NewForConfigOrDie(config)
	return u
}

// warningLog collects the warnings that the server sends, as a user would see them.
type warningLog struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warningLog) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 {
		w.texts = append(w.texts, text)
	}
}

// take returns the warnings since the last call.
func (w *warningLog) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// kubectl runs the real kubectl and returns what it prints, standard error apart: that is where warnings go.
func (s *server) kubectl(t *testing.T, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := s.tryKubectl(stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return stdout, stderr
}

func (s *server) tryKubectl(stdin string, args ...string) (stdout, stderr string, err error) {
	return s.kubectlIn(nil, stdin, args...)
}

// kubectlIn is tryKubectl with more in the environment; t.Setenv would change that of other tests as well.
func (s *server) kubectlIn(env []string, stdin string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	var out, errs bytes.Buffer
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// restart runs the API server anew, with other options, over the same etcd.
func (s *server) restart(t *testing.T, opts options) {
	t.Helper()
	apiServer := s.env.ControlPlane.GetAPIServer()
	if err := apiServer.Stop(); err != nil {
		t.Fatal(err)
	}
	apiServer.Configure().Disable("feature-gates")
	if opts.featureGates != "" {
		apiServer.Configure().Set("feature-gates", opts.featureGates)
	}
	if err := apiServer.Start(); err != nil {
		t.Fatal(err)
	}
	// A new start has new certificates, so the administrator needs new credentials.
	admin, err := s.env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.config = admin.Config()
	if s.env.KubeConfig, err = admin.KubeConfig(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.kubeconfig); err != nil {
		t.Fatal(err)
	}
	if err := s.connect(); err != nil {
		t.Fatal(err)
	}
}
