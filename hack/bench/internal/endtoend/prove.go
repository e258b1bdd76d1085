// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

const patience = time.Minute

// prove shows that an arm does what it is measured for: it accepts a good object, refuses a bad one and clears a stale
// update, or does not, as the arm says. Policies and webhooks take effect some time after they are created.
func prove(ctx context.Context, s *control.Server, a arm) error {
	if err := retry(ctx, func() error { return create(ctx, s, route.Object("good")) }); err != nil {
		return fmt.Errorf("a good object: %w", err)
	}
	checks := []func(context.Context, *control.Server, arm) error{proveBad, proveStale, proveGate}
	for _, check := range checks {
		if err := retry(ctx, func() error { return check(ctx, s, a) }); err != nil {
			return err
		}
	}
	return nil
}

// retry gives what fails some time to change its mind.
func retry(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func create(ctx context.Context, s *control.Server, object map[string]any) error {
	_, err := s.JSON(ctx, http.MethodPost, route.Resource, object)
	return err
}

// isRefusal tells whether the server judged the object, and did not just fail.
func isRefusal(err error) bool {
	var status *control.StatusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.Code {
	case http.StatusUnprocessableEntity, http.StatusForbidden, http.StatusBadRequest:
		return true
	default:
		return false
	}
}

func proveBad(ctx context.Context, s *control.Server, a arm) error {
	bad := route.Object("bad")
	route.Spoil(bad)
	err := create(ctx, s, bad)
	if err != nil && !isRefusal(err) {
		return err
	}
	if (err != nil) != a.refusesBad {
		_, deletion := s.JSON(ctx, http.MethodDelete, route.Resource+"/bad", nil)
		return errors.Join(fmt.Errorf("a bad object is refused: %v, want %v", err != nil, a.refusesBad), err, deletion)
	}
	return nil
}

func proveStale(ctx context.Context, s *control.Server, a arm) error {
	const name = "stale"
	if err := create(ctx, s, route.Object(name)); err != nil {
		return err
	}
	object, err := s.JSON(ctx, http.MethodGet, route.Resource+"/"+name, nil)
	if err != nil {
		return err
	}
	route.Switch(object)
	answer, err := s.JSON(ctx, http.MethodPut, route.Resource+"/"+name, object)
	_, deletion := s.JSON(ctx, http.MethodDelete, route.Resource+"/"+name, nil)
	got := cleared
	switch {
	case isRefusal(err):
		got = refused
	case err != nil:
		return errors.Join(err, deletion)
	case route.HasStaleMember(answer):
		got = kept
	}
	if got != a.stale {
		return errors.Join(fmt.Errorf("a stale update is %s, want %s", got, a.stale), err, deletion)
	}
	return deletion
}

func proveGate(ctx context.Context, s *control.Server, a arm) error {
	const name = "gated"
	object := route.Object(name)
	route.SetGated(object)
	answer, err := s.JSON(ctx, http.MethodPost, route.Resource, object)
	if err != nil {
		return err
	}
	_, deletion := s.JSON(ctx, http.MethodDelete, route.Resource+"/"+name, nil)
	if has := route.HasGated(answer); has == a.variant.Gates {
		return errors.Join(fmt.Errorf("a gated field is dropped: %v, want %v", !has, a.variant.Gates), deletion)
	}
	return deletion
}
