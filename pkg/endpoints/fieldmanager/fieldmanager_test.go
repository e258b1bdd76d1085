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

// log is what happened in a request, in order.
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

// fakeManager has a conflict with some configurations, and fails for others.
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

// fakeParticipant applies another configuration than the one that was sent.
type fakeParticipant struct{ log *log }

func (p fakeParticipant) BeforeApply(live, configuration runtime.Object, manager string) runtime.Object {
	p.log.add("before apply of %v to %v as %s", nameOf(configuration), nameOf(live), manager)
	return object("settled")
}

func (p fakeParticipant) BeforeUpdate(live, newObj runtime.Object) {
	p.log.add("before update of %v to %v", nameOf(live), nameOf(newObj))
}

func (p fakeParticipant) AfterUpdate(newObj runtime.Object, err error) {
	p.log.add("after update: %v, %v", nameOf(newObj), err)
}

// fakeErrorResolver has a second object, or none.
type fakeErrorResolver struct {
	fakeParticipant
	again runtime.Object
}

func (r fakeErrorResolver) AfterUpdateError(live, newObj runtime.Object) runtime.Object {
	r.log.add("after the error of %v over %v", nameOf(newObj), nameOf(live))
	return r.again
}

// fakeResolver has a second configuration, or none.
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

// applies are the cases of TestG4ApplyAsksTheParticipant.
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
		name:       "R2: without a participant the field manager has what was sent",
		want:       log{"apply sent to live as alice, force false"},
		wantObject: "applied sent",
	},
	{
		name:        "G4: what the participant makes of the configuration is applied",
		participant: func(l *log) Participant { return fakeParticipant{l} },
		want:        log{beforeApply, "apply settled to live as alice, force false"},
		wantObject:  "applied settled",
	},
	{
		name:        "G7.3: a conflict stands where the participant cannot resolve it",
		participant: func(l *log) Participant { return fakeParticipant{l} },
		conflicts:   []any{"settled"}, wantConflict: true,
		want: log{beforeApply, "apply settled to live as alice, force false"},
	},
	{
		name:        "G7.3: a resolved conflict is applied again, without force",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant{l}, object("again")} },
		conflicts:   []any{"settled"},
		want: log{
			beforeApply, "apply settled to live as alice, force false", "apply settled to live as alice, force true",
			"after conflict of sent with live: forced applied settled, <nil>", "apply again to live as alice, force false",
		},
		wantObject: "applied again",
	},
	{
		name:        "G7.3: the conflict that remains is the client's",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant{l}, object("again")} },
		conflicts:   []any{"settled", "again"}, wantConflict: true,
		want: log{
			beforeApply, "apply settled to live as alice, force false", "apply settled to live as alice, force true",
			"after conflict of sent with live: forced applied settled, <nil>", "apply again to live as alice, force false",
		},
	},
	{
		name:        "G7.3: a participant may let the conflict stand",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant: fakeParticipant{l}} },
		conflicts:   []any{"settled"}, wantConflict: true,
		want: log{
			beforeApply, "apply settled to live as alice, force false", "apply settled to live as alice, force true",
			"after conflict of sent with live: forced applied settled, <nil>",
		},
	},
	{
		name:        "an apply that is forced has no conflict to resolve",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant{l}, object("again")} },
		conflicts:   []any{"settled"}, force: true,
		want:       log{beforeApply, "apply settled to live as alice, force true"},
		wantObject: "applied settled",
	},
	{
		name:        "another error is no conflict",
		participant: func(l *log) Participant { return fakeResolver{fakeParticipant{l}, object("again")} },
		fails:       []any{"settled"},
		want:        log{beforeApply, "apply settled to live as alice, force false"},
	},
}

func TestG4ApplyAsksTheParticipant(t *testing.T) {
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
				t.Errorf("got %v and error %v, want %v", nameOf(obj), err, tc.wantObject)
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

func TestG7UpdateNoErrorsTellsTheParticipant(t *testing.T) {
	for name, tc := range map[string]struct {
		with func(context.Context, *log) context.Context
		want log
	}{
		"R2: without a participant": {
			func(ctx context.Context, _ *log) context.Context { return ctx },
			log{"update live to new as alice"},
		},
		"G7: the participant sees what the client sent, then what field management made of it": {
			func(ctx context.Context, l *log) context.Context { return WithParticipant(ctx, fakeParticipant{l}) },
			log{"before update of live to new", "update live to new as alice", "after update: updated, <nil>"},
		},
		"G7: of two participants the one of the inner context counts": {
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

// TestG7AFailedUpdateMayBeSettled is about an object that field management cannot type (rules G7, R1).
func TestG7AFailedUpdateMayBeSettled(t *testing.T) {
	const before, update, failed = "before update of live to new", "update live to new as alice", "after update: new, refused"
	for name, tc := range map[string]struct {
		participant func(*log) Participant
		fails       []any
		want        log
		wantManager string
	}{
		"the object has the owners of what the participant makes of it": {
			participant: func(l *log) Participant { return fakeErrorResolver{fakeParticipant{l}, object("again")} },
			want:        log{before, update, "after the error of new over live", "update live to again as alice", "after update: new, <nil>"},
			wantManager: "of again",
		},
		"the participant knows no better": {
			participant: func(l *log) Participant { return fakeErrorResolver{fakeParticipant: fakeParticipant{l}} },
			want:        log{before, update, "after the error of new over live", update, failed},
		},
		"what the participant makes of it fails, too": {
			participant: func(l *log) Participant { return fakeErrorResolver{fakeParticipant{l}, object("again")} },
			fails:       []any{"again"},
			want:        log{before, update, "after the error of new over live", "update live to again as alice", update, failed},
		},
		"the participant resolves no errors": {
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
				t.Errorf("got %v with the owners %q, want those %q", nameOf(obj), manager, tc.wantManager)
			}
		})
	}
}

// TestG4ARetryAsksTheParticipantAgain: the storage may call Apply several times with the same context.
func TestG4ARetryAsksTheParticipantAgain(t *testing.T) {
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
