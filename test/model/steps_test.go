// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/types"
)

// The kinds of steps.
const (
	doApply  = "apply"
	doCreate = "create"
	doUpdate = "update"     // a PUT of the persisted object with another body
	doMerge  = "merge"      // a JSON merge patch
	doJSON   = "json"       // a JSON patch
	doFlip   = "flip"       // sets the state of gates
	doOffOn  = "off and on" // switches gates off and on, and applies all configurations again in each state
)

// step is one step of a sequence, with everything that a replay needs.
type step struct {
	Do string `json:"do"`
	// By is the field manager.
	By string `json:"by,omitempty"`
	// Version is the version of the request, or empty for the storage version.
	Version     string `json:"version,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Force       bool   `json:"force,omitempty"`
	// DryRun says that the request is first sent as a dry run.
	DryRun bool `json:"dryRun,omitempty"`
	// Body is the applied configuration, the object or the merge patch, without apiVersion, kind and metadata.
	Body map[string]any `json:"body,omitempty"`
	// Patch is a JSON patch.
	Patch []patchOp `json:"patch,omitempty"`
	// Gates are the gates to flip, with their state after the step. For "off and on" they are the gates to switch off.
	Gates states `json:"gates,omitempty"`
}

// patchOp is an operation of a JSON patch.
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

func (s step) version() string {
	if s.Version == "" {
		return storageVersion
	}
	return s.Version
}

// call returns the request of a step on the named object, whose persisted state is before.
func (s step) call(name string, before map[string]any, dryRun bool) call {
	query := url.Values{"fieldManager": {s.By}}
	if s.Force {
		query.Set("force", "true")
	}
	if dryRun {
		query.Set("dryRun", "All")
	}
	path := "/apis/" + group + "/" + s.version() + "/" + plural
	if s.Do != doCreate {
		path += "/" + name
	}
	if s.Subresource != "" {
		path += "/" + s.Subresource
	}
	c := call{method: http.MethodPatch, path: path + "?" + query.Encode()}
	switch s.Do {
	case doApply:
		c.contentType, c.body = string(types.ApplyYAMLPatchType), s.whole(map[string]any{"name": name})
	case doCreate:
		c.method, c.body = http.MethodPost, s.whole(map[string]any{"name": name})
	case doUpdate:
		c.method, c.body = http.MethodPut, s.whole(before["metadata"])
	case doMerge:
		c.contentType, c.body = string(types.MergePatchType), s.Body
	case doJSON:
		c.contentType, c.body = string(types.JSONPatchType), s.Patch
	}
	return c
}

// whole returns the body with apiVersion, kind and metadata.
func (s step) whole(metadata any) map[string]any {
	out := maps.Clone(s.Body)
	if out == nil {
		out = map[string]any{}
	}
	out["apiVersion"], out["kind"], out["metadata"] = group+"/"+s.version(), kind, metadata
	return out
}

// requestedObject returns the object that a request would persist, before the server sets defaults, or nil for an
// apply. The part that the endpoint does not write is as in before.
func (r *resource) requestedObject(s step, before map[string]any) map[string]any {
	var requested map[string]any
	switch s.Do {
	case doCreate, doUpdate:
		requested = s.whole(before["metadata"])
	case doMerge:
		requested = mergePatch(before, s.Body).(map[string]any)
	case doJSON:
		requested = jsonPatch(before, s.Patch)
	default:
		return nil
	}
	return decode[map[string]any](encode(r.writtenPart(s, requested, before)))
}

// defaulted returns a copy of an object with all defaults of the schema.
func (r *resource) defaulted(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	out := decode[map[string]any](encode(object))
	structuraldefaulting.Default(out, r.structural)
	return out
}

// withoutGuardedDefaults returns the defaulted object with guarded fields as they were before defaulting (rule G8).
func (r *resource) withoutGuardedDefaults(defaulted, requested map[string]any, guards map[string]guard) map[string]any {
	if requested == nil {
		return nil
	}
	out := decode[map[string]any](encode(defaulted))
	for _, guard := range guards {
		for _, p := range positionsOf(out, r.Schema, guard.path) {
			parent, _ := valueAt(out, r.Schema, p.parent())
			name := strings.TrimPrefix(p[len(p)-1], "f:")
			if value, ok := valueAt(requested, r.Schema, p); ok {
				parent.(map[string]any)[name] = value
			} else {
				delete(parent.(map[string]any), name)
			}
		}
	}
	return out
}

// writtenPart returns the part of object that the endpoint of the step writes, with the rest of other. The endpoint of
// the resource does not write status if there is a status subresource, which writes nothing else.
func (r *resource) writtenPart(s step, object, other map[string]any) map[string]any {
	if !r.Status {
		return object
	}
	out, status := map[string]any{}, other["status"]
	if s.Subresource == "status" {
		object, status = other, object["status"]
	}
	maps.Copy(out, object)
	delete(out, "status")
	if status != nil {
		out["status"] = status
	}
	return out
}

// mergePatch returns a value with a JSON merge patch applied.
func mergePatch(value, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	old, _ := value.(map[string]any)
	out := maps.Clone(old)
	if out == nil {
		out = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(out, name)
		} else {
			out[name] = mergePatch(out[name], change)
		}
	}
	return out
}

// jsonPatch returns an object with a JSON patch applied. The patch may add, replace and remove fields, and replace and
// remove items of lists.
func jsonPatch(object map[string]any, patch []patchOp) map[string]any {
	out := decode[any](encode(object))
	for _, op := range patch {
		out = patchAt(out, strings.Split(op.Path, "/")[1:], op)
	}
	return out.(map[string]any)
}

func patchAt(value any, path []string, op patchOp) any {
	if len(path) == 0 {
		return op.Value
	}
	switch value := value.(type) {
	case map[string]any:
		if len(path) == 1 && op.Op == "remove" {
			delete(value, path[0])
		} else {
			value[path[0]] = patchAt(value[path[0]], path[1:], op)
		}
		return value
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(value) {
			return value
		}
		if len(path) == 1 && op.Op == "remove" {
			return slices.Delete(value, i, i+1)
		}
		value[i] = patchAt(value[i], path[1:], op)
		return value
	}
	return value
}

// mergeDiff returns the JSON merge patch that turns old into now.
func mergeDiff(old, now map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range now {
		oldObject, isObject := old[name].(map[string]any)
		newObject, staysObject := value.(map[string]any)
		switch {
		case equal(old[name], value):
		case isObject && staysObject:
			out[name] = mergeDiff(oldObject, newObject)
		default:
			out[name] = value
		}
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			out[name] = nil
		}
	}
	return out
}

// jsonDiff returns the JSON patch that turns old into now. It replaces a list whose length changes as a whole.
func jsonDiff(old, now any, path string) []patchOp {
	var out []patchOp
	switch now := now.(type) {
	case map[string]any:
		if old, ok := old.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(now)) {
				out = append(out, fieldDiff(old, now, name, path)...)
			}
			for _, name := range slices.Sorted(maps.Keys(old)) {
				if _, ok := now[name]; !ok {
					out = append(out, patchOp{Op: "remove", Path: path + "/" + name})
				}
			}
			return out
		}
	case []any:
		if old, ok := old.([]any); ok && len(old) == len(now) {
			for i := range now {
				out = append(out, jsonDiff(old[i], now[i], path+"/"+strconv.Itoa(i))...)
			}
			return out
		}
	}
	if equal(old, now) {
		return nil
	}
	return []patchOp{{Op: "replace", Path: path, Value: now}}
}

func fieldDiff(old, now map[string]any, name, path string) []patchOp {
	if value, ok := old[name]; ok {
		return jsonDiff(value, now[name], path+"/"+name)
	}
	return []patchOp{{Op: "add", Path: path + "/" + name, Value: now[name]}}
}

// body returns an object without apiVersion, kind and metadata.
func body(object map[string]any) map[string]any {
	out := maps.Clone(object)
	delete(out, "apiVersion")
	delete(out, "kind")
	delete(out, "metadata")
	return out
}
