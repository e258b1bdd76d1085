// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/membershippb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

func start(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func connect(t *testing.T, s *Server) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func put(t *testing.T, s *Server, key, value string) {
	t.Helper()
	if _, err := connect(t, s).Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, s *Server, key, value string) {
	t.Helper()
	response, err := connect(t, s).Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Kvs) != 1 || string(response.Kvs[0].Value) != value {
		t.Errorf("%s: got %v, want %s", key, response.Kvs, value)
	}
}

// usedDir returns a data directory that an etcd has written to.
func usedDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s := start(t, dir)
	put(t, s, "key", "value")
	s.Stop()
	return dir
}

func TestDataSurvivesARestart(t *testing.T) {
	s := start(t, usedDir(t))
	expect(t, s, "key", "value")
}

func TestOnlyTheOwnerHasAccess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := start(t, dir)
	for _, path := range []string{dir, s.sockets.path} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("%s has mode %o, want 700", path, got)
		}
	}
	if len(s.etcd.Peers) != 0 {
		t.Errorf("listens for peers: %v", s.etcd.Peers)
	}
	for _, l := range s.etcd.Clients {
		if l.Addr().Network() != "unix" {
			t.Errorf("listens on %s %s", l.Addr().Network(), l.Addr())
		}
	}
	if s.etcd.Config().UnsafeNoFsync {
		t.Error("fsync is off")
	}
}

func TestAnExistingSocketDirectoryIsClosedToOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sockets"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir)
	info, err := os.Stat(s.sockets.path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("mode %o, want 700", got)
	}
}

func TestPathsThatCannotBeUsedForSockets(t *testing.T) {
	for name, dir := range map[string]string{
		"too long":  strings.Repeat("long", 30),
		"comma":     "a,b",
		"space":     "a b",
		"percent":   "a%41",
		"not ASCII": "données",
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, filepath.Join(t.TempDir(), dir))
			put(t, s, "key", "value")
			expect(t, s, "key", "value")
			s.Stop()
			if _, err := os.Stat(s.sockets.path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory for sockets is not removed: %s", s.sockets.path)
			}
		})
	}
}

func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	s := start(t, "data")
	t.Chdir("/")
	put(t, s, "key", "value")
}

func TestStopDoesNotWaitForWatches(t *testing.T) {
	s := start(t, t.TempDir())
	client := connect(t, s)
	watch := client.Watch(t.Context(), "key", clientv3.WithCreatedNotify())
	<-watch // created
	began := time.Now()
	s.Stop()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestDoneIsClosedIfEtcdStopsOnItsOwn(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	s.etcd.Server.Stop()
	select {
	case <-s.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done is not closed")
	}
	if !errors.Is(s.Err(), ErrStopped) {
		t.Errorf("got %v, want %v", s.Err(), ErrStopped)
	}
	s.Stop()
	start(t, dir)
}

func TestStopDoesNotCloseDone(t *testing.T) {
	s := start(t, t.TempDir())
	s.Stop()
	s.Stop()
	select {
	case <-s.Done():
		t.Errorf("done: %v", s.Err())
	default:
	}
}

func TestACancelledStartReleasesTheDirectory(t *testing.T) {
	dir := usedDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	startWhenFree(t, dir)
}

func TestStartTimeout(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{Dir: dir, StartTimeout: time.Nanosecond})
	if err == nil || !strings.Contains(err.Error(), "not ready after 1ns") {
		t.Errorf("got %v", err)
	}
	startWhenFree(t, dir)
}

// startWhenFree starts etcd after a start that failed, which may use the directory for a moment longer.
func startWhenFree(t *testing.T, dir string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		s, err := Start(t.Context(), Options{Dir: dir})
		if err == nil {
			s.Stop()
			return
		}
		if !errors.Is(err, ErrInUse) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestSecondStartIsRejected(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	if _, err := Start(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v, want %v", err, ErrInUse)
	}
	put(t, s, "first", "still serves")
}

func TestRejectedDirectoriesAreNotModified(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    error
		text    string
	}{
		"database locked by another process": {
			prepare: func(t *testing.T, dir string) { openDB(t, dir) },
			want:    ErrInUse, text: "in use by another process",
		},
		"storage of a newer etcd": {
			prepare: func(t *testing.T, dir string) {
				set(t, dir, schema.Meta.Name(), schema.MetaStorageVersionName, "3.8.0")
			},
			want: ErrNewer, text: "written by a newer version: by etcd 3.8, and the embedded one is 3.7",
		},
		"cluster of a newer etcd": {
			prepare: func(t *testing.T, dir string) {
				set(t, dir, schema.Cluster.Name(), schema.ClusterClusterVersionKeyName, "4.0.0")
			},
			want: ErrNewer, text: "written by a newer version: by etcd 4.0, and the embedded one is 3.7",
		},
		"log of a newer etcd that is not in the database yet": {
			prepare: func(t *testing.T, dir string) { logVersion(t, dir, "3.8.0") },
			want:    ErrNewer, text: "written by a newer version: by etcd 3.8, and the embedded one is 3.7",
		},
		"objects of a newer Kubernetes": {
			prepare: func(t *testing.T, dir string) { write(t, filepath.Join(dir, kubernetesFile), "1.37\n") },
			want:    ErrNewer, text: "written by a newer version: by Kubernetes 1.37, and this is 1.33: run that version",
		},
		"an unreadable version of Kubernetes": {
			prepare: func(t *testing.T, dir string) { write(t, filepath.Join(dir, kubernetesFile), "x") },
			text:    "the file kubernetes-version is damaged",
		},
		"not a database": {
			prepare: func(t *testing.T, dir string) { write(t, dbPath(dir), strings.Repeat("x", 1<<16)) },
			text:    "invalid database",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := usedDir(t)
			test.prepare(t, dir)
			before := contents(t, dir)
			_, err := Start(t.Context(), Options{Dir: dir, KubernetesVersion: "1.33"})
			if err == nil {
				t.Fatal("started")
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if text := err.Error(); !strings.Contains(text, test.text) || !strings.Contains(text, dir) || strings.Contains(text, "\n") {
				t.Errorf("got %q, want a line with %q and %q", text, test.text, dir)
			}
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Errorf("files were modified (-before +after):\n%s", diff)
			}
		})
	}
}

// TestTheNewestKubernetesIsRecorded: a server may start again that emulates an older version than before.
func TestTheNewestKubernetesIsRecorded(t *testing.T) {
	dir := usedDir(t)
	for _, tc := range []struct{ version, want string }{
		{"", ""}, {"1.9", "1.9"}, {"1.33", "1.33"}, {"", "1.33"}, {"1.37", "1.37"}, {"1.37", "1.37"}, {"1.36", "1.37"},
	} {
		s, err := Start(t.Context(), Options{Dir: dir, KubernetesVersion: "1.37", EmulatedVersion: tc.version})
		if err != nil {
			t.Fatalf("%q: %v", tc.version, err)
		}
		s.Stop()
		recorded, err := readKubernetes(dir)
		if got := fmt.Sprint(recorded); err != nil || got != tc.want && (recorded != nil || tc.want != "") {
			t.Errorf("after %q: recorded %q, %v, want %q", tc.version, got, err, tc.want)
		}
	}
}

func TestPathsThatCannotBeADataDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	if err := os.Mkdir(filepath.Join(dir, "readonly"), 0o500); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"file":          "not a directory",
		"file/data":     "not a directory",
		"missing/data":  "the parent directory does not exist",
		"readonly":      "permission denied",
		"readonly/data": "permission denied",
		"bad\x00/data":  "invalid argument",
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "readonly") && os.Getuid() == 0 {
				t.Skip("root can write to any directory")
			}
			path := name
			if !filepath.IsAbs(name) {
				path = filepath.Join(dir, name)
			}
			_, err := Start(t.Context(), Options{Dir: path})
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func dbPath(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// openDB opens and locks the database, as etcd does.
func openDB(t *testing.T, dir string) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(dbPath(dir), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func set(t *testing.T, dir string, bucket, key []byte, value string) {
	t.Helper()
	db := openDB(t, dir)
	err := db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put(key, []byte(value)) })
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// logVersion appends a cluster version to the log, like an etcd of that version does when it starts. It does not change
// the database.
func logVersion(t *testing.T, dir, version string) {
	t.Helper()
	log, err := wal.Open(zap.NewNop(), filepath.Join(dir, "member", "wal"), &walpb.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	_, state, entries, err := log.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	request, err := proto.Marshal(&etcdserverpb.InternalRaftRequest{
		ClusterVersionSet: &membershippb.ClusterVersionSetRequest{Ver: version},
	})
	if err != nil {
		t.Fatal(err)
	}
	index := entries[len(entries)-1].GetIndex() + 1
	state.Commit = &index
	if err := log.Save(state, []*raftpb.Entry{{Index: &index, Term: state.Term, Data: request}}); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// contents returns the mode and the checksum of every file below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files[path] = info.Mode().String()
		if !info.Mode().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		files[path] += fmt.Sprintf(" %x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
