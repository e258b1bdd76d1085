// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package line names what differs between the Kubernetes lines, so that fairlead's packages name no version. Each line
// has a module with this package in staging/lines/<line>/line, and the go.mod file of the line selects it.
package line

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// The types of structured-merge-diff, which has another major version in each line.
type (
	// FieldList is that of package value.
	FieldList = value.FieldList
	// Path is that of package fieldpath.
	Path = fieldpath.Path
	// PathElement is that of package fieldpath.
	PathElement = fieldpath.PathElement
	// PathElementSet is that of package fieldpath.
	PathElementSet = fieldpath.PathElementSet
	// Set is that of package fieldpath.
	Set = fieldpath.Set
)

// Functions of structured-merge-diff.
var (
	NewSet            = fieldpath.NewSet
	NewValueInterface = value.NewValueInterface
	ValueEquals       = value.Equals
)

// FieldsReader returns a reader of the JSON text of fields.
func FieldsReader(fields *metav1.FieldsV1) io.Reader { return fields.GetRawReader() }

// FieldsText returns the JSON text of fields.
func FieldsText(fields *metav1.FieldsV1) string { return fields.GetRawString() }

// NewFields returns fields with a JSON text.
func NewFields(text string) *metav1.FieldsV1 { return metav1.NewFieldsV1(text) }
