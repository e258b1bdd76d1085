// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"

	"k8s.io/apiserver/pkg/warning"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// Request carries what happened to an object from the strategy, which can only change it, to the end of the
// request, when it is known that it succeeded: a request that is refused draws no warning (rule G10). A write that
// the storage retries notes its outcome anew each time, so that the last one counts.
//
// The nil Request notes nothing.
type Request struct {
	ctx   context.Context
	gates *fieldgate.Result
}

type requestKey struct{}

// Begin returns the Request for a write and the context to do it with. Where the plan is nil, so is the Request,
// and the context is ctx itself.
func (p *Plan) Begin(ctx context.Context) (context.Context, *Request) {
	if p == nil {
		return ctx, nil
	}
	request := &Request{ctx: ctx}
	return context.WithValue(ctx, requestKey{}, request), request
}

// Done ends the write with its error. It must be called before the response is written.
func (r *Request) Done(err error) {
	if r == nil || err != nil {
		return
	}
	for _, text := range r.gates.Warnings() {
		warning.AddWarning(r.ctx, "", text)
	}
}

func requestFrom(ctx context.Context) *Request {
	request, _ := ctx.Value(requestKey{}).(*Request)
	return request
}
