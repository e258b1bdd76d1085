// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applied hands the configuration of a server-side apply request from the request handler, which merges it
// into the live object, to the storage of the resource.
//
// Who only sees the merged object cannot tell a field that the client left out from one that it named with the value
// it has: both may be gone, since a manager that no longer owns a field prunes it. Feature gates need to know what
// the client asked for (rule G10).
package applied

import "context"

// Configuration is what the client applied. It is empty where the request is no apply.
type Configuration struct {
	object map[string]any
}

type key struct{}

// WithConfiguration returns a context in which Note finds the returned Configuration.
func WithConfiguration(ctx context.Context) (context.Context, *Configuration) {
	c := &Configuration{}
	return context.WithValue(ctx, key{}, c), c
}

// Note notes the applied object in the Configuration of ctx; without one it does nothing. A retry notes it anew. The
// object must not be modified afterwards.
func Note(ctx context.Context, object map[string]any) {
	if c, ok := ctx.Value(key{}).(*Configuration); ok {
		c.object = object
	}
}

// Object returns the applied object, nil where the request is no apply.
func (c *Configuration) Object() map[string]any {
	return c.object
}
