// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package replaces

import "testing"

func TestLibraryVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.37.1": "v0.37.1", "v1.33.12": "v0.33.12", "v1.38.0-rc.1": "v0.38.0-rc.1",
		"v0.37.1": "", "v1.37": "", "v2.0.0": "",
	} {
		got, err := libraryVersion(version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", version, got, err, want)
		}
	}
}
