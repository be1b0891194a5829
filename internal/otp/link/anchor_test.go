package link

import "testing"

// A link behind a click counter says nothing by its URL, but a person reads its text.
func TestVerificationLinkByItsText(t *testing.T) {
	const a, b, bare = "https://click.example/ls/c?upn=u001.9f8e7d6c5b4a39281706", "https://click.example/ls/c?upn=u001.11223344556677889900", "https://shop.example/"
	for _, c := range []struct {
		name    string
		anchors []Anchor
		want    string
	}{
		{"verify", []Anchor{{bare, "Shop"}, {a, "Verify my email"}, {b, "Unsubscribe"}}, a},
		{"german", []Anchor{{b, "Hilfe"}, {a, "E-Mail-Adresse bestätigen"}}, a},
		{"japanese", []Anchor{{a, "メールアドレスを確認する"}, {b, "配信停止"}}, a},
		{"arabic", []Anchor{{a, "تأكيد البريد الإلكتروني"}}, a},
		{"twice", []Anchor{{a, "Sign in"}, {a, "Sign in to Shop"}}, a},
		{"two that differ", []Anchor{{a, "Verify"}, {b, "Log in"}}, ""},
		{"not this one", []Anchor{{a, "Cancel the sign in"}, {b, "Didn't sign in? Tell us"}}, ""},
		{"no secret", []Anchor{{bare, "Log in"}}, ""},
		{"newsletter", []Anchor{{a, "Read more"}, {b, "View in browser"}}, ""},
	} {
		if got := Find(Mail{Links: []string{bare, a, b}, Anchors: c.anchors}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
