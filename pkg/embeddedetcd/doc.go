// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embeddedetcd runs a single-member etcd in the process of the API server, with its data in a directory. Start
// with Start and Server.
//
// etcd syncs every write to disk as usual. Other users and machines cannot reach it: clients connect to a unix socket
// in a directory that only its owner may enter, and etcd does not listen for peers.
//
// Start rejects two kinds of data directories before etcd opens them: one that another process uses, for which etcd
// would wait forever, and one that a newer etcd or Kubernetes wrote, with which etcd would panic, or the API server would
// not find its objects.
//
// Several API servers, or an etcd that is operated separately, need an etcd cluster and --etcd-servers.
package embeddedetcd
