// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testaudit lets tests see what a function adds to the audit event of a request.
package testaudit

import (
	"context"
	"net/http"
	"net/http/httptest"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Annotations calls a function with the context of a request that is audited, and returns the annotations of its event.
func Annotations(ctx context.Context, call func(context.Context)) map[string]string {
	called := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { call(req.Context()) })
	// One stage, so that there is one event.
	everything := policy.NewFakePolicyRuleEvaluator(auditinternal.LevelMetadata, []auditinternal.Stage{auditinternal.StageRequestReceived})
	log := &sink{}
	handler := filters.WithAuditInit(filters.WithAudit(called, log, everything, nil))
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{})
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPut, "/", nil))
	return log.annotations
}

// sink keeps the annotations of the last event.
type sink struct{ annotations map[string]string }

// ProcessEvents implements audit.Sink.
func (s *sink) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		s.annotations = event.DeepCopy().Annotations
	}
	return true
}
