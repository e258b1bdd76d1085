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

// TestStockCommandIsKept makes the one command that a process can make.
func TestStockCommandIsKept(t *testing.T) {
	cmd := stock.NewAPIServerCommand()
	flags, help, usage := describeFlags(cmd.Flags()), helpOf(t, cmd), usageOf(t, cmd)

	addEmbeddedEtcd(cmd, func() {})
	now := describeFlags(cmd.Flags())
	if _, found := now[embeddedEtcdDir]; !found {
		t.Errorf("--%s is missing", embeddedEtcdDir)
	}
	delete(now, embeddedEtcdDir)
	if diff := cmp.Diff(flags, now); diff != "" {
		t.Errorf("flags differ (-stock +ours):\n%s", diff)
	}
	for what, texts := range map[string][2]string{"help": {help, helpOf(t, cmd)}, "usage": {usage, usageOf(t, cmd)}} {
		added, found := strings.CutPrefix(texts[1], texts[0])
		if !found {
			t.Errorf("%s does not begin with the stock one", what)
		}
		if !strings.HasPrefix(added, "\nEmbedded etcd flags:\n\n      --embedded-etcd-dir string ") {
			t.Errorf("%s: added %q", what, added)
		}
	}
	for _, name := range []string{"etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile", "logging-format", watchGracePeriodFlag} {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("the stock command has no --%s any more", name)
		}
	}
}

func describeFlags(flags *pflag.FlagSet) map[string]string {
	all := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		all[f.Name] = strings.Join([]string{f.Shorthand, f.Value.Type(), f.DefValue, f.Usage, f.Deprecated}, "|")
	})
	return all
}

func helpOf(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	if err := cmd.Help(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func usageOf(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	if err := cmd.Usage(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// fake is a command with the stock flags that matter here. It serves by calling serve with its --etcd-servers.
type fake struct {
	cmd      *cobra.Command
	servers  []string
	grace    time.Duration
	shutdown chan struct{}
}

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
		t.Errorf("etcd still serves: %v", err)
	}
}

func putKey(ctx context.Context, endpoint string) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	_, err = client.Put(ctx, "key", "value")
	return err
}

func TestGracePeriodGivenByTheUserIsKept(t *testing.T) {
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

func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"two etcds": {
			args: []string{"--etcd-servers=http://elsewhere:2379"},
			want: "--embedded-etcd-dir and --etcd-servers exclude each other",
		},
		"a certificate for another etcd": {
			args: []string{"--etcd-certfile=some.crt"},
			want: "--embedded-etcd-dir and --etcd-certfile exclude each other",
		},
		"an unknown flag":               {args: []string{"--unknown"}, want: "unknown flag"},
		"a directory that etcd refuses": {args: []string{"--embedded-etcd-dir=" + file}, want: "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			f := newFake(t, func(*fake) error {
				t.Error("served")
				return nil
			}, append([]string{"--embedded-etcd-dir=" + dir}, test.args...)...)
			err := f.cmd.Execute()
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("etcd was there: %v", err)
			}
		})
	}
}

func TestAskedForHelpItStartsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	f := newFake(t, func(*fake) error {
		t.Error("served")
		return nil
	}, "--embedded-etcd-dir="+dir, "--help")
	f.cmd.SetOut(&bytes.Buffer{})
	if err := f.cmd.Execute(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("etcd was there: %v", err)
	}
}

// TestEndOfEtcdEndsTheServer lets etcd end, with a server that heeds the shutdown and with one that hangs.
func TestEndOfEtcdEndsTheServer(t *testing.T) {
	for name, heeds := range map[string]bool{"server heeds the shutdown": true, "server hangs": false} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			t.Cleanup(func() { close(release) })
			ended := errors.New("etcd ended")
			etcd := &fakeEtcd{done: make(chan struct{}), err: ended}
			close(etcd.done)
			asked := make(chan struct{})
			err := serveUntilEnd(etcd, func() { close(asked) }, func() error {
				if heeds {
					<-asked
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
