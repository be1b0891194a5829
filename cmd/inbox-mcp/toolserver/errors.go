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
	panicked  = "Internal error in the tool server. Its log has the details"
	cancelled = "Cancelled before a result was available"
	stopping  = "Cancelled because the tool server is stopping. Nothing is lost: call again when it is back"
)

// refusal is an error sentence of the tool server itself.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// sentence returns the text about an error for a model. If the API returned an error, it is the
// API's sentence, unchanged.
func (s *Server) sentence(ctx context.Context, err error) string {
	var own refusal
	var said *client.Error
	switch {
	case errors.As(err, &own):
		return string(own)
	case errors.As(err, &said) && !said.Foreign:
		return said.Detail
	case s.stop.Err() != nil && errors.Is(err, context.Canceled):
		return stopping
	case errors.Is(ctx.Err(), context.Canceled):
		return cancelled
	case said != nil:
		return s.unreachable(said.Detail)
	}
	return s.unreachable(cause(err))
}

func (s *Server) unreachable(cause string) string {
	return Unreachable(s.api.BaseURL, cause)
}

// Unreachable returns the sentence that there is no inbox server at base.
func Unreachable(base, cause string) string {
	return fmt.Sprintf("The inbox server at %s gave no valid response: %s. Check --base-url", base, cause)
}

// cause returns the underlying cause of a failed request, without the request.
func cause(err error) string {
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

// Cause returns the sentence for a person about a request that got no response.
func Cause(err error) string {
	var said *client.Error
	if errors.As(err, &said) {
		return said.Detail
	}
	return cause(err)
}

// pause is the wait before the only retry of a request whose response was lost.
const pause = 200 * time.Millisecond

// once makes a request. It retries it, with the same idempotency key, if the response was lost or
// the service was overloaded. The key makes sure that the request is executed once.
func once[T any](ctx context.Context, order func() (T, error)) (T, error) {
	out, err := order()
	if !passes(err) || ctx.Err() != nil {
		return out, err
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return out, err
	}
	return order()
}

// passes reports whether an error may be gone when the request is retried.
func passes(err error) bool {
	var said *client.Error
	if errors.As(err, &said) {
		return said.Status == 503 && said.RetryAfter > 0
	}
	return err != nil
}

func stack() string { return string(debug.Stack()) }
