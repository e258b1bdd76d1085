// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldmanager is what the patched request handlers call instead of upstream's field manager. It lets the
// storage of a resource change the input of field management and observe its result. Start with Participant.
//
// The field manager runs before mutating admission and before the storage gets the object. A storage that keeps some
// fields as they are persisted, regardless of the request, needs the applied configuration and the resulting
// managedFields, and must prevent conflicts on these fields (rules G4, G7). Such a storage puts a Participant into the
// context of the request. Without a Participant the functions of this package only call the field manager.
package fieldmanager

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// FieldManager has the methods of upstream's managedfields.FieldManager that the handlers call.
type FieldManager interface {
	// Apply merges an applied configuration into the live object, as server-side apply does.
	Apply(live, configuration runtime.Object, manager string, force bool) (runtime.Object, error)
	// Update returns newObj with the managedFields that follow from the change from live to newObj.
	Update(live, newObj runtime.Object, manager string) (runtime.Object, error)
	// UpdateNoErrors is like Update, but returns newObj with the managedFields of live if there is an error.
	UpdateNoErrors(live, newObj runtime.Object, manager string) runtime.Object
}

// Participant takes part in the field management of one request. If the storage retries the request, the methods are
// called again for each attempt.
type Participant interface {
	// BeforeApply returns the configuration to apply instead of the one in the request. It must not modify its
	// arguments.
	BeforeApply(live, configuration runtime.Object, manager string) runtime.Object
	// BeforeUpdate is called before field management of an update, with the persisted object and the requested object,
	// whose managedFields are those in the request. It may modify the requested object.
	BeforeUpdate(live, newObj runtime.Object)
	// AfterUpdate is called with the result of field management for an update. If err is not nil, the object has the
	// managedFields of the persisted object.
	AfterUpdate(newObj runtime.Object, err error)
}

// ConflictResolver is a Participant that can also resolve an apply conflict.
type ConflictResolver interface {
	// AfterConflict is called if applying the result of BeforeApply returned a conflict. configuration is the one in
	// the request, and forced returns the result of applying that of BeforeApply with force. AfterConflict returns the
	// configuration to apply next, or nil to return the conflict to the client.
	AfterConflict(live, configuration runtime.Object, forced func() (runtime.Object, error)) runtime.Object
}

// ErrorResolver is a Participant that can also resolve an error of field management for an update.
type ErrorResolver interface {
	// AfterUpdateError returns the object to update instead of newObj, or nil if the error cannot be resolved. Only the
	// managedFields of the result are used, and set in newObj. It must not modify its arguments.
	AfterUpdateError(live, newObj runtime.Object) runtime.Object
}

type participantKey struct{}

// WithParticipant returns a context in which Apply and UpdateNoErrors call the participant.
func WithParticipant(ctx context.Context, p Participant) context.Context {
	return context.WithValue(ctx, participantKey{}, p)
}

// participantOf returns the participant of a request, or nil if there is none.
func participantOf(ctx context.Context) Participant {
	p, _ := ctx.Value(participantKey{}).(Participant)
	return p
}

// Apply calls the field manager for a server-side apply request.
func Apply(
	ctx context.Context, m FieldManager, live, configuration runtime.Object, manager string, force bool,
) (runtime.Object, error) {
	p := participantOf(ctx)
	if p == nil {
		return m.Apply(live, configuration, manager, force)
	}
	modified := p.BeforeApply(live, configuration, manager)
	obj, err := m.Apply(live, modified, manager, force)
	resolver, ok := p.(ConflictResolver)
	if !ok || force || !apierrors.IsConflict(err) {
		return obj, err
	}
	forced := func() (runtime.Object, error) { return m.Apply(live, modified, manager, true) }
	if again := resolver.AfterConflict(live, configuration, forced); again != nil {
		return m.Apply(live, again, manager, force)
	}
	return obj, err
}

// UpdateNoErrors calls the field manager for an update, or for a patch that is not server-side apply.
func UpdateNoErrors(ctx context.Context, m FieldManager, live, newObj runtime.Object, manager string) runtime.Object {
	p := participantOf(ctx)
	if p == nil {
		return m.UpdateNoErrors(live, newObj, manager)
	}
	p.BeforeUpdate(live, newObj)
	updated, err := m.Update(live, newObj, manager)
	if err != nil && resolveError(p, m, live, newObj, manager) {
		updated, err = newObj, nil
	}
	if err != nil {
		updated = m.UpdateNoErrors(live, newObj, manager) // returns the managedFields of live, and logs the error
	}
	p.AfterUpdate(updated, err)
	return updated
}

// resolveError tries to resolve an error of field management. If the participant returns an object that the field
// manager accepts, it sets the managedFields of newObj and returns true.
func resolveError(p Participant, m FieldManager, live, newObj runtime.Object, manager string) bool {
	resolver, ok := p.(ErrorResolver)
	if !ok {
		return false
	}
	other := resolver.AfterUpdateError(live, newObj)
	if other == nil {
		return false
	}
	updated, err := m.Update(live, other, manager)
	if err != nil {
		return false
	}
	from, fromErr := meta.Accessor(updated)
	to, toErr := meta.Accessor(newObj)
	if fromErr != nil || toErr != nil {
		return false
	}
	to.SetManagedFields(from.GetManagedFields())
	return true
}
