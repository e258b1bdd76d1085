// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/audit"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// auditPrefix is that of the annotations of feature gates; the action follows (rule V2).
const auditPrefix = "featuregates.apiextensions.k8s.io/"

// clearedAnnotation lists the fields that normalization cleared (rule V2).
const clearedAnnotation = "unions.apiextensions.k8s.io/cleared"

// maxAnnotation is how many bytes of paths an annotation has at most. A path may have keys of any length in it, and a
// request many paths (rule R1).
const maxAnnotation = 16 << 10

// annotateCleared tells the request's audit event which members of unions were cleared. What does not fit is counted.
func annotateCleared(ctx context.Context, cleared []union.Cleared) {
	if len(cleared) == 0 {
		return
	}
	var paths strings.Builder
	left := 0
	for i := range cleared {
		for _, member := range cleared[i].Members {
			path := ""
			if left == 0 {
				path = cleared[i].MemberPath(member)
			}
			if left > 0 || paths.Len()+len(path) > maxAnnotation {
				left++
				continue
			}
			if paths.Len() > 0 {
				paths.WriteByte(',')
			}
			paths.WriteString(path)
		}
	}
	if left > 0 {
		fmt.Fprintf(&paths, ",and %d more", left)
	}
	audit.AddAuditAnnotation(ctx, clearedAnnotation, strings.TrimPrefix(paths.String(), ","))
}

// annotate tells the request's audit event what became of guarded fields, as a list of "path (gate)" per action: the
// warnings of a client that nobody watches are lost.
func annotate(ctx context.Context, outcomes []fieldgate.Outcome) {
	for _, action := range []fieldgate.Action{fieldgate.Dropped, fieldgate.Kept, fieldgate.Deprecated} {
		var fields []string
		for _, o := range outcomes {
			if o.Action == action {
				fields = append(fields, o.Path+" ("+o.QualifiedName+")")
			}
		}
		if len(fields) > 0 {
			audit.AddAuditAnnotation(ctx, auditPrefix+string(action), strings.Join(fields, ","))
		}
	}
}
