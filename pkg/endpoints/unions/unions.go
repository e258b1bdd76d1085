// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unions defines how the patched request handlers of k8s.io/apiserver normalize the unions of a resource. Start
// with Normalizer. The normalization itself is in pkg/registry/customresource/union.
package unions

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// Normalizer is an optional interface of a storage whose objects may have unions, like the optional interfaces of
// package rest. The storage of any resource can implement it (rules U4, U12).
type Normalizer interface {
	// UnionNormalizer returns a function that clears the members that a changed discriminator does not select, or nil
	// if the resource has no unions. The handlers call the function on update and on every kind of patch, after
	// mutating admission. If the storage retries the request, they call it again.
	//
	// obj is the object that the request would persist, and old is the persisted object, which must not be modified. If
	// the request creates the object, old has no UID.
	UnionNormalizer() func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error)
}

// NormalizerOf returns the UnionNormalizer of a storage, or nil if there is none.
func NormalizerOf(storage any) func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	if n, ok := storage.(Normalizer); ok {
		return n.UnionNormalizer()
	}
	return nil
}
