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

// maxRepeats returns how often a call of c may be retried.
func maxRepeats(c *Client) int {
	if c.Retries == 0 {
		return defaultRepeats
	}
	return max(0, c.Retries)
}

// attemptCall makes the call and retries it where that is safe. read processes the response, whose
// body attempts closes. All attempts have the same idempotency key.
func attemptCall(ctx context.Context, c *Client, k apiCall, read func(*http.Response) error) error {
	if k.isNamed && k.extraHeader == nil && maxRepeats(c) > 0 {
		k = k.withName(rand.Text())
	}
	limit, limited, cancel := callTimeout(ctx, c, k)
	defer cancel()
	for n := 0; ; n++ {
		err := attemptOnce(limited, c, k, read)
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case limited.Err() != nil:
			return fmt.Errorf("client: %s %s: no response within %v: %w", k.method, k.path, limit, limited.Err())
		case n >= maxRepeats(c) || !k.mayRepeat(err):
			return err
		}
		pause := max(backOff(n), askedPause(err))
		if end, ends := limited.Deadline(); pause > longestPause || ends && time.Until(end) < pause {
			return err
		}
		if sleepFor(limited, pause) != nil {
			return err
		}
	}
}

// callTimeout applies the time limit of a call: that of the client plus the wait that it requests.
func callTimeout(ctx context.Context, c *Client, k apiCall) (time.Duration, context.Context, context.CancelFunc) {
	if c.Timeout < 0 {
		return 0, ctx, func() {}
	}
	limit := c.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	seconds, _ := strconv.Atoi(k.queryValues.Get("wait")) // 0: no wait
	limit += time.Duration(seconds) * time.Second
	limited, cancel := context.WithTimeout(ctx, limit)
	return limit, limited, cancel
}

func attemptOnce(ctx context.Context, c *Client, k apiCall, read func(*http.Response) error) error {
	resp, err := openCall(ctx, c, k)
	if err != nil {
		return err
	}
	return errors.Join(read(resp), resp.Body.Close())
}

// mayRepeat reports whether a failed call may be retried: it was certainly not executed, or may be
// executed twice.
func (k apiCall) mayRepeat(err error) bool {
	twice := k.isRepeatable || k.method == http.MethodGet || k.method == http.MethodPut || k.extraHeader.Get(idempotencyKey) != ""
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusTooManyRequests ||
			twice && refused.Status >= 500 && refused.Status != http.StatusInsufficientStorage
	}
	return isConnectionError(err) && (twice || neverSent(err))
}

// isConnectionError reports whether the connection failed, as opposed to an invalid URL.
func isConnectionError(err error) bool {
	var u *url.Error
	return !errors.As(err, &u) || u.Op != "parse"
}

// neverSent reports whether no connection was made.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// isTemporary reports whether an error is likely to be temporary, such as a restart of the service.
func isTemporary(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status >= 500 || refused.Status == http.StatusTooManyRequests
	}
	return isConnectionError(err)
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
