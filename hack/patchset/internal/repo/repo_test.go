// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import "testing"

func TestModuleOf(t *testing.T) {
	for name, want := range map[string][2]string{
		"k8s.io/apiserver/a.patch":                                {"k8s.io/apiserver", ""},
		"k8s.io/apiserver/v1.33/a.patch":                          {"k8s.io/apiserver", "v1.33"},
		"sigs.k8s.io/structured-merge-diff/v6/a.patch":            {"sigs.k8s.io/structured-merge-diff/v6", ""},
		"sigs.k8s.io/structured-merge-diff/v6/v1.37/typed.patch":  {"sigs.k8s.io/structured-merge-diff/v6", "v1.37"},
		"sigs.k8s.io/structured-merge-diff/v4/v1.33/fields.patch": {"sigs.k8s.io/structured-merge-diff/v4", "v1.33"},
	} {
		if got := [2]string{ModuleOf(name), LineOf(name)}; got != want {
			t.Errorf("%s: module and line are %q, want %q", name, got, want)
		}
	}
}

func TestInsertRow(t *testing.T) {
	for name, c := range map[string]struct{ text, before, want string }{
		"into an empty series":         {"", "", "new\n"},
		"at the end":                   {"# c\na\n", "", "# c\na\nnew\n"},
		"before a row with a comment":  {"a\nb # why\n", "b", "a\nnew\nb # why\n"},
		"at the end if there is none":  {"a\n", "zz", "a\nnew\n"},
		"comments are not patch names": {"# b\nb\n", "b", "# b\nnew\nb\n"},
	} {
		if got := InsertRow(c.text, "new", c.before); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
