// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package customresource

import (
	"context"
	"strconv"
	"strings"

	"k8s.io/apiserver/pkg/audit"

	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/fieldgate"
	"github.com/fairlead-dev/fairlead/pkg/registry/customresource/union"
)

// auditPrefix is the prefix of the annotations of feature gates. The action follows it (rule V2).
const auditPrefix = "featuregates.apiextensions.k8s.io/"

// clearedAnnotation is the annotation that lists the members that normalization cleared (rule V2).
const clearedAnnotation = "unions.apiextensions.k8s.io/cleared"

// annotateCleared adds the members that normalization cleared to the audit event of the request.
func annotateCleared(ctx context.Context, cleared []union.Cleared) {
	if len(cleared) == 0 {
		return
	}
	var paths annotation
	for i := range cleared {
		for _, member := range cleared[i].Members {
			paths.add(func() string { return cleared[i].MemberPath(member) })
		}
	}
	audit.AddAuditAnnotation(ctx, clearedAnnotation, paths.String())
}

// annotateOutcomes adds what the gates did to the audit event of the request: a list of "path (gate)" for each action.
func annotateOutcomes(ctx context.Context, outcomes []fieldgate.Outcome) {
	fields := map[fieldgate.Action]*annotation{}
	for i := range outcomes {
		o := &outcomes[i]
		if fields[o.Action] == nil {
			fields[o.Action] = &annotation{}
		}
		fields[o.Action].add(func() string { return o.Path + " (" + o.QualifiedName + ")" })
	}
	for action, list := range fields {
		audit.AddAuditAnnotation(ctx, auditPrefix+string(action), list.String())
	}
}

const (
	// maxAnnotation is the maximum length of an annotation in bytes (rule V2). A request may have many paths, and a path
	// may contain keys of any length.
	maxAnnotation = 16 << 10
	// maxOmittedNote is the maximum length of ",and N more" at the end of an annotation.
	maxOmittedNote = len(",and  more") + len("9223372036854775807")
)

// annotation is a comma-separated list of at most maxAnnotation bytes. The zero annotation is empty.
type annotation struct {
	text strings.Builder
	// omitted is the number of entries that did not fit.
	omitted int
}

// add adds an entry. After the first entry that does not fit, it only counts, and does not call entry.
func (a *annotation) add(entry func() string) {
	if a.omitted > 0 {
		a.omitted++
		return
	}
	text := entry()
	if a.text.Len()+len(",")+len(text) > maxAnnotation-maxOmittedNote {
		a.omitted++
		return
	}
	if a.text.Len() > 0 {
		a.text.WriteByte(',')
	}
	a.text.WriteString(text)
}

// String returns the value of the annotation.
func (a *annotation) String() string {
	if a.omitted == 0 {
		return a.text.String()
	}
	note := "and " + strconv.Itoa(a.omitted) + " more"
	if a.text.Len() == 0 {
		return note
	}
	return a.text.String() + "," + note
}
