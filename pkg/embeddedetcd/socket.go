// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
)

const (
	grpcSocket = "etcd.sock"
	httpSocket = "http.sock"

	// maxSocketPath is the maximum length of the path of a unix socket on Linux (107 bytes) and the BSDs (103 bytes).
	maxSocketPath = 103
)

// plainPath matches paths that need no escaping in a URL, in a gRPC target and in the comma-separated --etcd-servers.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9/._~+@=-]+$`)

// socketDir is the directory of etcd's sockets, which only its owner may enter. The mode of the directory protects the
// sockets, because some systems ignore the mode of a socket.
type socketDir struct{ path string }

// makeSocketDir creates the directory for the sockets in the data directory. If the path cannot be used for a socket,
// it creates a temporary directory instead.
func makeSocketDir(dataDir string) (*socketDir, error) {
	path := filepath.Join(dataDir, "sockets")
	if !fitsSocket(path) {
		return makeTempSocketDir()
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("make a directory for sockets: %w", err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return nil, fmt.Errorf("close the directory for sockets to others: %w", err)
	}
	return &socketDir{path}, nil
}

func makeTempSocketDir() (*socketDir, error) {
	path, err := os.MkdirTemp("", "fairlead-etcd-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for sockets: %w", err)
	}
	if !fitsSocket(path) {
		_ = os.Remove(path)
		return nil, fmt.Errorf("make a directory for sockets: neither the data directory nor the directory of temporary "+
			"files (TMPDIR, %s) has a path short and plain enough for a unix socket", os.TempDir())
	}
	return &socketDir{path}, nil
}

// fitsSocket reports whether a directory's path is short and plain enough for sockets in it.
func fitsSocket(dir string) bool {
	return len(filepath.Join(dir, grpcSocket)) <= maxSocketPath && plainPath.MatchString(dir)
}

func (d *socketDir) url(socket string) url.URL {
	return url.URL{Scheme: "unix", Path: filepath.Join(d.path, socket)}
}

// endpoint returns the URL for clients.
func (d *socketDir) endpoint() string {
	u := d.url(grpcSocket)
	return u.String()
}

// remove deletes the directory. If it fails, or is not called because of a crash, the next start uses the directory
// again.
func (d *socketDir) remove() { _ = os.RemoveAll(d.path) }
