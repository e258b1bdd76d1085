// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/pkg/embeddedetcd"
)

// shutdownWithoutEtcd is how long the API server may take to stop after etcd has failed it. It then still waits for
// writes that can no longer happen.
const shutdownWithoutEtcd = 5 * time.Second

// Without a grace period the stock server does not end watches when it shuts down: a single `kubectl get --watch` keeps
// it for a minute. With an etcd of its own there is no other server that would need such patience of it.
const (
	watchGracePeriodFlag = "shutdown-watch-termination-grace-period"
	watchGracePeriod     = "2s"
)

// serveWithEtcd runs serve with an etcd that is there before and after it. If etcd ends early, so does serve, with an
// error.
func serveWithEtcd(cmd *cobra.Command, dir string, requestShutdown func(), serve func() error) error {
	flags := cmd.Flags()
	logFormat, _ := flags.GetString("logging-format") // none in tests
	etcd, err := embeddedetcd.Start(cmd.Context(), embeddedetcd.Options{Dir: dir, JSONLogs: logFormat == "json"})
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

// server is what serveUntilEnd needs of an etcd.
type server interface {
	Done() <-chan struct{}
	Err() error
}

// serveUntilEnd runs serve until it returns or etcd ends. In that case serve has some patience's time to stop.
func serveUntilEnd(etcd server, requestShutdown func(), serve func() error, patience time.Duration) error {
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
	case <-time.After(patience):
	}
	return fmt.Errorf("embedded etcd: %w", etcd.Err())
}
