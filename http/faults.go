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

	"inboxd/http/errorbody"
	"inboxd/http/wire"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

const (
	detailInternal    = "Internal error. The operator can find it in the log by the request id in X-Request-Id"
	detailUnavailable = "The service is busy, try again soon"
	detailNoPath      = "Unknown path. GET /docs lists all paths"
	retryAfterDefault = time.Second
)

var (
	errNoPath         error = &fault.Error{Kind: fault.NotFound, Code: fault.CodeUnknownPath, Detail: detailNoPath}
	errNoCredential   error = fault.New(fault.Unauthenticated, "A valid API key is required")
	errNoSession      error = fault.New(fault.Unauthenticated, "A valid session token is required. Log in to get one")
	errTwoCredentials error = fault.Refuse(fault.CodeBadRequest, "The request is ambiguous: it has two credentials. Send only one")
	errCrowded        error = fault.New(fault.TemporarilyUnavailable, detailUnavailable)
	errBodyTooLarge   error = fault.New(fault.TooLarge, "The request body is too large")
)

func missingScope(need account.ScopeSet) error {
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeScopeMissing, Detail: "This API key is missing the required scope: " + need.String()}
}

// noInbox returns the same bytes for another account's inbox, a deleted inbox and one that never
// existed.
func noInbox(address string) *fault.Error {
	return fault.New(fault.NoInbox, fmt.Sprintf("No inbox %s for this API key", address))
}

// invalidFault returns an error that concerns no known field.
func invalidFault(format string, args ...any) error {
	return fault.New(fault.InvalidRequest, "Invalid request: "+fmt.Sprintf(format, args...))
}

// failRequest responds with err.
func (s *Server) failRequest(r *apiRequest, err error) {
	f := s.reportError(r, err)
	switch f.Kind {
	case fault.Unauthenticated:
		r.httpCtx.Response.Header.Set("WWW-Authenticate", "Bearer")
	case fault.TooMany, fault.TemporarilyUnavailable, fault.MovedAway:
		r.httpCtx.Response.Header.Set("Retry-After", retryAfter(f.RetryAfter))
	case fault.UnsupportedContent: // only for content codings, RFC 9110 section 15.5.16
		r.httpCtx.Response.Header.SetCanonical(headerAcceptEncoding, codingIdentity)
	}
	writeJSON(r.httpCtx, errorbody.Status(f), errorbody.Of(f))
}

// reportError returns err as the client may see it. Errors of the service are logged here, and only
// here. The log line contains nothing of the request except the route.
func (s *Server) reportError(r *apiRequest, err error) *fault.Error {
	f := faultOf(err)
	switch f.Kind {
	case fault.Internal:
		s.opts.Logger.Error("http: request failed", "request", wire.RequestID(r.httpCtx), "route", r.route.routeName(), "err", err)
		return fault.New(fault.Internal, detailInternal)
	case fault.TemporarilyUnavailable, fault.StorageFull:
		if f.Err != nil { // without a cause it is overload, and a log line per request would add to it
			s.opts.Logger.Warn("http: request deferred", "request", wire.RequestID(r.httpCtx), "route", r.route.routeName(), "err", err)
		}
	case fault.NoInbox:
		if r.inboxAddress != "" {
			return noInbox(r.inboxAddress) // deleted after admission
		}
	}
	return f
}

// writeRefusal responds with an error that no fault causes.
func writeRefusal(c *fasthttp.RequestCtx, status int, detail string) {
	writeJSON(c, status, errorbody.OfStatus(status, detail))
}

// faultOf returns the fault in err. A context that ended means that the work took too long, and
// its outcome is unknown.
func faultOf(err error) *fault.Error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault.Wrap(fault.TemporarilyUnavailable, detailUnavailable, err)
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

// recoverPanic turns a panic of a handler into a 500 response. fasthttp would end the process.
func (s *Server) recoverPanic(c *fasthttp.RequestCtx) {
	if p := recover(); p != nil {
		s.opts.Logger.Error("http: a handler panicked", "request", wire.RequestID(c), "err", fault.DescribePanic(p), "stack", string(debug.Stack()))
		writeRefusal(c, fasthttp.StatusInternalServerError, detailInternal)
	}
}

func (s *Server) notFound(c *fasthttp.RequestCtx) {
	writeRefusal(c, fasthttp.StatusNotFound, detailNoPath)
}

// methodNotAllowed responds 405. The router has already set Allow.
func (s *Server) methodNotAllowed(c *fasthttp.RequestCtx) {
	writeRefusal(c, fasthttp.StatusMethodNotAllowed, fmt.Sprintf("This path does not support %s. The Allow header lists the supported methods", c.Method()))
}
