// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"
	"strings"

	"k8s.io/apiserver/pkg/audit"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
)

// auditPrefix is that of the annotations of feature gates; the action follows (rule V2).
const auditPrefix = "featuregates.apiextensions.k8s.io/"

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
