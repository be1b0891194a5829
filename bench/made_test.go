package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// onceSignedUp is a server that signs up one account and refuses the next; its keys cannot be listed where broken.
func onceSignedUp(t *testing.T, broken bool) (url string) {
	t.Helper()
	signedUp := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch refused := signedUp; {
		case r.URL.Path == "/api/auth/signup":
			if signedUp = true; refused {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		case r.Method == http.MethodGet && broken:
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, `{"session_token":"s","key":"k","keys":[],"inboxes":[],"next_cursor":null,"ok":true}`)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// An account that was signed up before the run failed is named, and no more is said of it than is true.
func TestAnAccountOfARunThatFailsIsNamed(t *testing.T) {
	for want, broken := range map[string]bool{"stays, empty; on the server": false, "stays, with what could not be removed; on the server": true} {
		opts := ServerOptions{BaseURL: onceSignedUp(t, broken), SMTP: "127.0.0.1:1", Accounts: 2, Dir: t.TempDir()}
		if _, err := Prepare(t.Context(), "test", opts); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "account 2 of 2") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
