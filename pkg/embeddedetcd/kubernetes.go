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

// recordKubernetes names a minor version of Kubernetes as the newest one that has written the data, unless the same or a
// newer one has. Nothing is recorded if the version is "".
func recordKubernetes(dir, minor string) error {
	newest, err := readKubernetes(dir)
	if err != nil || minor == "" {
		return err
	}
	own, err := version.ParseGeneric(minor)
	if err != nil || newest != nil && newest.AtLeast(own) {
		return err
	}
	return writeFile(filepath.Join(dir, kubernetesFile), minor+"\n")
}

// writeFile replaces a file, so that after a crash it has the old or the new content.
func writeFile(name, content string) error {
	file, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
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
		return nil, fmt.Errorf("the file %s is damaged (%w): remove it, if no newer Kubernetes has written here", kubernetesFile, err)
	}
	return recorded, nil
}
