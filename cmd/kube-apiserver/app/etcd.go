// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/fairlead-dev/fairlead/pkg/embeddedetcd"
)

// shutdownWithoutEtcd is how long the API server may take to shut down after etcd has ended. It would otherwise wait
// for writes that cannot succeed.
const shutdownWithoutEtcd = 5 * time.Second

// The default of the grace period. Without a grace period the stock server does not end watches when it shuts down, so
// that a single `kubectl get --watch` delays the shutdown by a minute. That gives clients time to move to another API
// server, and with an embedded etcd there is none.
const (
	watchGracePeriodFlag = "shutdown-watch-termination-grace-period"
	watchGracePeriod     = "2s"
)

// serveWithEtcd starts etcd, runs serve, and stops etcd. If etcd ends while serve runs, it requests a shutdown and
// returns an error.
func serveWithEtcd(cmd *cobra.Command, dir string, requestShutdown func(), serve func() error) error {
	flags := cmd.Flags()
	logFormat, _ := flags.GetString("logging-format") // tests do not have the flag
	own, emulated := versions()
	etcd, err := embeddedetcd.Start(cmd.Context(), embeddedetcd.Options{
		Dir: dir, JSONLogs: logFormat == "json", KubernetesVersion: own, EmulatedVersion: emulated,
	})
	if err != nil {
		return err
	}
	defer etcd.Stop()
	if err := flags.Set("etcd-servers", etcd.Endpoint()); err != nil {
		return fmt.Errorf("point --etcd-servers at the embedded etcd: %w", err)
	}
	if !flags.Changed(watchGracePeriodFlag) {
		if err := flags.Set(watchGracePeriodFlag, watchGracePeriod); err != nil {
			return err
		}
	}

	return serveUntilEnd(etcd, requestShutdown, serve, shutdownWithoutEtcd)
}

// versions returns the minor versions of Kubernetes that the server is and emulates. It returns "" before the flags have
// been parsed.
func versions() (own, emulated string) {
	effective := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	if effective == nil {
		return "", ""
	}
	minor := func(v *version.Version) string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }
	return minor(effective.BinaryVersion()), minor(effective.EmulationVersion())
}

// server has the methods of embeddedetcd.Server that serveUntilEnd calls.
type server interface {
	Done() <-chan struct{}
	Err() error
}

// serveUntilEnd runs serve until it returns or etcd ends. If etcd ends, it requests a shutdown, waits up to timeout for
// serve to return, and returns an error.
func serveUntilEnd(etcd server, requestShutdown func(), serve func() error, timeout time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- serve() }()
	select {
	case err := <-served:
		return err
	case <-etcd.Done():
	}

	requestShutdown()
	select {
	case err := <-served:
		if err != nil {
			return fmt.Errorf("embedded etcd: %w; then the API server: %w", etcd.Err(), err)
		}
	case <-time.After(timeout):
	}
	return fmt.Errorf("embedded etcd: %w", etcd.Err())
}
