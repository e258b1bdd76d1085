// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embeddedetcd runs etcd inside the API server's process, for one API server with its data in a
// directory. It is a single member that keeps its promises (every write is fsynced) and that nobody else can
// reach: clients talk to it over a unix socket in a directory only its owner may enter, and for peers it does
// not listen at all.
//
// A data directory that must not be opened is refused before etcd touches it: one in use by another process
// (etcd would wait for it for ever) and one written by a newer etcd (etcd would panic).
//
// Several API servers, or an etcd to be operated on its own, take an etcd cluster and --etcd-servers, as ever.
package embeddedetcd
