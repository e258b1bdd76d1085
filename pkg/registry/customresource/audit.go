// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"
	"strings"

	"k8s.io/apiserver/pkg/audit"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// auditPrefix is that of the annotations of feature gates; the action follows (rule V2).
const auditPrefix = "featuregates.apiextensions.k8s.io/"

// clearedAnnotation lists the fields that normalization cleared (rule V2).
const clearedAnnotation = "unions.apiextensions.k8s.io/cleared"

// annotateCleared tells the request's audit event which members of unions were cleared.
func annotateCleared(ctx context.Context, cleared []union.Cleared) {
	var fields []string
	for i := range cleared {
		for _, member := range cleared[i].Members {
			fields = append(fields, cleared[i].MemberPath(member))
		}
	}
	if len(fields) > 0 {
		audit.AddAuditAnnotation(ctx, clearedAnnotation, strings.Join(fields, ","))
	}
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
