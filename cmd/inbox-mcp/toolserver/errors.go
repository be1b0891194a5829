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

// refusal is a sentence of the tool server's own.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// sentence is what a model is told of an error: what the API said of it, whole and alone, where the
// API said something.
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

// Unreachable says that no inbox server answers at base.
func Unreachable(base, cause string) string {
	return fmt.Sprintf("The inbox server at %s gave no valid response: %s. Check --base-url", base, cause)
}

// cause is what lies at the bottom of a failed request, without the request.
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

// Cause is what a person is told of an error of a call that got no answer.
func Cause(err error) string {
	var said *client.Error
	if errors.As(err, &said) {
		return said.Detail
	}
	return cause(err)
}

// pause before the one repeat of an order whose answer was lost.
const pause = 200 * time.Millisecond

// once gives an order, and gives it again under the same name when its answer was lost or the service
// was overrun for the moment: what bears a name is done once, whatever is repeated.
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

// passes reports whether an error may be gone when the call is repeated.
func passes(err error) bool {
	var said *client.Error
	if errors.As(err, &said) {
		return said.Status == 503 && said.RetryAfter > 0
	}
	return err != nil
}

func stack() string { return string(debug.Stack()) }
