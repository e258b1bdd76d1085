// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package customresourcedefinition is what the patch of the registry of CustomResourceDefinitions calls: it keeps
// customFeatureGates and unions where a full update leaves them out (rule C9).
//
// A typed client that does not know these fields reads a CustomResourceDefinition without them and sends it back.
// That is no wish to remove them, and would open every guarded field. A patch or an apply only speaks of what it names.
package customresourcedefinition

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	fairlead "github.com/fairlead-dev/fairlead/pkg/apis/apiextensions"
	"github.com/fairlead-dev/fairlead/pkg/endpoints/fieldmanager"
)

// The warnings of rule C9. They are also sent with a refusal: its errors may be about what the client did not send.
const (
	gatesKept = "spec.customFeatureGates: kept, since the update leaves it out: " +
		"to remove it, update with customFeatureGates: {}"
	unionsKept = "spec.versions: x-kubernetes-unions kept, since the update leaves out all of them and " +
		"no other part of a schema changes: to remove them, use a patch"
)

// WithUpdate returns the context for the storage to carry out an update with. In that of a full update of the main
// resource (PUT), KeepLeftOut has an effect, and field management takes place after it: so nobody loses or gains a
// field that is kept.
func WithUpdate(ctx context.Context) context.Context {
	info, found := request.RequestInfoFrom(ctx)
	if !found || info.Verb != "update" || info.Subresource != "" {
		return ctx
	}
	update := &fullUpdate{warn: func(text string) { warning.AddWarning(ctx, "", text) }}
	return fieldmanager.WithParticipant(context.WithValue(ctx, fullUpdateKey{}, update), update)
}

// KeepLeftOut restores in newCRD what a full update leaves out of oldCRD (rule C9). Field management has done so
// already, unless it was skipped; and a mutating webhook may have left out the same.
func KeepLeftOut(ctx context.Context, newCRD, oldCRD *apiextensions.CustomResourceDefinition) {
	if update, found := ctx.Value(fullUpdateKey{}).(*fullUpdate); found {
		update.keepLeftOut(newCRD, oldCRD)
	}
}

type fullUpdateKey struct{}

// fullUpdate is one request, of which there may be several attempts.
type fullUpdate struct {
	warn func(text string)
	// removesGates says that the request has customFeatureGates: {}.
	removesGates bool
}

// BeforeUpdate implements fieldmanager.Participant.
func (u *fullUpdate) BeforeUpdate(live, newObj runtime.Object) {
	newCRD, isNew := newObj.(*apiextensions.CustomResourceDefinition)
	oldCRD, isOld := live.(*apiextensions.CustomResourceDefinition)
	if isNew && isOld {
		u.keepLeftOut(newCRD, oldCRD)
	}
}

// AfterUpdate implements fieldmanager.Participant.
func (*fullUpdate) AfterUpdate(runtime.Object, error) {}

// BeforeApply implements fieldmanager.Participant. An apply is no full update.
func (*fullUpdate) BeforeApply(_, configuration runtime.Object, _ string) runtime.Object {
	return configuration
}

// keepLeftOut changes nothing when it is called again with what it made.
func (u *fullUpdate) keepLeftOut(newCRD, oldCRD *apiextensions.CustomResourceDefinition) {
	if isEmpty(newCRD.Spec.CustomFeatureGates) {
		u.removesGates = true
		newCRD.Spec.CustomFeatureGates = nil
	}
	if gates := oldCRD.Spec.CustomFeatureGates; gates != nil && newCRD.Spec.CustomFeatureGates == nil && !u.removesGates {
		newCRD.Spec.CustomFeatureGates = gates.DeepCopy()
		u.warn(gatesKept)
	}
	if keepUnions(newCRD, oldCRD) {
		u.warn(unionsKept)
	}
}

// isEmpty reports whether gates are given as {}, or as good as that.
func isEmpty(gates *fairlead.CustomResourceDefinitionFeatureGates) bool {
	return gates != nil && gates.Component == nil && len(gates.FeatureGates) == 0
}
