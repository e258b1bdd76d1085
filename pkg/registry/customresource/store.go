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

// Store is upstream's store of custom resources, whose writes follow the plan of the CRD.
type Store struct {
	*genericregistry.Store
	endpoint *Endpoint // nil if writes are as upstream's
}

// Store returns a Store for the writes of the endpoint. With a nil Endpoint they are as upstream's.
func (e *Endpoint) Store(store *genericregistry.Store) Store {
	return Store{Store: store, endpoint: e}
}

// ForScale returns the store for writes of the scale subresource.
func (s Store) ForScale() Store {
	s.endpoint = s.endpoint.ForScale()
	return s
}

// UnionNormalizer implements unions.Normalizer.
func (s Store) UnionNormalizer() func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	return s.endpoint.UnionNormalizer()
}

// Create evaluates the feature gates before upstream's Create.
func (s Store) Create(
	ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	if s.endpoint == nil {
		return s.Store.Create(ctx, obj, createValidation, options)
	}
	ctx, request := s.endpoint.Begin(ctx, options.DryRun)
	request.Create(obj)
	created, err := s.Store.Create(ctx, obj, request.CreateValidation(createValidation), options)
	request.Done(ctx, err)
	return created, err
}

// Update implements rest.Updater. It evaluates the feature gates once the handlers have made the object to persist.
// Server-side apply creates through it.
func (s Store) Update(
	ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	if s.endpoint == nil {
		return s.Store.Update(ctx, name, objInfo, createValidation, updateValidation, forceAllowCreate, options)
	}
	ctx, request := s.endpoint.Begin(ctx, options.DryRun)
	objInfo = rest.WrapUpdatedObjectInfo(objInfo, request.Update)
	updated, created, err := s.Store.Update(
		ctx, name, objInfo, request.CreateValidation(createValidation), request.UpdateValidation(updateValidation),
		forceAllowCreate, options,
	)
	request.Done(ctx, err)
	return updated, created, err
}
