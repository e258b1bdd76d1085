// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/cache"
)

// Informer is what TrimCRDs needs of an informer of CRDs.
type Informer interface {
	SetTransform(cache.TransformFunc) error
}

// TrimCRDs makes an informer that has not been started keep its CRDs in as little memory as they need: without
// managedFields, as kube-controller-manager keeps what it watches, and without what decoding allocates in advance. What
// controllers write with such a CRD is its status, for which the server takes the owners from the stored object.
// It does nothing where the server has none of fairlead's features.
func TrimCRDs(informer Informer) error {
	if !hasFeatures() {
		return nil
	}
	return informer.SetTransform(trimCRD)
}

// trimCRD is a cache.TransformFunc. An informer may call it again with what it returned.
func trimCRD(obj any) (any, error) {
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return obj, nil // a tombstone
	}
	crd.ManagedFields = nil
	return crd.DeepCopy(), nil // its slices have the length they need
}
