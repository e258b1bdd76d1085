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

// ErrStopped says that etcd stopped although nobody had asked it to.
var ErrStopped = errors.New("etcd stopped on its own")

// Options say where etcd keeps its data and how it behaves towards its surroundings.
type Options struct {
	// Dir is the data directory. It is created with mode 0700 if it does not exist; its parent must exist.
	Dir string
	// JSONLogs makes etcd log in JSON instead of text. Either way it logs warnings and worse, to stderr.
	JSONLogs bool
	// StartTimeout is how long etcd may take until it serves; a minute if zero.
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
	stopping chan struct{}
	done     chan struct{}
	err      error
}

// Start opens or creates the data directory and returns once etcd serves. It refuses a directory that is in use
// (ErrInUse) or was written by a newer etcd (ErrNewer) without changing anything in it. When ctx ends, the start
// is given up; a started server runs until Stop, whatever becomes of ctx.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.StartTimeout == 0 {
		opts.StartTimeout = defaultStartTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opts.StartTimeout, fmt.Errorf("not ready after %v", opts.StartTimeout))
	defer cancel()

	dir, err := openDataDir(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded etcd: %w", err)
	}
	sockets, err := makeSocketDir(dir.path)
	if err != nil {
		dir.close()
		return nil, fmt.Errorf("embedded etcd: %w", err)
	}
	s := &Server{
		dir:      dir,
		sockets:  sockets,
		level:    zap.NewAtomicLevelAt(zap.WarnLevel),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
	}
	if err := s.start(ctx, opts); err != nil {
		return nil, fmt.Errorf("embedded etcd: data directory %s: %w", dir.path, err)
	}
	go s.watch()
	return s, nil
}

// start launches etcd and waits until it serves. On failure nothing of it is left, except that an etcd stuck in
// its start is left to itself: it cannot be interrupted, and is cleaned up once it gets through.
func (s *Server) start(ctx context.Context, opts Options) error {
	logger, err := newLogger(s.level, opts.JSONLogs)
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
			return err
		}
	case <-ctx.Done():
		go func() {
			if err := <-launched; err != nil {
				s.release()
				return
			}
			s.Stop()
		}()
		return context.Cause(ctx)
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

// watch waits for the end of etcd and tells Done when it was not Stop that brought it about.
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
		// Stop and the end it caused arrive together.
	default:
		close(s.done)
	}
}

// Endpoint is the URL for --etcd-servers and etcd clients.
func (s *Server) Endpoint() string { return s.sockets.endpoint() }

// Done is closed when etcd ends without Stop.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says why etcd ended; valid once Done is closed.
func (s *Server) Err() error { return s.err }

// Stop ends etcd and releases the data directory. Clients must be done by then: whatever they still have open is
// cut off. It may be called several times and returns when etcd is down.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		close(s.stopping)
		// etcd reports its own listeners as failed when it closes them.
		s.level.SetLevel(zap.PanicLevel)
		// etcd alone would wait seconds for open watches, and the clients that hold them are gone.
		if g := s.grpc.Load(); g != nil {
			g.Stop()
		}
		s.etcd.Close()
		s.release()
	})
}

func (s *Server) release() {
	s.sockets.remove()
	s.dir.close()
}

func stopCause(err error) error {
	if err == nil {
		return ErrStopped
	}
	return fmt.Errorf("%w: %w", ErrStopped, err)
}
