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

	// quota is the maximum that etcd's documentation suggests. etcd rejects writes if its database is larger.
	quota = 8 << 30

	// slowRequest is the duration after which etcd logs a warning about a request. With etcd's defaults, 100ms and
	// 300ms, it would warn about every write to a slow disk. The API server traces slow requests anyway.
	slowRequest = time.Second
)

// newConfig returns the configuration of etcd, with etcd's defaults for everything that is not set here. Automatic
// compaction is disabled by default, and the API server requests compactions. onServe is called with the gRPC server
// when etcd starts to serve.
func newConfig(dir string, sockets *socketDir, logger *zap.Logger, onServe func(*grpc.Server)) *embed.Config {
	config := embed.NewConfig()
	config.Dir = dir
	config.Name = memberName

	config.ListenClientUrls = []url.URL{sockets.url(grpcSocket)}
	config.AdvertiseClientUrls = config.ListenClientUrls
	// As etcd recommends, gRPC has a separate socket. The other one serves /health and /metrics.
	config.ListenClientHttpUrls = []url.URL{sockets.url(httpSocket)}
	// etcd does not listen for peers. The advertised peer URL is stored in the data directory. It is etcd's default, so
	// that a stock etcd can run with the same data.
	config.ListenPeerUrls = nil
	config.InitialCluster = config.InitialClusterFromName(memberName)

	config.QuotaBackendBytes = quota
	config.WarningApplyDuration = slowRequest
	config.WarningUnaryRequestDuration = slowRequest

	// Every client that can connect to the socket may do everything. etcd's own users and tokens are not used.
	config.AuthToken = ""

	config.ServiceRegister = onServe
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	return config
}

// newLogger returns a logger that writes a line per message to stderr. If etcd logs a panic, for instance because its
// data is damaged, the process exits after that line instead, because the stacks of all goroutines would hide it.
func newLogger(level zap.AtomicLevel, json bool) (*zap.Logger, error) {
	config := logutil.DefaultZapLoggerConfig
	config.Level = level
	config.DisableStacktrace = true
	if !json {
		config.Encoding = logutil.ConsoleLogFormat
	}
	return config.Build(zap.WithPanicHook(zapcore.WriteThenFatal))
}
