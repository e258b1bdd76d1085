// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

const defaultStartTimeout = time.Minute

// ErrStopped is returned if etcd stopped without a call of Stop.
var ErrStopped = errors.New("etcd stopped on its own")

// Options are the options of Start.
type Options struct {
	// Dir is the data directory. It is created with mode 0700 if it does not exist; its parent must exist.
	Dir string
	// KubernetesVersion is the minor version of Kubernetes, such as "1.37", that uses the data. Start rejects data that a
	// newer one has written. By default nothing is checked.
	KubernetesVersion string
	// EmulatedVersion is the version in whose formats it writes, which may be older. It is recorded in the directory, so
	// that a version that is older than it rejects the data. By default nothing is recorded.
	EmulatedVersion string
	// JSONLogs makes etcd log in JSON instead of text. Either way it logs warnings and worse, to stderr.
	JSONLogs bool
	// StartTimeout is how long etcd may take until it serves. The default is a minute.
	StartTimeout time.Duration
}

// Server is a running etcd.
type Server struct {
	etcd    *embed.Etcd
	grpc    atomic.Pointer[grpc.Server]
	dir     *dataDir
	sockets *socketDir
	level   zap.AtomicLevel

	stopOnce sync.Once
	stopping chan struct{} // closed by Stop
	done     chan struct{} // closed if etcd ends without Stop
	err      error         // why etcd ended; set before done is closed
}

// Start opens or creates the data directory, and returns when etcd serves. It returns ErrInUse if the directory is in
// use, or ErrNewer if it was written by a newer etcd or Kubernetes, and does not modify it then. If ctx ends before etcd serves,
// Start fails. After that the server runs until Stop, even if ctx ends.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.StartTimeout == 0 {
		opts.StartTimeout = defaultStartTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opts.StartTimeout, fmt.Errorf("not ready after %v", opts.StartTimeout))
	defer cancel()

	s, err := newServer(opts.Dir, opts.KubernetesVersion)
	if err != nil {
		return nil, fmt.Errorf("embedded etcd: %w", err)
	}
	if err := s.start(ctx, opts.JSONLogs); err != nil {
		return nil, fmt.Errorf("embedded etcd: data directory %s: %w", s.dir.path, err)
	}
	if err := recordKubernetes(s.dir.path, opts.EmulatedVersion); err != nil {
		s.Stop()
		return nil, fmt.Errorf("embedded etcd: data directory %s: %w", opts.Dir, err)
	}
	go s.watch()
	return s, nil
}

// newServer opens the data directory and creates the directory for the sockets.
func newServer(path, kubernetes string) (*Server, error) {
	dir, err := openDataDir(path, kubernetes)
	if err != nil {
		return nil, err
	}
	sockets, err := makeSocketDir(dir.path)
	if err != nil {
		dir.close()
		return nil, err
	}
	return &Server{
		dir:      dir,
		sockets:  sockets,
		level:    zap.NewAtomicLevelAt(zap.WarnLevel),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
	}, nil
}

// start launches etcd and waits until it serves. If it fails, it releases the data directory.
func (s *Server) start(ctx context.Context, jsonLogs bool) error {
	if err := s.launch(ctx, jsonLogs); err != nil {
		return err
	}
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case err := <-s.etcd.Err():
		s.Stop()
		return stopCause(err)
	case <-s.etcd.Server.StopNotify():
		s.Stop()
		return ErrStopped
	case <-ctx.Done():
		s.Stop()
		return context.Cause(ctx)
	}
}

// launch calls embed.StartEtcd, which cannot be interrupted. If ctx ends first, launch returns, and etcd is stopped
// when embed.StartEtcd returns.
func (s *Server) launch(ctx context.Context, jsonLogs bool) error {
	logger, err := newLogger(s.level, jsonLogs)
	if err != nil {
		s.release()
		return err
	}
	config := newConfig(s.dir.path, s.sockets, logger, s.grpc.Store)
	launched := make(chan error, 1)
	go func() {
		var err error
		s.etcd, err = embed.StartEtcd(config)
		launched <- err
	}()

	select {
	case err := <-launched:
		if err != nil {
			s.release()
		}
		return err
	case <-ctx.Done():
		go s.stopWhenLaunched(launched)
		return context.Cause(ctx)
	}
}

// stopWhenLaunched waits for the result of embed.StartEtcd, stops etcd, and releases the data directory.
func (s *Server) stopWhenLaunched(launched <-chan error) {
	if err := <-launched; err != nil {
		s.release()
		return
	}
	s.Stop()
}

// watch waits until etcd ends, and closes done unless Stop was called.
func (s *Server) watch() {
	select {
	case <-s.stopping:
		return
	case err := <-s.etcd.Err():
		s.err = stopCause(err)
	case <-s.etcd.Server.StopNotify():
		s.err = ErrStopped
	}
	select {
	case <-s.stopping:
		// etcd ended because of Stop.
	default:
		close(s.done)
	}
}

// Endpoint returns the URL for --etcd-servers and etcd clients.
func (s *Server) Endpoint() string { return s.sockets.endpoint() }

// Done returns a channel that is closed if etcd ends without Stop.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why etcd ended. It must not be called before Done is closed.
func (s *Server) Err() error { return s.err }

// Stop stops etcd and releases the data directory, and returns when etcd has stopped. It closes the connections of
// clients, whose requests fail. It may be called several times.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		close(s.stopping)
		// etcd logs errors of its listeners when it closes them.
		s.level.SetLevel(zap.PanicLevel)
		// Without this, etcd would wait several seconds for open watches.
		if g := s.grpc.Load(); g != nil {
			g.Stop()
		}
		s.etcd.Close()
		s.release()
	})
}

// release removes the sockets and unlocks the data directory.
func (s *Server) release() {
	s.sockets.remove()
	s.dir.close()
}

// stopCause returns the error of Err for an error of etcd, which may be nil.
func stopCause(err error) error {
	if err == nil {
		return ErrStopped
	}
	return fmt.Errorf("%w: %w", ErrStopped, err)
}
