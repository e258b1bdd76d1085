// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

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

// The warnings of rule C9. They are also sent if the update is rejected, because its errors may be about fields that
// were kept and that the client did not send.
const (
	gatesKept = "spec.customFeatureGates: kept, since the update leaves it out: " +
		"to remove it, update with customFeatureGates: {}"
	unionsKept = "spec.versions: x-kubernetes-unions kept, since the update leaves out all of them and " +
		"no other part of a schema changes: to remove them, use a patch"
)

// WithUpdate returns the context for an update in the storage, and a function to call when the update has ended. If the
// request is a full update (PUT) of the main resource, keepLeftOut has an effect with this context, and the kept fields
// are restored before field management, so that their ownership does not change. The function sends the warnings.
func WithUpdate(ctx context.Context) (updateContext context.Context, done func()) {
	info, found := request.RequestInfoFrom(ctx)
	if !found || info.Verb != "update" || info.Subresource != "" {
		return ctx, func() {}
	}
	update := &fullUpdate{}
	done = func() {
		for _, text := range update.warnings() {
			warning.AddWarning(ctx, "", text)
		}
	}
	return fieldmanager.WithParticipant(context.WithValue(ctx, fullUpdateKey{}, update), update), done
}

// keepLeftOut restores in newCRD the fields of oldCRD that a full update leaves out (rule C9). Usually they have been
// restored before field management, but field management may be skipped, and a mutating webhook may remove them again.
func keepLeftOut(ctx context.Context, newCRD, oldCRD *apiextensions.CustomResourceDefinition) {
	if update, found := ctx.Value(fullUpdateKey{}).(*fullUpdate); found {
		update.keepLeftOut(newCRD, oldCRD)
	}
}

type fullUpdateKey struct{}

// fullUpdate is a full update. It may be carried out several times, because the storage first tries an object of the
// watch cache, and retries on conflicts. The last attempt counts.
type fullUpdate struct {
	// removesGates is true if the request has customFeatureGates: {}.
	removesGates bool
	// resourceVersion is that of the persisted object of the last attempt.
	resourceVersion string
	// keptGates and keptUnions say what the last attempt restored.
	keptGates, keptUnions bool
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

// BeforeApply implements fieldmanager.Participant. It is not called, because server-side apply is not a full update.
func (*fullUpdate) BeforeApply(_, configuration runtime.Object, _ string) runtime.Object {
	return configuration
}

// keepLeftOut restores the fields that newCRD lacks. It is idempotent, and removes customFeatureGates: {} after it has
// noted it.
func (u *fullUpdate) keepLeftOut(newCRD, oldCRD *apiextensions.CustomResourceDefinition) {
	if oldCRD.ResourceVersion != u.resourceVersion { // another attempt
		u.resourceVersion, u.keptGates, u.keptUnions = oldCRD.ResourceVersion, false, false
	}
	if isEmpty(newCRD.Spec.CustomFeatureGates) {
		u.removesGates = true
		newCRD.Spec.CustomFeatureGates = nil
	}
	if gates := oldCRD.Spec.CustomFeatureGates; gates != nil && newCRD.Spec.CustomFeatureGates == nil && !u.removesGates {
		newCRD.Spec.CustomFeatureGates = gates.DeepCopy()
		u.keptGates = true
	}
	if keepUnions(newCRD, oldCRD) {
		u.keptUnions = true
	}
}

func (u *fullUpdate) warnings() []string {
	var warnings []string
	if u.keptGates {
		warnings = append(warnings, gatesKept)
	}
	if u.keptUnions {
		warnings = append(warnings, unionsKept)
	}
	return warnings
}

// isEmpty reports whether gates are given but have no content, as in {}.
func isEmpty(gates *fairlead.CustomResourceDefinitionFeatureGates) bool {
	return gates != nil && gates.Component == nil && len(gates.FeatureGates) == 0
}
