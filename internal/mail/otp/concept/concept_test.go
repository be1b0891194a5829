package concept

import (
	"strings"
	"testing"
)

// What words ask for is told in any language, by stems, inside of compounds, and in addresses.
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
		{"Your order was shipped", Order},
		{"Se désinscrire", Unsubscribe},
		{"Larch and birch", 0},
		{"", 0},
	} {
		got := InText(Spell(nil, c.text))
		if got&c.want != c.want || c.want == 0 && got != 0 {
			t.Errorf("%q: %b, want %b", c.text, got, c.want)
		}
	}
	if got := InURL([]byte(" account verify email")); !got.Has(Confirm) {
		t.Errorf("verify email: %b", got)
	}
}

// A text that was folded before means the same, in its own memory too.
func TestRespell(t *testing.T) {
	folded := []byte("e-mail,\n(sign  in)")
	if got := string(Respell(folded, folded)); got != "e mail sign in " {
		t.Errorf("%q", got)
	}
}

// What a set says first is what it asks for; what it asks for and against is both.
func TestSays(t *testing.T) {
	for want, set := range map[string]Set{"asks": Confirm | Done, "other": Order | Follow, "both": Confirm | Decline, "done": Done | Follow, "go": Follow, "": Email} {
		if got := Leanings[set.Says()]; got != want {
			t.Errorf("%b: %q, want %q", set, got, want)
		}
	}
}

// A long text without blanks is read in time that grows with it.
func TestLongText(t *testing.T) {
	if got := InText([]byte(strings.Repeat("confirmconfirm", 1<<16))); !got.Has(Confirm) {
		t.Errorf("%b", got)
	}
}
