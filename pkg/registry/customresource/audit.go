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

// auditPrefix is that of the annotations of feature gates; the action follows (rule V2).
const auditPrefix = "featuregates.apiextensions.k8s.io/"

// clearedAnnotation lists the fields that normalization cleared (rule V2).
const clearedAnnotation = "unions.apiextensions.k8s.io/cleared"

// annotateCleared tells the request's audit event which members of unions were cleared.
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

// annotate tells the request's audit event what became of guarded fields, as a list of "path (gate)" per action: the
// warnings of a client that nobody watches are lost.
func annotate(ctx context.Context, outcomes []fieldgate.Outcome) {
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

// maxAnnotation is how many bytes an annotation has at most (rule V2), andMore what is kept free to count what does not
// fit. A path may have keys of any length in it, and a request many paths.
const (
	maxAnnotation = 16 << 10
	andMore       = len(",and  more") + len("9223372036854775807")
)

// annotation is a list with commas between its entries. The zero annotation is empty.
type annotation struct {
	text strings.Builder
	// left is how many entries did not fit.
	left int
}

// add adds an entry. Once one did not fit all others are counted only, and not made.
func (a *annotation) add(entry func() string) {
	if a.left > 0 {
		a.left++
		return
	}
	text := entry()
	if a.text.Len()+len(",")+len(text) > maxAnnotation-andMore {
		a.left++
		return
	}
	if a.text.Len() > 0 {
		a.text.WriteByte(',')
	}
	a.text.WriteString(text)
}

// String returns the value of the annotation, which is at most 16 KiB long (rule V2).
func (a *annotation) String() string {
	if a.left == 0 {
		return a.text.String()
	}
	rest := "and " + strconv.Itoa(a.left) + " more"
	if a.text.Len() == 0 {
		return rest
	}
	return a.text.String() + "," + rest
}
