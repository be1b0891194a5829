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

// faultStatuses is the only mapping from the kind of a fault to the status of a response
// (specification, Errors).
var faultStatuses = map[fault.ErrorKind]int{
	fault.Internal:               fasthttp.StatusInternalServerError,
	fault.Unauthenticated:        fasthttp.StatusUnauthorized,
	fault.Forbidden:              fasthttp.StatusForbidden,
	fault.NoInbox:                fasthttp.StatusForbidden,
	fault.NotFound:               fasthttp.StatusNotFound,
	fault.InvalidRequest:         fasthttp.StatusUnprocessableEntity,
	fault.Refused:                fasthttp.StatusBadRequest,
	fault.TooLarge:               fasthttp.StatusRequestEntityTooLarge,
	fault.TooMany:                fasthttp.StatusTooManyRequests,
	fault.InboxFull:              fasthttp.StatusBadRequest,
	fault.StorageFull:            fasthttp.StatusInsufficientStorage,
	fault.TemporarilyUnavailable: fasthttp.StatusServiceUnavailable,
	fault.DataDamaged:            fasthttp.StatusInternalServerError,
	fault.MovedAway:              fasthttp.StatusServiceUnavailable,
	fault.UnsupportedContent:     fasthttp.StatusUnsupportedMediaType,
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
	errCrowded        error = fault.New(fault.TemporarilyUnavailable, detailUnavailable)
	errBodyTooLarge   error = fault.New(fault.TooLarge, "The request body is too large")
)

func missingScope(need account.ScopeSet) error {
	return fault.New(fault.Forbidden, "This API key is missing the required scope: "+need.String())
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

// clientMessage returns the sentence of a fault for the client.
func clientMessage(f *fault.Error) string {
	if f.FieldName != "" {
		return fmt.Sprintf("Invalid request: '%s' %s", f.FieldName, f.Detail)
	}
	return f.Detail
}

// failRequest responds with err.
func (s *Server) failRequest(r *apiRequest, err error) {
	status, detail := s.classifyError(r, err)
	f := faultOf(err)
	switch f.Kind {
	case fault.Unauthenticated:
		r.httpCtx.Response.Header.Set("WWW-Authenticate", "Bearer")
	case fault.TooMany, fault.TemporarilyUnavailable, fault.MovedAway:
		r.httpCtx.Response.Header.Set("Retry-After", retryAfter(f.RetryAfter))
	case fault.UnsupportedContent: // only for content codings, RFC 9110 section 15.5.16
		r.httpCtx.Response.Header.SetCanonical(headerAcceptEncoding, codingIdentity)
	}
	writeDetail(r.httpCtx, status, detail)
}

// classifyError returns the status and the sentence for err. Errors of the service are logged here, and
// only here. The log line contains nothing of the request except the route.
func (s *Server) classifyError(r *apiRequest, err error) (status int, detail string) {
	f := faultOf(err)
	status, detail = faultStatuses[f.Kind], sealed.RedactKeys(clientMessage(f))
	switch f.Kind {
	case fault.Internal:
		detail = detailInternal
		s.opts.Logger.Error("http: request failed", "request", wire.RequestID(r.httpCtx), "route", r.route.routeName(), "err", err)
	case fault.TemporarilyUnavailable, fault.StorageFull:
		if f.Err != nil { // without a cause it is overload, and a log line per request would add to it
			s.opts.Logger.Warn("http: request deferred", "request", wire.RequestID(r.httpCtx), "route", r.route.routeName(), "err", err)
		}
	case fault.NoInbox:
		if r.inboxAddress != "" {
			detail = sealed.RedactKeys(noInbox(r.inboxAddress).Detail) // deleted after admission
		}
	}
	return status, detail
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
		writeDetail(c, fasthttp.StatusInternalServerError, detailInternal)
	}
}

func (s *Server) notFound(c *fasthttp.RequestCtx) {
	writeDetail(c, fasthttp.StatusNotFound, detailNoPath)
}

// methodNotAllowed responds 405. The router has already set Allow.
func (s *Server) methodNotAllowed(c *fasthttp.RequestCtx) {
	writeDetail(c, fasthttp.StatusMethodNotAllowed, sealed.RedactKeys(fmt.Sprintf("This path does not support %s. The Allow header lists the supported methods", c.Method())))
}
