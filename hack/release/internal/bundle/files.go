// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Write writes a file of the release. A file that is there is complete: it gets its name at the end.
func (b *Bundle) Write(name string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(b.Dir(), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := errors.Join(write(file), file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.Rename(file.Name(), filepath.Join(b.Dir(), name))
}

// Clear removes the files of an earlier release. The directories of the binaries stay.
func (b *Bundle) Clear() error {
	entries, err := os.ReadDir(b.Dir())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		if err := os.Remove(filepath.Join(b.Dir(), entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Entry is a file in an archive.
type Entry struct {
	// Name is its path in the archive.
	Name string
	// Path is the file with its content.
	Path string
	Mode int64
}

// Tar writes an archive of the entries and of the directories above them. Its bytes depend on the names, modes and
// contents alone: the entries are sorted, belong to root, and have the same time.
func Tar(w io.Writer, modified time.Time, entries ...Entry) error {
	archive := tar.NewWriter(w)
	for _, header := range headers(entries) {
		header.ModTime, header.Format = modified, tar.FormatUSTAR
		if err := writeEntry(archive, header, entries); err != nil {
			return err
		}
	}
	return archive.Close()
}

// headers returns a header for each entry and for each directory above one, sorted by name.
func headers(entries []Entry) []*tar.Header {
	byName := map[string]*tar.Header{}
	for _, entry := range entries {
		byName[entry.Name] = &tar.Header{Typeflag: tar.TypeReg, Name: entry.Name, Mode: entry.Mode}
		for dir := path.Dir(entry.Name); dir != "."; dir = path.Dir(dir) {
			byName[dir+"/"] = &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}
		}
	}
	sorted := make([]*tar.Header, 0, len(byName))
	for _, header := range byName {
		sorted = append(sorted, header)
	}
	slices.SortFunc(sorted, func(x, y *tar.Header) int { return cmp.Compare(x.Name, y.Name) })
	return sorted
}

func writeEntry(archive *tar.Writer, header *tar.Header, entries []Entry) error {
	i := slices.IndexFunc(entries, func(entry Entry) bool { return entry.Name == header.Name })
	if i < 0 {
		return archive.WriteHeader(header)
	}
	file, err := os.Open(entries[i].Path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// Checksums is the name of the file of checksums.
const Checksums = "SHA256SUMS"

// WriteChecksums writes the checksums of files of the release as sha256sum --check reads them.
func (b *Bundle) WriteChecksums(names []string) error {
	names = slices.Sorted(slices.Values(names))
	return b.Write(Checksums, func(w io.Writer) error {
		for _, name := range names {
			sum, err := SHA256(filepath.Join(b.Dir(), name))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s  %s\n", sum, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// SHA256 returns the hash of a file in hexadecimal.
func SHA256(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
