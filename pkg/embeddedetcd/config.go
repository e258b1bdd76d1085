// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"net/url"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
)

const (
	memberName = "fairlead"

	// quota is what etcd's documentation suggests as the maximum, and what clusters of size are run with. Beyond
	// it etcd takes no more writes.
	quota = 8 << 30

	// slowRequest keeps etcd from warning about each write on a disk that is merely slow (its own limits are
	// 100ms and 300ms); the API server traces slow requests anyway.
	slowRequest = time.Second
)

// newConfig is etcd's default configuration, except for what is set here. Compaction stays off: the API server
// compacts its etcd itself. onServe receives the gRPC server when it starts to serve.
func newConfig(dir string, sockets *socketDir, logger *zap.Logger, onServe func(*grpc.Server)) *embed.Config {
	config := embed.NewConfig()
	config.Dir = dir
	config.Name = memberName

	config.ListenClientUrls = []url.URL{sockets.url(grpcSocket)}
	config.AdvertiseClientUrls = config.ListenClientUrls
	// gRPC has a socket for itself, as etcd recommends; the other one serves /health and /metrics.
	config.ListenClientHttpUrls = []url.URL{sockets.url(httpSocket)}
	// Nothing listens for peers. The advertised URL stays in the data: etcd's default lets a stock etcd
	// continue with it.
	config.ListenPeerUrls = nil
	config.InitialCluster = config.InitialClusterFromName(memberName)

	config.QuotaBackendBytes = quota
	config.WarningApplyDuration = slowRequest
	config.WarningUnaryRequestDuration = slowRequest

	// Who reaches the socket may do everything; etcd's own users and tokens have no part in it.
	config.AuthToken = ""

	config.ServiceRegister = onServe
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	return config
}

// newLogger logs to stderr, a line each. What makes etcd panic, damaged data for instance, ends the process with that
// line as well: a dump of all goroutines would only bury it.
func newLogger(level zap.AtomicLevel, json bool) (*zap.Logger, error) {
	config := logutil.DefaultZapLoggerConfig
	config.Level = level
	config.DisableStacktrace = true
	if !json {
		config.Encoding = logutil.ConsoleLogFormat
	}
	return config.Build(zap.WithPanicHook(zapcore.WriteThenFatal))
}
