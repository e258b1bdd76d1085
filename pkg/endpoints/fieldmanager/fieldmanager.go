// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldmanager calls the field manager for the request handlers, and lets the storage of the resource take
// part.
//
// Field management runs before mutating admission and before the storage sees the object. A storage that keeps
// fields as they are persisted, whatever the request says, must therefore know what the request applied and which
// managedFields it started from, and must be able to keep such fields out of conflicts (rules G4, G7).
package fieldmanager

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// FieldManager is what the handlers call of upstream's managedfields.FieldManager.
type FieldManager interface {
	// Apply merges an applied configuration into the live object, as server-side apply does.
	Apply(live, configuration runtime.Object, manager string, force bool) (runtime.Object, error)
	// Update returns newObj with the managedFields that follow from the change from live to newObj.
	Update(live, newObj runtime.Object, manager string) (runtime.Object, error)
	// UpdateNoErrors does so, or returns newObj with the managedFields of live if there is an error.
	UpdateNoErrors(live, newObj runtime.Object, manager string) runtime.Object
}

// Participant takes part in the field management of one request. Its methods are called once per attempt: where the
// storage retries a write, they are called again.
type Participant interface {
	// BeforeApply returns the configuration to apply in place of the one that the manager sent. It modifies neither
	// argument.
	BeforeApply(live, configuration runtime.Object, manager string) runtime.Object
	// BeforeUpdate is called with the persisted object and with the one that the request would persist, with the
	// managedFields that the client sent. It may modify the latter.
	BeforeUpdate(live, newObj runtime.Object)
	// AfterUpdate is called with the outcome of field management for an update. After an error the object has the
	// managedFields of the persisted one.
	AfterUpdate(newObj runtime.Object, err error)
}

// ConflictResolver is a Participant that can also settle a configuration once it is in conflict.
type ConflictResolver interface {
	// AfterConflict returns the configuration to try again with where the one that the manager sent is in conflict, or nil
	// if the conflict stands. forced returns the object that field management would make if there were no conflict.
	AfterConflict(live, configuration runtime.Object, forced func() (runtime.Object, error)) runtime.Object
}

// ErrorResolver is a Participant that can also settle an object for which field management of an update failed.
type ErrorResolver interface {
	// AfterUpdateError returns the object to try again with in place of newObj, or nil if the error stands. Only the
	// managedFields of the outcome are used. It modifies neither argument.
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
func Apply(ctx context.Context, m FieldManager, live, configuration runtime.Object, manager string, force bool) (runtime.Object, error) {
	p := participantOf(ctx)
	if p == nil {
		return m.Apply(live, configuration, manager, force)
	}
	settled := p.BeforeApply(live, configuration, manager)
	obj, err := m.Apply(live, settled, manager, force)
	resolver, ok := p.(ConflictResolver)
	if !ok || force || !apierrors.IsConflict(err) {
		return obj, err
	}
	forced := func() (runtime.Object, error) { return m.Apply(live, settled, manager, true) }
	if again := resolver.AfterConflict(live, configuration, forced); again != nil {
		return m.Apply(live, again, manager, force)
	}
	return obj, err
}

// UpdateNoErrors calls the field manager for an update, or for a patch that is no apply.
func UpdateNoErrors(ctx context.Context, m FieldManager, live, newObj runtime.Object, manager string) runtime.Object {
	p := participantOf(ctx)
	if p == nil {
		return m.UpdateNoErrors(live, newObj, manager)
	}
	p.BeforeUpdate(live, newObj)
	updated, err := m.Update(live, newObj, manager)
	if err != nil && resolve(p, m, live, newObj, manager) {
		updated, err = newObj, nil
	}
	if err != nil {
		updated = m.UpdateNoErrors(live, newObj, manager) // fails again, and says so
	}
	p.AfterUpdate(updated, err)
	return updated
}

// resolve gives newObj the managedFields that follow from what the participant makes of it, and reports whether there
// are any.
func resolve(p Participant, m FieldManager, live, newObj runtime.Object, manager string) bool {
	resolver, ok := p.(ErrorResolver)
	if !ok {
		return false
	}
	settled := resolver.AfterUpdateError(live, newObj)
	if settled == nil {
		return false
	}
	settled, err := m.Update(live, settled, manager)
	if err != nil {
		return false
	}
	from, fromErr := meta.Accessor(settled)
	to, toErr := meta.Accessor(newObj)
	if fromErr != nil || toErr != nil {
		return false
	}
	to.SetManagedFields(from.GetManagedFields())
	return true
}
