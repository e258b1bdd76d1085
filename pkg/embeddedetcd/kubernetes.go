// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// kubernetesFile is the file in the data directory that names the newest minor version of Kubernetes that has written
// there.
const kubernetesFile = "kubernetes-version"

// checkKubernetes returns ErrNewer if a newer Kubernetes than this minor version has written the data: it may have stored
// objects in API versions that an older one cannot read. Nothing is checked if the version is "".
func checkKubernetes(dir, minor string) error {
	newest, err := readKubernetes(dir)
	if err != nil || newest == nil || minor == "" {
		return err
	}
	own, err := version.ParseGeneric(minor)
	if err != nil || !own.LessThan(newest) {
		return err
	}
	return fmt.Errorf("%w: by Kubernetes %s, and this is %s: run that version or a newer one, or use another directory",
		ErrNewer, newest, own)
}

// recordKubernetes names a minor version of Kubernetes as the newest one that has written the data, unless a newer one
// has. Nothing is recorded if the version is "".
func recordKubernetes(dir, minor string) error {
	if minor == "" || checkKubernetes(dir, minor) != nil {
		return nil
	}
	file := filepath.Join(dir, kubernetesFile)
	if err := os.WriteFile(file+".new", []byte(minor+"\n"), 0o600); err != nil {
		return fmt.Errorf("record the version of Kubernetes: %w", err)
	}
	return os.Rename(file+".new", file)
}

// readKubernetes returns the recorded version, or nil if there is none.
func readKubernetes(dir string) (*version.Version, error) {
	text, err := os.ReadFile(filepath.Join(dir, kubernetesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	recorded, err := version.ParseGeneric(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubernetesFile, err)
	}
	return recorded, nil
}
