// Package errorbody decides the status, the code and the body of every error response (ADR 0119).
// It does not know requests or header fields.
package errorbody

import (
	"cmp"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"inboxd/internal/base/fault"
	"inboxd/internal/mail/sealed"
)

// responses is the only mapping from the kind of a fault to a response (specification, Errors). A
// fault with a code of its own keeps it.
var responses = map[fault.ErrorKind]struct {
	status int
	code   fault.Code
}{
	fault.Internal:               {http.StatusInternalServerError, fault.CodeInternal},
	fault.Unauthenticated:        {http.StatusUnauthorized, fault.CodeUnauthorized},
	fault.Forbidden:              {http.StatusForbidden, fault.CodeForbidden},
	fault.NoInbox:                {http.StatusForbidden, fault.CodeNoInbox},
	fault.NotFound:               {http.StatusNotFound, fault.CodeNotFound},
	fault.InvalidRequest:         {http.StatusUnprocessableEntity, fault.CodeValidation},
	fault.Refused:                {http.StatusBadRequest, fault.CodeRefused},
	fault.TooLarge:               {http.StatusRequestEntityTooLarge, fault.CodeTooLarge},
	fault.TooMany:                {http.StatusTooManyRequests, fault.CodeRateLimited},
	fault.InboxFull:              {http.StatusBadRequest, fault.CodeInboxFull},
	fault.StorageFull:            {http.StatusInsufficientStorage, fault.CodeStorageFull},
	fault.TemporarilyUnavailable: {http.StatusServiceUnavailable, fault.CodeUnavailable},
	fault.DataDamaged:            {http.StatusInternalServerError, fault.CodeDataDamaged},
	fault.MovedAway:              {http.StatusServiceUnavailable, fault.CodeUnavailable},
	fault.UnsupportedContent:     {http.StatusUnsupportedMediaType, fault.CodeUnsupportedContent},
}

// statusCodes are the codes of responses that no fault causes.
var statusCodes = map[int]fault.Code{
	http.StatusBadRequest:                  fault.CodeBadRequest,
	http.StatusNotFound:                    fault.CodeUnknownPath,
	http.StatusMethodNotAllowed:            fault.CodeMethodNotAllowed,
	http.StatusRequestTimeout:              fault.CodeRequestTimeout,
	http.StatusRequestHeaderFieldsTooLarge: fault.CodeTooLarge,
	http.StatusServiceUnavailable:          fault.CodeUnavailable,
}

// Status returns the status of the response to a fault.
func Status(f *fault.Error) int { return responses[f.Kind].status }

// Append appends the members of the body, without its braces. A private key that is in the request
// is never in them.
func Append(b []byte, f *fault.Error) []byte {
	b = appendMember(b, `"detail":`, f.Sentence())
	b = appendMember(b, `,"code":`, string(cmp.Or(f.Code, responses[f.Kind].code)))
	if f.FieldName != "" {
		b = appendMember(b, `,"field":`, f.FieldName)
	}
	return b
}

// appendMember appends a text. Invalid UTF-8 becomes U+FFFD.
func appendMember(b []byte, name, text string) []byte {
	b, _ = jsontext.AppendQuote(append(b, name...), sealed.RedactKeys(text))
	return b
}

// Of returns the body of the response to a fault.
func Of(f *fault.Error) []byte { return append(Append([]byte{'{'}, f), '}') }

// OfStatus returns the body of a response with this status that no fault causes.
func OfStatus(status int, detail string) []byte {
	return Of(&fault.Error{Code: statusCodes[status], Detail: detail})
}
