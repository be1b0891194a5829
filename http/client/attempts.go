package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	idempotencyKey = "Idempotency-Key"
	defaultRepeats = 2
	defaultTimeout = 30 * time.Second
	// longestBackOff limits our own pause between retries; longestPause limits one that the service
	// requests.
	longestBackOff = 8 * time.Second
)

// repeats returns how often a call of c may be retried.
func repeats(c *Client) int {
	if c.Retries == 0 {
		return defaultRepeats
	}
	return max(0, c.Retries)
}

// attempts makes the call and retries it where that is safe. read processes the response, whose
// body attempts closes. All attempts have the same idempotency key.
func attempts(ctx context.Context, c *Client, k call, read func(*http.Response) error) error {
	if k.once && k.header == nil && repeats(c) > 0 {
		k = k.named(rand.Text())
	}
	limit, limited, cancel := limits(ctx, c, k)
	defer cancel()
	for n := 0; ; n++ {
		err := attempt(limited, c, k, read)
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case limited.Err() != nil:
			return fmt.Errorf("client: %s %s: no response within %v: %w", k.method, k.path, limit, limited.Err())
		case n >= repeats(c) || !k.mayRepeat(err):
			return err
		}
		pause := max(backOff(n), askedPause(err))
		if end, ends := limited.Deadline(); pause > longestPause || ends && time.Until(end) < pause {
			return err
		}
		if rest(limited, pause) != nil {
			return err
		}
	}
}

// limits applies the time limit of a call: that of the client plus the wait that it requests.
func limits(ctx context.Context, c *Client, k call) (time.Duration, context.Context, context.CancelFunc) {
	if c.Timeout < 0 {
		return 0, ctx, func() {}
	}
	limit := c.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	seconds, _ := strconv.Atoi(k.query.Get("wait")) // 0: no wait
	limit += time.Duration(seconds) * time.Second
	limited, cancel := context.WithTimeout(ctx, limit)
	return limit, limited, cancel
}

func attempt(ctx context.Context, c *Client, k call, read func(*http.Response) error) error {
	resp, err := open(ctx, c, k)
	if err != nil {
		return err
	}
	return errors.Join(read(resp), resp.Body.Close())
}

// mayRepeat reports whether a failed call may be retried: it was certainly not executed, or may be
// executed twice.
func (k call) mayRepeat(err error) bool {
	twice := k.harmless || k.method == http.MethodGet || k.method == http.MethodPut || k.header.Get(idempotencyKey) != ""
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusTooManyRequests ||
			twice && refused.Status >= 500 && refused.Status != http.StatusInsufficientStorage
	}
	return broke(err) && (twice || neverSent(err))
}

// broke reports whether the connection failed, as opposed to an invalid URL.
func broke(err error) bool {
	var u *url.Error
	return !errors.As(err, &u) || u.Op != "parse"
}

// neverSent reports whether no connection was made.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// passes reports whether an error is likely to be temporary, such as a restart of the service.
func passes(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status >= 500 || refused.Status == http.StatusTooManyRequests
	}
	return broke(err)
}

// backOff returns the pause before retry n, from 0: it doubles, with jitter.
func backOff(n int) time.Duration {
	d := min(200*time.Millisecond<<min(n, 10), longestBackOff)
	return d*3/4 + mathrand.N(d/2)
}

// askedPause returns the pause that an error response requests; 0: none.
func askedPause(err error) time.Duration {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.RetryAfter
	}
	return 0
}
