// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanager

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// log has the calls in a request, in order.
type log []string

func (l *log) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func object(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"name": name}}
}

func nameOf(obj runtime.Object) any {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object["name"]
	}
	return nil
}

// fakeManager returns a conflict for some configurations, and an error for others.
type fakeManager struct {
	log       *log
	conflicts map[any]bool
	fails     map[any]bool
}

func (m fakeManager) Apply(live, configuration runtime.Object, manager string, force bool) (runtime.Object, error) {
	m.log.add("apply %v to %v as %s, force %v", nameOf(configuration), nameOf(live), manager, force)
	switch {
	case m.fails[nameOf(configuration)]:
		return nil, errors.New("refused")
	case m.conflicts[nameOf(configuration)] && !force:
		return nil, apierrors.NewApplyConflict([]metav1.StatusCause{{Field: ".spec"}}, "conflict")
	}
	return object(fmt.Sprintf("applied %v", nameOf(configuration))), nil
}

func (m fakeManager) Update(live, newObj runtime.Object, manager string) (runtime.Object, error) {
	m.log.add("update %v to %v as %s", nameOf(live), nameOf(newObj), manager)
	if m.fails[nameOf(newObj)] {
		return nil, errors.New("refused")
	}
	updated := object("updated")
	updated.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: fmt.Sprintf("of %v", nameOf(newObj))}})
	return updated, nil
}

func (m fakeManager) UpdateNoErrors(live, newObj runtime.Object, manager string) runtime.Object {
	if updated, err := m.Update(live, newObj, manager); err == nil {
		return updated
	}
	return newObj
}

// fakeParticipant applies another configuration than the one in the request.
type fakeParticipant struct{ log *log }

func (p fakeParticipant) BeforeApply(live, configuration runtime.Object, manager string) runtime.Object {
	p.log.add("before apply of %v to %v as %s", nameOf(configuration), nameOf(live), manager)
	return object("modified")
}

func (p fakeParticipant) BeforeUpdate(live, newObj runtime.Object) {
	p.log.add("before update of %v to %v", nameOf(live), nameOf(newObj))
}

func (p fakeParticipant) AfterUpdate(newObj runtime.Object, err error) {
	p.log.add("after update: %v, %v", nameOf(newObj), err)
}

// fakeErrorResolver returns another object after an error, or nil.
type fakeErrorResolver struct {
	fakeParticipant
	again runtime.Object
}

func (r fakeErrorResolver) AfterUpdateError(live, newObj runtime.Object) runtime.Object {
	r.log.add("after the error of %v over %v", nameOf(newObj), nameOf(live))
	return r.again
}

// fakeResolver returns another configuration after a conflict, or nil.
type fakeResolver struct {
	fakeParticipant
	again runtime.Object
}

func (r fakeResolver) AfterConflict(live, configuration runtime.Object, forced func() (runtime.Object, error)) runtime.Object {
	obj, err := forced()
	r.log.add("after conflict of %v with %v: forced %v, %v", nameOf(configuration), nameOf(live), nameOf(obj), err)
	return r.again
}

const beforeApply = "before apply of sent to live as alice"

// applies are the cases of TestG4ApplyCallsTheParticipant.
var applies = []struct {
	name         string
	participant  func(*log) Participant
	conflicts    []any
	fails        []any
	force        bool
	want         log
	wantObject   any
	wantConflict bool
}{
	{
		name:       "R2: without a participant the configuration in the request is applied",
		want:       log{"apply sent to live as alice, force false"},
		wantObject: "applied sent",
	},
	{
		name:        "G4: the participant's configuration is applied",
		participant: func(l *log) Participant { return fakeParticipant{l} },
		want:        log{beforeApply, "apply modified to live as alice, force false"},
		wantObject:  "applied modified",
	},
	{
		name:        "G7.3: a conflict is returned if the participant is not a ConflictResolver",
		participant: func(l *log) Participant { return fakeParticipant{l} },
		conflicts:   []any{"modified"}, wantConflict: true,
		want: log{beforeApply, "apply modified to live as alice, force false"},
	},
	{
		name:        "G7.3: a resolver's configuration is applied without force",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant{l}, object("again")} },
		conflicts:   []any{"modified"},
		want: log{
			beforeApply, "apply modified to live as alice, force false", "apply modified to live as alice, force true",
			"after conflict of sent with live: forced applied modified, <nil>", "apply again to live as alice, force false",
		},
		wantObject: "applied again",
	},
	{
		name:        "G7.3: a conflict of the resolver's configuration is returned",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant{l}, object("again")} },
		conflicts:   []any{"modified", "again"}, wantConflict: true,
		want: log{
			beforeApply, "apply modified to live as alice, force false", "apply modified to live as alice, force true",
			"after conflict of sent with live: forced applied modified, <nil>", "apply again to live as alice, force false",
		},
	},
	{
		name:        "G7.3: a conflict is returned if the resolver returns nil",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant: fakeParticipant{l}} },
		conflicts:   []any{"modified"}, wantConflict: true,
		want: log{
			beforeApply, "apply modified to live as alice, force false", "apply modified to live as alice, force true",
			"after conflict of sent with live: forced applied modified, <nil>",
		},
	},
	{
		name:        "a forced apply does not call the resolver",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant{l}, object("again")} },
		conflicts:   []any{"modified"}, force: true,
		want:       log{beforeApply, "apply modified to live as alice, force true"},
		wantObject: "applied modified",
	},
	{
		name:        "an error other than a conflict does not call the resolver",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant{l}, object("again")} },
		fails:       []any{"modified"},
		want:        log{beforeApply, "apply modified to live as alice, force false"},
	},
}

func TestG4ApplyCallsTheParticipant(t *testing.T) {
	for _, tc := range applies {
		t.Run(tc.name, func(t *testing.T) {
			var got log
			ctx := t.Context()
			if tc.participant != nil {
				ctx = WithParticipant(ctx, tc.participant(&got))
			}
			m := fakeManager{log: &got, conflicts: setOf(tc.conflicts), fails: setOf(tc.fails)}
			obj, err := Apply(ctx, m, object("live"), object("sent"), "alice", tc.force)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if nameOf(obj) != tc.wantObject || (err == nil) != (tc.wantObject != nil) || apierrors.IsConflict(err) != tc.wantConflict {
				t.Errorf("got %v and error %v, want %v and conflict %v", nameOf(obj), err, tc.wantObject, tc.wantConflict)
			}
		})
	}
}

func setOf(names []any) map[any]bool {
	set := map[any]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func TestG7UpdateNoErrorsCallsTheParticipant(t *testing.T) {
	for name, tc := range map[string]struct {
		with func(context.Context, *log) context.Context
		want log
	}{
		"R2: without a participant only the field manager is called": {
			func(ctx context.Context, _ *log) context.Context { return ctx },
			log{"update live to new as alice"},
		},
		"G7: the participant is called before and after the field manager": {
			func(ctx context.Context, l *log) context.Context { return WithParticipant(ctx, fakeParticipant{l}) },
			log{"before update of live to new", "update live to new as alice", "after update: updated, <nil>"},
		},
		"G7: the participant of the inner context replaces that of the outer one": {
			func(ctx context.Context, l *log) context.Context {
				return WithParticipant(WithParticipant(ctx, fakeParticipant{&log{}}), fakeParticipant{l})
			},
			log{"before update of live to new", "update live to new as alice", "after update: updated, <nil>"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got log
			obj := UpdateNoErrors(tc.with(t.Context(), &got), fakeManager{log: &got}, object("live"), object("new"), "alice")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if nameOf(obj) != "updated" {
				t.Errorf("got %v", nameOf(obj))
			}
		})
	}
}

// TestG7AFailedUpdateMayBeResolved tests updates that the field manager rejects, for instance because a value has the
// wrong type (rules G7, R1).
func TestG7AFailedUpdateMayBeResolved(t *testing.T) {
	const before, update, failed = "before update of live to new", "update live to new as alice", "after update: new, refused"
	for name, tc := range map[string]struct {
		participant func(*log) Participant
		fails       []any
		want        log
		wantManager string
	}{
		"G7: the managedFields of the participant's object are used": {
			participant: func(l *log) Participant { return fakeErrorResolver{fakeParticipant{l}, object("again")} },
			want:        log{before, update, "after the error of new over live", "update live to again as alice", "after update: new, <nil>"},
			wantManager: "of again",
		},
		"G7: the error is left to the field manager if the participant returns nil": {
			participant: func(l *log) Participant { return fakeErrorResolver{fakeParticipant: fakeParticipant{l}} },
			want:        log{before, update, "after the error of new over live", update, failed},
		},
		"R1: the error is left to the field manager if the participant's object is rejected, too": {
			participant: func(l *log) Participant { return fakeErrorResolver{fakeParticipant{l}, object("again")} },
			fails:       []any{"again"},
			want:        log{before, update, "after the error of new over live", "update live to again as alice", update, failed},
		},
		"R1: the error is left to the field manager if the participant is not an ErrorResolver": {
			participant: func(l *log) Participant { return fakeParticipant{l} },
			want:        log{before, update, update, failed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got log
			m := fakeManager{log: &got, fails: setOf(append(tc.fails, "new"))}
			obj := UpdateNoErrors(WithParticipant(t.Context(), tc.participant(&got)), m, object("live"), object("new"), "alice")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			manager := ""
			if entries := obj.(*unstructured.Unstructured).GetManagedFields(); len(entries) > 0 {
				manager = entries[0].Manager
			}
			if nameOf(obj) != "new" || manager != tc.wantManager {
				t.Errorf("got %v with manager %q, want new with manager %q", nameOf(obj), manager, tc.wantManager)
			}
		})
	}
}

// TestG4ARetryCallsTheParticipantAgain calls Apply twice with the same context, as a retry of the storage does.
func TestG4ARetryCallsTheParticipantAgain(t *testing.T) {
	var got log
	ctx := WithParticipant(t.Context(), fakeParticipant{&got})
	for range 2 {
		if _, err := Apply(ctx, fakeManager{log: &got}, object("live"), object("sent"), "alice", false); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 4 || got[2] != got[0] {
		t.Errorf("got %q", got)
	}
}
