package inbox

import (
	"slices"
	"testing"

	"inboxd/internal/core/account"
)

// TestARecipientNamedTwiceCountsOnce checks all spellings. A recipient in the header is not a blind
// copy.
func TestARecipientNamedTwiceCountsOnce(t *testing.T) {
	l := SendRequest{
		To: "bob@far.test", Cc: []string{"BOB@far.test", "m\u00fcller@far.test", "bob@far.test"},
		Bcc: []string{"bob@far.test", "mu\u0308ller@far.test", "eve@far.test", "bob+tag@far.test", "Eve@far.test"},
	}
	var got []string
	for _, r := range l.Recipients() {
		if r.Bcc {
			r.Email = "bcc " + r.Email
		}
		got = append(got, r.Email)
	}
	if want := []string{"bob@far.test", "m\u00fcller@far.test", "bcc eve@far.test", "bcc bob+tag@far.test"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got, want := l.QuotaCount(), (account.CountSend{RecipientCount: 4}); got != want {
		t.Errorf("%+v", got)
	}
}
