package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime/debug"
	"syscall"
	"time"

	"inboxd/http/client"
)

const (
	panicMessage     = "Internal error in the tool server. Its log has the details"
	cancelledMessage = "Cancelled before a result was available"
	stoppingMessage  = "Cancelled because the tool server is stopping. Nothing is lost: call again when it is back"
)

// refusalError is an error sentence of the tool server itself.
type refusalError string

func (r refusalError) Error() string { return string(r) }

func newRefusal(format string, args ...any) error { return refusalError(fmt.Sprintf(format, args...)) }

// errorSentence returns the text about an error for a model. If the API returned an error, it is the
// API's sentence, unchanged.
func (s *Server) errorSentence(ctx context.Context, err error) string {
	var own refusalError
	var said *client.Error
	switch {
	case errors.As(err, &own):
		return string(own)
	case errors.As(err, &said) && !said.Foreign:
		return said.Detail
	case s.stopContext.Err() != nil && errors.Is(err, context.Canceled):
		return stoppingMessage
	case errors.Is(ctx.Err(), context.Canceled):
		return cancelledMessage
	case said != nil:
		return s.unreachableSentence(said.Detail)
	}
	return s.unreachableSentence(rootCause(err))
}

func (s *Server) unreachableSentence(cause string) string {
	return UnreachableSentence(s.apiClient.BaseURL, cause)
}

// UnreachableSentence returns the sentence that there is no inbox server at base.
func UnreachableSentence(base, cause string) string {
	return fmt.Sprintf("The inbox server at %s gave no valid response: %s. Check --base-url", base, cause)
}

// rootCause returns the underlying cause of a failed request, without the request.
func rootCause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was closed"
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	}
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return fmt.Sprintf("unknown host name %s", lookup.Name)
	}
	return err.Error()
}

// CauseSentence returns the sentence for a person about a request that got no response.
func CauseSentence(err error) string {
	var said *client.Error
	if errors.As(err, &said) {
		return said.Detail
	}
	return rootCause(err)
}

// retryPause is the wait before the only retry of a request whose response was lost.
const retryPause = 200 * time.Millisecond

// callIdempotently makes a request. It retries it, with the same idempotency key, if the response
// was lost or the service was overloaded. The key makes sure that the request is executed once.
func callIdempotently[T any](ctx context.Context, order func() (T, error)) (T, error) {
	out, err := order()
	if !isTransient(err) || ctx.Err() != nil {
		return out, err
	}
	select {
	case <-time.After(retryPause):
	case <-ctx.Done():
		return out, err
	}
	return order()
}

// isTransient reports whether an error may be gone when the request is retried.
func isTransient(err error) bool {
	var said *client.Error
	if errors.As(err, &said) {
		return said.Status == 503 && said.RetryAfter > 0
	}
	return err != nil
}

func stackTrace() string { return string(debug.Stack()) }
