// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localserver runs kube-apiserver and etcd on loopback. It is the one way in which make run, make bench and the
// integration tests start servers. Begin reading at Start.
package localserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// Host is the address of every server and of nothing else.
const Host = "127.0.0.1"

// Options of an API server.
type Options struct {
	// Program is the kube-apiserver.
	Program string
	// Dir is a directory for credentials, the log and the data of an embedded etcd. A later server that uses it again has
	// the same credentials and data.
	Dir string
	// Port is the port of the server, or 0 for a free one.
	Port int
	// CredentialsDir is a directory for credentials if they are not in Dir. Servers with the same one accept the same
	// clients, as the servers of one cluster do.
	CredentialsDir string
	// EtcdURL is where the server stores objects: one URL, or several that are separated by commas. If it is empty the
	// server embeds an etcd, which only ours can do.
	EtcdURL string
	// FeatureGates is the value of the flag, or empty.
	FeatureGates string
	// Flags are further flags, without dashes. They replace those of this package.
	Flags map[string]string
	// Env is added to the environment of this process.
	Env []string
}

// Server is an API server and its only user, an administrator.
type Server struct {
	*Process
	// URL of the server.
	URL string
	// Kubeconfig is a file, which needs no other file.
	Kubeconfig string
	// Port is a part of the URL.
	Port int

	credentials *credentials
}

// Start starts an API server that accepts the connections of its administrator. It does not wait until the server is
// ready; WaitReady does.
func Start(o Options) (*Server, error) {
	if o.CredentialsDir == "" {
		o.CredentialsDir = o.Dir
	}
	if err := errors.Join(os.MkdirAll(o.Dir, 0o700), os.MkdirAll(o.CredentialsDir, 0o700)); err != nil {
		return nil, err
	}
	credentials, err := ensureCredentials(o.CredentialsDir, time.Now())
	if err != nil {
		return nil, err
	}
	if o.Port == 0 {
		if o.Port, err = freePort(); err != nil {
			return nil, err
		}
	}
	s := &Server{
		URL: "https://" + net.JoinHostPort(Host, strconv.Itoa(o.Port)), Kubeconfig: filepath.Join(o.Dir, "kubeconfig"),
		Port: o.Port, credentials: credentials,
	}
	if err := writeKubeconfig(s.Kubeconfig, s.URL, credentials); err != nil {
		return nil, err
	}
	cmd := exec.Command(o.Program, o.args()...)
	cmd.Env = append(os.Environ(), o.Env...)
	s.Process, err = startProcess(cmd, "the API server", filepath.Join(o.Dir, "kube-apiserver.log"))
	return s, err
}

// args returns the command line: the flags of any API server, less what needs the rest of a cluster.
func (o Options) args() []string {
	flags := o.commonFlags()
	if o.EtcdURL != "" {
		flags["etcd-servers"] = o.EtcdURL
	} else {
		flags["embedded-etcd-dir"] = filepath.Join(o.Dir, "etcd")
	}
	if o.FeatureGates != "" {
		flags["feature-gates"] = o.FeatureGates
	}
	maps.Copy(flags, o.Flags)
	var args []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		args = append(args, "--"+name+"="+flags[name])
	}
	return args
}

func (o Options) commonFlags() map[string]string {
	file := func(name string) string { return filepath.Join(o.CredentialsDir, name) }
	return map[string]string{
		"bind-address":         Host,
		"secure-port":          strconv.Itoa(o.Port),
		"tls-cert-file":        file(servingName + ".crt"),
		"tls-private-key-file": file(servingName + ".key"),
		// There are no nodes that would have to find the server: it takes its address from no interface and publishes
		// none. (A Service may not point to loopback.)
		"advertise-address":        Host,
		"endpoint-reconciler-type": "none",
		"service-cluster-ip-range": "10.0.0.0/24",

		"anonymous-auth":                   "false",
		"client-ca-file":                   file(caFile),
		"authorization-mode":               "RBAC",
		"service-account-issuer":           "https://kubernetes.default.svc",
		"service-account-key-file":         file(serviceAccountFile),
		"service-account-signing-key-file": file(serviceAccountFile),
		// No controller creates the service accounts without which this plugin refuses pods.
		"disable-admission-plugins": "ServiceAccount",
	}
}

// TLS returns how the administrator connects.
func (s *Server) TLS() *tls.Config { return s.credentials.tls() }

// WaitReady returns once the server is ready and has its default namespace, which it creates in the background.
func (s *Server) WaitReady(ctx context.Context) error {
	transport := &http.Transport{TLSClientConfig: s.TLS()}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	return s.waitUntil(ctx, func() bool {
		return isOK(ctx, client, s.URL+"/readyz") && isOK(ctx, client, s.URL+"/api/v1/namespaces/default")
	})
}

func isOK(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
	return response.StatusCode == http.StatusOK
}

// Ports of servers are below those that Linux gives to clients, and each is given once: nobody else takes one before
// its server listens there.
const (
	firstPort = 20_000
	ports     = 12_000
)

var nextPort atomic.Int64

func init() { nextPort.Store(time.Now().UnixNano() % ports) }

// freePort returns a port at which nobody listens.
func freePort() (int, error) {
	for range ports {
		port := firstPort + int(nextPort.Add(1)%ports)
		if listener, err := net.Listen("tcp", net.JoinHostPort(Host, strconv.Itoa(port))); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("no port from %d to %d is free", firstPort, firstPort+ports-1)
}
