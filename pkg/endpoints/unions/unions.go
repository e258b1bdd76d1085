// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unions is how the request handlers of k8s.io/apiserver ask a resource to normalize its unions.
package unions

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// Normalizer is a storage whose objects may hold unions. The handlers look for it as they look for the optional
// interfaces of package rest; any resource can provide it (rules U4, U12).
type Normalizer interface {
	// UnionNormalizer returns what is to be called on update and on every kind of patch, after mutating admission, with
	// the object that the request would persist and the persisted one. It clears the members that a changed
	// discriminator does not select any more, modifies nothing of the persisted object, and is called again where the
	// storage retries. An object that is being created has a persisted one without UID. It is nil where the
	// resource has no unions.
	UnionNormalizer() func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error)
}

// NormalizerOf returns the UnionNormalizer of a storage, nil if there is none.
func NormalizerOf(storage any) func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	if n, ok := storage.(Normalizer); ok {
		return n.UnionNormalizer()
	}
	return nil
}
