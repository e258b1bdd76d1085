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
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/fairlead-dev/fairlead/internal/localserver"
)

// server is a running kube-apiserver with clients as its administrator. Tests share it: their own warnings go to a user
// of their own.
type server struct {
	dir     string
	etcd    *localserver.Etcd // nil if the server has an etcd together with others
	etcdURL string
	// credentials is a directory, if it is not dir.
	credentials string
	api         *localserver.Server
	config      *rest.Config
	crds        apiextensionsclient.Interface
	kubeconfig  string
}

// options of a server; the zero value is the server under test with fairlead's gates at their defaults.
type options struct {
	program      string // another kube-apiserver
	featureGates string
	args         map[string]string // further flags
}

const stopTimeout = time.Minute

// start runs a kube-apiserver of its own over an etcd of its own.
func start(opts options) (*server, error) {
	dir, err := os.MkdirTemp("", "fairlead-integration")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	ctx := context.Background()
	if s.etcd, err = localserver.StartEtcd(ctx, asset("etcd"), dir); err == nil {
		s.etcdURL = s.etcd.URL
		err = s.serve(ctx, opts)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// asset returns the path of a program that make envtest-assets builds.
func asset(name string) string { return filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name) }

// serve runs the API server, at the same port as the one before.
func (s *server) serve(ctx context.Context, opts options) error {
	if err := s.launch(opts); err != nil {
		return err
	}
	return s.connect(ctx)
}

// launch starts the API server and does not wait until it is ready.
func (s *server) launch(opts options) error {
	o := localserver.Options{
		Program: opts.program, Dir: s.dir, CredentialsDir: s.credentials, EtcdURL: s.etcdURL, FeatureGates: opts.featureGates, Flags: opts.args,
	}
	if opts.program == "" {
		o.Program = asset("kube-apiserver")
	}
	if s.api != nil {
		o.Port = s.api.Port
	}
	api, err := localserver.Start(o)
	if err != nil {
		return err
	}
	s.api, s.kubeconfig = api, api.Kubeconfig
	return nil
}

// connect waits until the API server is ready and makes clients.
func (s *server) connect(ctx context.Context) (err error) {
	if err := s.api.WaitReady(ctx); err != nil {
		return err
	}
	if s.config, err = clientcmd.BuildConfigFromFlags("", s.kubeconfig); err != nil {
		return err
	}
	s.config.WarningHandlerWithContext = rest.NoWarnings{}
	s.config.QPS, s.config.Burst = -1, -1
	s.crds, err = apiextensionsclient.NewForConfig(s.config)
	return err
}

func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var errs []error
	if s.api != nil {
		errs = append(errs, s.api.Stop(ctx))
	}
	if s.etcd != nil {
		errs = append(errs, s.etcd.Stop(ctx))
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
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
	cmd := exec.Command(asset("kubectl"), append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	var out, errs bytes.Buffer
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// restart runs an API server with other options over the same etcd.
func (s *server) restart(t *testing.T, opts options) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stopTimeout)
	defer cancel()
	if err := s.api.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.serve(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
}

// TestEnvtestRunsOurAssets is what README.md says to projects that test with envtest. All other tests start servers as
// make run and make bench do.
func TestEnvtestRunsOurAssets(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	env := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: stopTimeout}
	env.ControlPlane.GetAPIServer().Configure().Set("feature-gates", "APIUnions=true,CRDFieldLevelVersioning=true")
	config, err := env.Start()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{config: config}
	if s.crds, err = apiextensionsclient.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	crd := newCRD(t, replicasGate)
	s.install(t, crd)
	if s.getCRD(t, crd.Name).Spec.CustomFeatureGates == nil {
		t.Error("the gate of the server is off")
	}
}
