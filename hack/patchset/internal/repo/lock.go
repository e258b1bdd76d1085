// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// Kubernetes is the module whose version decides about all others. It is locked but never patched.
const Kubernetes = "k8s.io/kubernetes"

// Locked is an upstream module at a version, with the h1 sum of its content.
type Locked struct {
	module.Version
	Sum string
}

// Lock lists the upstream modules of a line.
type Lock []Locked

func readLock(file string) (Lock, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read lock: %w", err)
	}
	var lock Lock
	for i, row := range strings.Split(string(data), "\n") {
		fields := strings.Fields(uncomment(row))
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: want <module> <version> <h1 sum>; hack/lock.sh writes sums", file, i+1)
		}
		lock = append(lock, Locked{module.Version{Path: fields[0], Version: fields[1]}, fields[2]})
	}
	return lock, nil
}

// Has reports whether a module is locked.
func (l Lock) Has(path string) bool {
	return slices.ContainsFunc(l, func(m Locked) bool { return m.Path == path })
}

func uncomment(row string) string {
	row, _, _ = strings.Cut(row, "#")
	return strings.TrimSpace(row)
}
