package http

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/wire"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/mail/sealed"
)

// statuses is the only mapping from the kind of a fault to the status of a response (specification,
// Errors).
var statuses = map[fault.Kind]int{
	fault.Internal:        fasthttp.StatusInternalServerError,
	fault.Unauthenticated: fasthttp.StatusUnauthorized,
	fault.Forbidden:       fasthttp.StatusForbidden,
	fault.NoInbox:         fasthttp.StatusForbidden,
	fault.NotFound:        fasthttp.StatusNotFound,
	fault.Invalid:         fasthttp.StatusUnprocessableEntity,
	fault.Refused:         fasthttp.StatusBadRequest,
	fault.TooLarge:        fasthttp.StatusRequestEntityTooLarge,
	fault.TooMany:         fasthttp.StatusTooManyRequests,
	fault.InboxFull:       fasthttp.StatusBadRequest,
	fault.StorageFull:     fasthttp.StatusInsufficientStorage,
	fault.Unavailable:     fasthttp.StatusServiceUnavailable,
	fault.Damaged:         fasthttp.StatusInternalServerError,
	fault.Moved:           fasthttp.StatusServiceUnavailable,
	fault.Unsupported:     fasthttp.StatusUnsupportedMediaType,
}

const (
	detailInternal    = "Internal error. The operator can find it in the log by the request id in X-Request-Id"
	detailUnavailable = "The service is busy, try again soon"
	detailNoPath      = "Unknown path. GET /docs lists all paths"
	retryAfterDefault = time.Second
)

var (
	errNoPath         error = fault.New(fault.NotFound, detailNoPath)
	errNoCredential   error = fault.New(fault.Unauthenticated, "A valid API key is required")
	errNoSession      error = fault.New(fault.Unauthenticated, "A valid session token is required. Log in to get one")
	errTwoCredentials error = fault.New(fault.Refused, "The request is ambiguous: it has two credentials. Send only one")
	errCrowded        error = fault.New(fault.Unavailable, detailUnavailable)
	errBodyTooLarge   error = fault.New(fault.TooLarge, "The request body is too large")
)

func missingScope(need account.Scope) error {
	return fault.New(fault.Forbidden, "This API key is missing the required scope: "+need.String())
}

// noInbox returns the same bytes for another account's inbox, a deleted inbox and one that never
// existed.
func noInbox(address string) *fault.Error {
	return fault.New(fault.NoInbox, fmt.Sprintf("No inbox %s for this API key", address))
}

// invalid returns an error that concerns no known field.
func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, "Invalid request: "+fmt.Sprintf(format, args...))
}

// worded returns the sentence of a fault for the client.
func worded(f *fault.Error) string {
	if f.Field != "" {
		return fmt.Sprintf("Invalid request: '%s' %s", f.Field, f.Detail)
	}
	return f.Detail
}

// fail responds with err.
func (s *Server) fail(r *request, err error) {
	status, detail := s.judge(r, err)
	f := classify(err)
	switch f.Kind {
	case fault.Unauthenticated:
		r.http.Response.Header.Set("WWW-Authenticate", "Bearer")
	case fault.TooMany, fault.Unavailable, fault.Moved:
		r.http.Response.Header.Set("Retry-After", retryAfter(f.RetryAfter))
	case fault.Unsupported: // only for content codings, RFC 9110 section 15.5.16
		r.http.Response.Header.SetCanonical(headerAcceptEncoding, codingIdentity)
	}
	writeDetail(r.http, status, detail)
}

// judge returns the status and the sentence for err. Errors of the service are logged here, and
// only here. The log line contains nothing of the request except the route.
func (s *Server) judge(r *request, err error) (status int, detail string) {
	f := classify(err)
	status, detail = statuses[f.Kind], sealed.Veil(worded(f))
	switch f.Kind {
	case fault.Internal:
		detail = detailInternal
		s.opts.Logger.Error("http: request failed", "request", wire.RequestID(r.http), "route", r.route.name(), "err", err)
	case fault.Unavailable, fault.StorageFull:
		if f.Err != nil { // without a cause it is overload, and a log line per request would add to it
			s.opts.Logger.Warn("http: request deferred", "request", wire.RequestID(r.http), "route", r.route.name(), "err", err)
		}
	case fault.NoInbox:
		if r.address != "" {
			detail = sealed.Veil(noInbox(r.address).Detail) // deleted after admission
		}
	}
	return status, detail
}

// classify returns the fault in err. A context that ended means that the work took too long, and
// its outcome is unknown.
func classify(err error) *fault.Error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault.Wrap(fault.Unavailable, detailUnavailable, err)
	}
	return fault.Wrap(fault.Internal, detailInternal, err)
}

// retryAfter returns whole seconds, rounded up (RFC 9110 section 10.2.3).
func retryAfter(d time.Duration) string {
	if d <= 0 {
		d = retryAfterDefault
	}
	return strconv.Itoa(int(math.Ceil(d.Seconds())))
}

// survive turns a panic of a handler into a 500 response. fasthttp would end the process.
func (s *Server) survive(c *fasthttp.RequestCtx) {
	if p := recover(); p != nil {
		s.opts.Logger.Error("http: a handler panicked", "request", wire.RequestID(c), "err", fault.Panicked(p), "stack", string(debug.Stack()))
		writeDetail(c, fasthttp.StatusInternalServerError, detailInternal)
	}
}

func (s *Server) notFound(c *fasthttp.RequestCtx) {
	writeDetail(c, fasthttp.StatusNotFound, detailNoPath)
}

// methodNotAllowed responds 405. The router has already set Allow.
func (s *Server) methodNotAllowed(c *fasthttp.RequestCtx) {
	writeDetail(c, fasthttp.StatusMethodNotAllowed, sealed.Veil(fmt.Sprintf("This path does not support %s. The Allow header lists the supported methods", c.Method())))
}
