// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Store does the writes of one endpoint of a CRD as the CRD's plan says, and is upstream's store in all else.
type Store struct {
	*genericregistry.Store
	endpoint *Endpoint
}

// Store returns upstream's store with the writes of the endpoint. The nil Endpoint changes nothing.
func (e *Endpoint) Store(store *genericregistry.Store) Store {
	return Store{Store: store, endpoint: e}
}

// ForScale returns the store as the scale subresource uses it.
func (s Store) ForScale() Store {
	s.endpoint = s.endpoint.ForScale()
	return s
}

// UnionNormalizer implements unions.Normalizer.
func (s Store) UnionNormalizer() func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	return s.endpoint.UnionNormalizer()
}

// Create does what upstream's Create does.
func (s Store) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if s.endpoint == nil {
		return s.Store.Create(ctx, obj, createValidation, options)
	}
	ctx, request := s.endpoint.Begin(ctx, options.DryRun)
	request.Create(obj)
	created, err := s.Store.Create(ctx, obj, request.CreateValidation(createValidation), options)
	request.Done(ctx, err)
	return created, err
}

// Update does what upstream's Update does. Server-side apply creates through it.
func (s Store) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if s.endpoint == nil {
		return s.Store.Update(ctx, name, objInfo, createValidation, updateValidation, forceAllowCreate, options)
	}
	ctx, request := s.endpoint.Begin(ctx, options.DryRun)
	objInfo = rest.WrapUpdatedObjectInfo(objInfo, request.Update)
	updated, created, err := s.Store.Update(ctx, name, objInfo, request.CreateValidation(createValidation), request.UpdateValidation(updateValidation), forceAllowCreate, options)
	request.Done(ctx, err)
	return updated, created, err
}
