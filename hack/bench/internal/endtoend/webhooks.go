// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endtoend

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/fairlead-dev/fairlead/hack/bench/internal/control"
	"github.com/fairlead-dev/fairlead/hack/bench/internal/route"
)

// webhooks are the registrations of the two webhooks that this process serves.
func webhooks(b *bench) []manifest {
	webhook := func(name string, operations ...any) map[string]any {
		return map[string]any{
			"name": name + "." + route.Group, "admissionReviewVersions": []any{"v1"}, "sideEffects": "None",
			"failurePolicy": "Fail", "timeoutSeconds": 10, "rules": []any{matches(operations...)},
			"clientConfig": map[string]any{"url": b.webhookURL + "/" + name, "caBundle": b.credentials.CA},
		}
	}
	return []manifest{
		newManifest("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "clear", map[string]any{
			"webhooks": []any{webhook("clear", "UPDATE")},
		}),
		newManifest("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "validate", map[string]any{
			"webhooks": []any{webhook("validate", "CREATE", "UPDATE")},
		}),
	}
}

// serveWebhooks serves until the context ends, and returns the URL.
func serveWebhooks(ctx context.Context, credentials *control.Credentials) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /clear", review(clearStale))
	mux.HandleFunc("POST /validate", review(validate))
	server := &http.Server{
		Handler:           mux,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{credentials.Serving}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // servers that stop
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with Close only
	return "https://" + listener.Addr().String(), nil
}

// admissionRequest is what the webhooks read of a review.
type admissionRequest struct {
	UID       string         `json:"uid"`
	Object    map[string]any `json:"object"`
	OldObject map[string]any `json:"oldObject"`
}

type admissionResponse struct {
	UID       string         `json:"uid"`
	Allowed   bool           `json:"allowed"`
	PatchType string         `json:"patchType,omitempty"`
	Patch     []byte         `json:"patch,omitempty"`
	Status    map[string]any `json:"status,omitempty"`
}

type admissionReview struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Request    *admissionRequest  `json:"request,omitempty"`
	Response   *admissionResponse `json:"response,omitempty"`
}

// review answers reviews with what judge says.
func review(judge func(*admissionRequest) (*admissionResponse, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in admissionReview
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Request == nil {
			http.Error(w, fmt.Sprintf("no review: %v", err), http.StatusBadRequest)
			return
		}
		response, err := judge(in.Request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		response.UID = in.Request.UID
		w.Header().Set("Content-Type", "application/json")
		// An answer that does not arrive fails the request, which is seen.
		_ = json.NewEncoder(w).Encode(admissionReview{APIVersion: in.APIVersion, Kind: in.Kind, Response: response})
	}
}

// validate refuses objects with invalid unions.
func validate(r *admissionRequest) (*admissionResponse, error) {
	for _, rule := range route.Rules(r.Object) {
		valid := route.RuleUnion.IsValid(rule)
		for _, filter := range route.Objects(rule, "filters") {
			valid = valid && route.FilterUnion.IsValid(filter)
		}
		if !valid {
			return &admissionResponse{Status: map[string]any{"message": "exactly the selected member must be set"}}, nil
		}
	}
	return &admissionResponse{Allowed: true}, nil
}

// clearStale removes what a changed discriminator left behind.
func clearStale(r *admissionRequest) (*admissionResponse, error) {
	var patch []map[string]any
	remove := func(path string, members []string) {
		for _, member := range members {
			patch = append(patch, map[string]any{"op": "remove", "path": path + member})
		}
	}
	oldRules := route.Rules(r.OldObject)
	for i, rule := range route.Rules(r.Object) {
		oldRule := route.Named(oldRules, rule)
		remove(fmt.Sprintf("/spec/rules/%d/", i), route.RuleUnion.Stale(rule, oldRule))
		oldFilters := route.Objects(oldRule, "filters")
		for j, filter := range route.Objects(rule, "filters") {
			stale := route.FilterUnion.Stale(filter, route.Named(oldFilters, filter))
			remove(fmt.Sprintf("/spec/rules/%d/filters/%d/", i, j), stale)
		}
	}
	if len(patch) == 0 {
		return &admissionResponse{Allowed: true}, nil
	}
	text, err := json.Marshal(patch)
	return &admissionResponse{Allowed: true, PatchType: "JSONPatch", Patch: text}, err
}
