// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/coreos/go-semver/semver"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// ErrNewer is returned if the data was written by a newer etcd than the embedded one, or by a newer Kubernetes.
var ErrNewer = errors.New("written by a newer version")

// lockWait is how long to wait for a lock of an etcd that may be shutting down.
const lockWait = 200 * time.Millisecond

// checkData returns an error if etcd must not open the data directory, and does not modify it. Data that it cannot
// parse is left for etcd to report.
func checkData(dir string) error {
	newest, applied, err := readDatabase(filepath.Join(dir, "member", "snap", "db"))
	if err != nil {
		return err
	}
	logged, err := readLog(filepath.Join(dir, "member", "wal"), applied)
	if err != nil {
		return err
	}
	newest = later(newest, logged)

	own := semver.New(version.Version)
	own = &semver.Version{Major: own.Major, Minor: own.Minor}
	if newest != nil && own.LessThan(*newest) {
		return fmt.Errorf("%w: by etcd %d.%d, and the embedded one is %d.%d",
			ErrNewer, newest.Major, newest.Minor, own.Major, own.Minor)
	}
	return nil
}

// readDatabase returns the highest version in etcd's database, or nil if there is none, and the index of the last log
// entry that the database contains. It returns ErrInUse if the database is locked.
func readDatabase(path string) (*semver.Version, uint64, error) {
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, 0, ErrInUse
	case err != nil:
		return nil, 0, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = db.Close() }()

	var newest *semver.Version
	var applied uint64
	err = db.View(func(tx *bbolt.Tx) error {
		newest, applied = readBuckets(tx)
		return nil
	})
	return newest, applied, err
}

// readBuckets returns the highest version and the index of the last log entry in a transaction, like readDatabase.
func readBuckets(tx *bbolt.Tx) (newest *semver.Version, applied uint64) {
	if meta := tx.Bucket(schema.Meta.Name()); meta != nil {
		newest = later(newest, parseVersion(meta.Get(schema.MetaStorageVersionName)))
		if index := meta.Get(schema.MetaConsistentIndexKeyName); len(index) == 8 {
			applied = binary.BigEndian.Uint64(index)
		}
	}
	if cluster := tx.Bucket(schema.Cluster.Name()); cluster != nil {
		newest = later(newest, parseVersion(cluster.Get(schema.ClusterClusterVersionKeyName)))
	}
	return newest, applied
}

// readLog returns the highest version to which a log entry after the applied index sets the cluster, or nil if there is
// none. After a crash, the log may have entries that are not in the database.
func readLog(dir string, applied uint64) (*semver.Version, error) {
	if !wal.Exist(dir) {
		return nil, nil
	}
	entries, err := readEntries(dir)
	if err != nil {
		return nil, fmt.Errorf("read the log in %s: %w", dir, err)
	}
	var newest *semver.Version
	for _, entry := range entries {
		if entry.GetIndex() <= applied || entry.GetType() != raftpb.EntryNormal {
			continue
		}
		var request etcdserverpb.InternalRaftRequest
		if proto.Unmarshal(entry.Data, &request) != nil {
			continue
		}
		newest = later(newest, parseVersion([]byte(request.GetClusterVersionSet().GetVer())))
	}
	return newest, nil
}

// readEntries returns the log entries after the last snapshot, which are those that etcd reads.
func readEntries(dir string) ([]*raftpb.Entry, error) {
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), dir)
	if err != nil {
		return nil, err
	}
	last := &walpb.Snapshot{}
	if len(snapshots) > 0 {
		last = snapshots[len(snapshots)-1]
	}
	log, err := wal.OpenForRead(zap.NewNop(), dir, last)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	_, _, entries, err := log.ReadAll()
	return entries, err
}

// parseVersion returns the version in a text, or nil if there is none.
func parseVersion(text []byte) *semver.Version {
	v, err := semver.NewVersion(string(text))
	if err != nil {
		return nil
	}
	return v
}

// later returns the higher version. nil is lower than any version.
func later(a, b *semver.Version) *semver.Version {
	if a == nil || b != nil && a.LessThan(*b) {
		return b
	}
	return a
}
