// Package fault names the kinds of failure that a caller outside can act on, and carries the
// sentence for the caller. It knows no protocol: each edge (http, smtp) has one table from Kind to
// its own reply.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind says what the caller can do about a failure.
type ErrorKind uint8

// The zero Kind is Internal, so that an unclassified error is our bug and never the caller's.
const (
	Internal               ErrorKind = iota // our bug: nothing the caller can do
	Unauthenticated                         // present a valid credential
	Forbidden                               // use another credential
	NoInbox                                 // no live inbox at this address
	NotFound                                // something inside the inbox or account does not exist
	InvalidRequest                          // correct the request
	Refused                                 // refused by a plan or business rule
	TooLarge                                // send less
	TooMany                                 // slow down, RetryAfter says how long
	InboxFull                               // this one inbox is over its quota
	StorageFull                             // the disk is full: retry later, not soon
	TemporarilyUnavailable                  // try again soon
	DataDamaged                             // stored data is no longer readable
	MovedAway                               // owned by another node: retry soon
	UnsupportedContent                      // send the content in another form
)

var kindNames = [...]string{
	"internal", "unauthenticated", "forbidden", "no inbox", "not found", "invalid",
	"refused", "too large", "too many", "inbox full", "storage full", "unavailable", "damaged", "moved", "unsupported",
}

func (k ErrorKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Error is a classified failure. Detail is a sentence for the caller and never contains internals.
// Err is the cause, for our own log only. For an InvalidRequest with a FieldName, Detail is the end
// of the sentence.
type Error struct {
	Kind       ErrorKind
	Code       Code   // empty: the edge has one for the kind
	FieldName  string // the part of the request that caused it; empty: none, or unknown
	Detail     string
	RetryAfter time.Duration // with TooMany and TemporarilyUnavailable; zero lets the edge choose
	Err        error
}

// New makes an Error without a cause.
func New(kind ErrorKind, detail string) *Error { return &Error{Kind: kind, Detail: detail} }

// Refuse makes a Refused Error with a code of its own.
func Refuse(code Code, format string, args ...any) *Error {
	return RefuseField("", code, format, args...)
}

// RefuseField makes a Refused Error with a code of its own about one field of the request.
func RefuseField(name string, code Code, format string, args ...any) *Error {
	return &Error{Kind: Refused, Code: code, FieldName: name, Detail: fmt.Sprintf(format, args...)}
}

// InvalidField makes an InvalidRequest Error about one field of the request. The formatted text
// follows the field's name: "is empty".
func InvalidField(name, format string, args ...any) *Error {
	return &Error{Kind: InvalidRequest, FieldName: name, Detail: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error that keeps its cause for the log.
func Wrap(kind ErrorKind, detail string, err error) *Error {
	return &Error{Kind: kind, Detail: detail, Err: err}
}

// Sentence returns the whole sentence for the caller.
func (e *Error) Sentence() string {
	if e.Kind == InvalidRequest && e.FieldName != "" {
		return fmt.Sprintf("Invalid request: '%s' %s", e.FieldName, e.Detail)
	}
	return e.Detail
}

func (e *Error) Error() string {
	text := e.Kind.String() + ": "
	if e.Kind == InvalidRequest && e.FieldName != "" {
		text += "'" + e.FieldName + "' "
	}
	text += e.Detail
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the Kind of err, Internal for an error that is not a fault.
func KindOf(err error) ErrorKind {
	var f *Error
	if errors.As(err, &f) {
		return f.Kind
	}
	return Internal
}

// Is reports whether err is a fault of kind.
func Is(err error, kind ErrorKind) bool { return err != nil && KindOf(err) == kind }
