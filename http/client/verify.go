package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrWebhook is wrapped by every error of VerifyWebhook: the request must not be trusted. Respond
// with 400.
var ErrWebhook = errors.New("invalid webhook")

// Tolerance is how far the time of signing may differ from now in VerifyWebhook.
const Tolerance = 5 * time.Minute

// VerifyWebhook checks that a POST came from the service (standard-webhooks) and returns its event.
// body are the bytes as received: JSON that was parsed and encoded again does not match. secret is
// the webhook's secret as returned when it was created, "whsec_...".
func VerifyWebhook(body []byte, header http.Header, secret string) (Event, error) {
	return VerifyWebhookAt(body, header, secret, time.Now(), Tolerance)
}

// VerifyWebhookAt is VerifyWebhook with a given time and tolerance.
func VerifyWebhookAt(body []byte, header http.Header, secret string, now time.Time, tolerance time.Duration) (Event, error) {
	id, stamp, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || stamp == "" || signatures == "" {
		return Event{}, fmt.Errorf("%w: webhook-id, webhook-timestamp or webhook-signature is missing", ErrWebhook)
	}
	seconds, err := strconv.ParseUint(stamp, 10, 50)
	if err != nil {
		return Event{}, fmt.Errorf("%w: webhook-timestamp is not a number of seconds", ErrWebhook)
	}
	if off := now.Sub(time.Unix(int64(seconds), 0)); off > tolerance {
		return Event{}, fmt.Errorf("%w: it was signed %.0f seconds ago: it is too old, or a clock is wrong", ErrWebhook, off.Seconds())
	} else if -off > tolerance {
		return Event{}, fmt.Errorf("%w: it was signed %.0f seconds ahead of this clock", ErrWebhook, -off.Seconds())
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 { // anybody could sign with an empty key
		return Event{}, fmt.Errorf("%w: invalid secret (use whsec_ followed by base64)", ErrWebhook)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, stamp)
	mac.Write(body)
	want := mac.Sum(nil)
	for one := range strings.SplitSeq(signatures, " ") {
		text, versioned := strings.CutPrefix(one, "v1,")
		got, err := base64.StdEncoding.DecodeString(text)
		if !versioned || err != nil || !hmac.Equal(got, want) {
			continue
		}
		var e Event
		if err := json.Unmarshal(body, &e); err != nil {
			return Event{}, fmt.Errorf("%w: the signature is valid, but the body is not an event: %w", ErrWebhook, err)
		}
		return e, nil
	}
	return Event{}, fmt.Errorf("%w: no signature matches: the body was changed, or the secret belongs to another webhook", ErrWebhook)
}
