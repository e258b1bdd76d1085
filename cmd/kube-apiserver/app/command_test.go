// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	stock "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// TestStockCommandIsKept compares the flags, the help and the usage with the stock command. It is the only test that
// calls stock.NewAPIServerCommand, which can be called only once in a process.
func TestStockCommandIsKept(t *testing.T) {
	cmd := stock.NewAPIServerCommand()
	flags, help, usage := describeFlags(cmd.Flags()), outputOf(t, cmd, cmd.Help), outputOf(t, cmd, cmd.Usage)

	addEmbeddedEtcd(cmd, func() {})
	got := describeFlags(cmd.Flags())
	if _, found := got[embeddedEtcdDir]; !found {
		t.Errorf("--%s is missing", embeddedEtcdDir)
	}
	delete(got, embeddedEtcdDir)
	if diff := cmp.Diff(flags, got); diff != "" {
		t.Errorf("flags (-stock +got):\n%s", diff)
	}
	for what, texts := range map[string][2]string{
		"help": {help, outputOf(t, cmd, cmd.Help)}, "usage": {usage, outputOf(t, cmd, cmd.Usage)},
	} {
		added, found := strings.CutPrefix(texts[1], texts[0])
		if !found {
			t.Errorf("%s does not begin with that of the stock command", what)
		}
		if !strings.HasPrefix(added, "\nEmbedded etcd flags:\n\n      --embedded-etcd-dir string ") {
			t.Errorf("%s: added %q", what, added)
		}
	}
	for _, name := range []string{"etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile", "logging-format", watchGracePeriodFlag} {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("the stock command has no --%s", name)
		}
	}
}

// describeFlags returns all properties of the flags by name.
func describeFlags(flags *pflag.FlagSet) map[string]string {
	all := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		all[f.Name] = strings.Join([]string{f.Shorthand, f.Value.Type(), f.DefValue, f.Usage, f.Deprecated}, "|")
	})
	return all
}

// outputOf returns what cmd.Help or cmd.Usage prints.
func outputOf(t *testing.T, cmd *cobra.Command, show func() error) string {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	if err := show(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// fake is a command with those flags of the stock command that serveWithEtcd reads or sets.
type fake struct {
	cmd      *cobra.Command
	servers  []string
	grace    time.Duration
	shutdown chan struct{}
}

// newFake returns a command that calls serve.
func newFake(t *testing.T, serve func(f *fake) error, args ...string) *fake {
	t.Helper()
	f := &fake{shutdown: make(chan struct{})}
	f.cmd = &cobra.Command{
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(*cobra.Command, []string) error { return serve(f) },
	}
	flags := f.cmd.Flags()
	flags.StringSliceVar(&f.servers, "etcd-servers", nil, "")
	flags.DurationVar(&f.grace, watchGracePeriodFlag, 0, "")
	for _, name := range []string{"etcd-cafile", "etcd-certfile", "etcd-keyfile"} {
		flags.String(name, "", "")
	}
	addEmbeddedEtcd(f.cmd, func() { close(f.shutdown) })
	f.cmd.SetArgs(args)
	f.cmd.SetContext(t.Context())
	return f
}

func TestServesWithEtcd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var endpoint string
	served := errors.New("served")
	f := newFake(t, func(f *fake) error {
		if len(f.servers) != 1 || f.grace != 2*time.Second {
			return fmt.Errorf("got etcd servers %q, grace period %v", f.servers, f.grace)
		}
		endpoint = f.servers[0]
		return errors.Join(served, putKey(t.Context(), endpoint))
	}, "--embedded-etcd-dir="+dir)
	if err := f.cmd.Execute(); err == nil || err.Error() != served.Error() {
		t.Errorf("got %v, want the server's error", err)
	}
	if _, err := os.Stat(strings.TrimPrefix(endpoint, "unix://")); !os.IsNotExist(err) {
		t.Errorf("etcd still runs: %v", err)
	}
}

// putKey writes a key to etcd.
func putKey(ctx context.Context, endpoint string) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	_, err = client.Put(ctx, "key", "value")
	return err
}

func TestGracePeriodOfTheUserIsKept(t *testing.T) {
	f := newFake(t, func(f *fake) error {
		if f.grace != 7*time.Second {
			t.Errorf("got %v", f.grace)
		}
		return nil
	}, "--embedded-etcd-dir="+t.TempDir(), "--shutdown-watch-termination-grace-period=7s")
	if err := f.cmd.Execute(); err != nil {
		t.Error(err)
	}
}

func TestWithoutTheFlagNothingChanges(t *testing.T) {
	f := newFake(t, func(f *fake) error {
		if diff := cmp.Diff([]string{"http://elsewhere:2379"}, f.servers); diff != "" || f.grace != 0 {
			t.Errorf("got etcd servers %q, grace period %v", f.servers, f.grace)
		}
		return nil
	}, "--etcd-servers=http://elsewhere:2379")
	if err := f.cmd.Execute(); err != nil {
		t.Error(err)
	}
}

func TestInvalidFlagsAreRejected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"--etcd-servers": {
			args: []string{"--etcd-servers=http://elsewhere:2379"},
			want: "--embedded-etcd-dir and --etcd-servers exclude each other",
		},
		"a certificate for an external etcd": {
			args: []string{"--etcd-certfile=some.crt"},
			want: "--embedded-etcd-dir and --etcd-certfile exclude each other",
		},
		"an unknown flag": {args: []string{"--unknown"}, want: "unknown flag"},
		"a data directory that is a file": {
			args: []string{"--embedded-etcd-dir=" + file}, want: "not a directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			f := newFake(t, func(*fake) error {
				t.Error("serve was called")
				return nil
			}, append([]string{"--embedded-etcd-dir=" + dir}, test.args...)...)
			err := f.cmd.Execute()
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("etcd was started: %v", err)
			}
		})
	}
}

func TestHelpStartsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	f := newFake(t, func(*fake) error {
		t.Error("serve was called")
		return nil
	}, "--embedded-etcd-dir="+dir, "--help")
	f.cmd.SetOut(&bytes.Buffer{})
	if err := f.cmd.Execute(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("etcd was started: %v", err)
	}
}

// TestEndOfEtcdEndsTheServer ends etcd, with a server that shuts down on request and with one that does not.
func TestEndOfEtcdEndsTheServer(t *testing.T) {
	for name, shutsDown := range map[string]bool{"the server shuts down": true, "the server hangs": false} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			t.Cleanup(func() { close(release) })
			ended := errors.New("etcd ended")
			etcd := &fakeEtcd{done: make(chan struct{}), err: ended}
			close(etcd.done)
			requested := make(chan struct{})
			err := serveUntilEnd(etcd, func() { close(requested) }, func() error {
				if shutsDown {
					<-requested
				} else {
					<-release
				}
				return nil
			}, 10*time.Millisecond)
			if !errors.Is(err, ended) {
				t.Errorf("got %v, want %v", err, ended)
			}
		})
	}
}

type fakeEtcd struct {
	done chan struct{}
	err  error
}

func (f *fakeEtcd) Done() <-chan struct{} { return f.done }
func (f *fakeEtcd) Err() error            { return f.err }
