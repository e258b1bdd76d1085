// Copyright The fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault has the errors that users see: what is wrong, in one line, and
// what helps, in another.
package fault

import (
	"errors"
	"fmt"
)

// ErrReported says that a command failed and has already told why.
var ErrReported = errors.New("failed; see above")

// Error is an error with advice.
type Error struct {
	err   error
	help  string
	usage bool
}

// New returns an error with a help line; format is as in fmt.Errorf.
func New(help, format string, args ...any) error {
	return &Error{err: fmt.Errorf(format, args...), help: help}
}

// Usage returns an error of the command line itself.
func Usage(help, format string, args ...any) error {
	return &Error{err: fmt.Errorf(format, args...), help: help, usage: true}
}

// Error implements error.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns what the error wraps.
func (e *Error) Unwrap() error { return e.err }

// Help returns the help line that comes with err, if any.
func Help(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.help
	}
	return ""
}

// IsUsage tells whether err is about the command line itself.
func IsUsage(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.usage
}
