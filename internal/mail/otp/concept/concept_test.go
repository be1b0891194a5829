package concept

import (
	"strings"
	"testing"
)

// TestWords checks words of several languages by their stems, inside compounds, and in URLs.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want Set
	}{
		{"Confirm your e-mail address", Confirm | Email},
		{"Bitte bestätigen Sie Ihre Anmeldung", Confirm},
		{"Войти в аккаунт", SignIn},
		{"パスワード再設定", Reset | Password},
		{"Firma il contratto", Approve},
		{"Your order was shipped", OrderOrPayment},
		{"Se désinscrire", Unsubscribe},
		{"Larch and birch", 0},
		{"", 0},
	} {
		got := InText(NormalizeText(nil, c.text))
		if got&c.want != c.want || c.want == 0 && got != 0 {
			t.Errorf("%q: %b, want %b", c.text, got, c.want)
		}
	}
	if got := InURL([]byte(" account verify email")); !got.HasAny(Confirm) {
		t.Errorf("verify email: %b", got)
	}
}

// TestRespell checks that NormalizeFolded accepts a folded text, also in place.
func TestRespell(t *testing.T) {
	folded := []byte("e-mail,\n(sign  in)")
	if got := string(NormalizeFolded(folded, folded)); got != "e mail sign in " {
		t.Errorf("%q", got)
	}
}

// TestSays checks the order of the cases of Set.LeaningIndex.
func TestSays(t *testing.T) {
	for want, set := range map[string]Set{"asks": Confirm | AlreadyDone, "other": OrderOrPayment | FollowLink, "both": Confirm | Decline, "done": AlreadyDone | FollowLink, "go": FollowLink, "": Email} {
		if got := LeaningValues[set.LeaningIndex()]; got != want {
			t.Errorf("%b: %q, want %q", set, got, want)
		}
	}
}

// TestLongText checks that a long text without spaces takes linear time.
func TestLongText(t *testing.T) {
	if got := InText([]byte(strings.Repeat("confirmconfirm", 1<<16))); !got.HasAny(Confirm) {
		t.Errorf("%b", got)
	}
}
