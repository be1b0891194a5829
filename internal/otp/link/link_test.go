package link

import (
	"strings"
	"testing"
)

func TestVerificationLink(t *testing.T) {
	const unsubscribe = "https://example.com/unsubscribe?token=9f8e7d6c5b4a39281706"
	const help = "https://example.com/help/verify-email?article=482913"
	for _, c := range []struct {
		name  string
		links []string
		want  string // of the links; "" for none
	}{
		{"none", nil, ""},
		{"plain pages", []string{"https://example.com/", "https://example.com/login", "https://example.com/pricing"}, ""},
		{"verify", []string{"https://example.com/verify?token=abc123def456", unsubscribe}, "https://example.com/verify?token=abc123def456"},
		{"after others", []string{help, unsubscribe, "https://example.com/confirm/9f8e7d6c5b4a39281706"}, "https://example.com/confirm/9f8e7d6c5b4a39281706"},
		{"activate", []string{"http://example.com/users/activate/MTIz/abc-9f8e7d6c5b4a"}, "http://example.com/users/activate/MTIz/abc-9f8e7d6c5b4a"},
		{"magic", []string{"https://example.com/auth/magic-link/9f8e7d6c5b4a39281706"}, "https://example.com/auth/magic-link/9f8e7d6c5b4a39281706"},
		{"signin", []string{"https://example.com/signin?t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIi", "https://example.com/signin"}, "https://example.com/signin?t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIi"},
		{"secret by name", []string{"https://cloud.example/v1/account?userId=66f1a2b3&secret=90ab12cd34ef5678&expire=1767225600"}, "https://cloud.example/v1/account?userId=66f1a2b3&secret=90ab12cd34ef5678&expire=1767225600"},
		{"camel case", []string{"https://example.com/__/auth/action?mode=verifyEmail&oobCode=Xy12Zt"}, "https://example.com/__/auth/action?mode=verifyEmail&oobCode=Xy12Zt"},
		{"fragment", []string{"https://example.com/auth/verify?rid=passwordless&preAuthSessionId=Qk83hs#0192837465"}, "https://example.com/auth/verify?rid=passwordless&preAuthSessionId=Qk83hs#0192837465"},
		{"no secret", []string{"https://example.com/verify-email", "https://example.com/login"}, "https://example.com/verify-email"},
		{"twice the same", []string{"https://example.com/verify?token=abc123def456", "https://example.com/verify?token=abc123def456"}, "https://example.com/verify?token=abc123def456"},
		{"two that differ", []string{"https://example.com/verify?token=abc123def456", "https://example.com/verify?token=zzz999yyy888"}, ""},
		{"two, one refuses", []string{"https://example.com/verify?token=abc123def456", "https://example.com/verify/cancel?token=abc123def456"}, "https://example.com/verify?token=abc123def456"},
		{"not me", []string{"https://example.com/login/not-me?token=abc123def456"}, ""},
		{"unsubscribe", []string{unsubscribe, "https://example.com/email/preferences?token=abc123def456"}, ""},
		{"help", []string{help}, ""},
		{"return address", []string{"https://example.com/start?redirect=https%3A%2F%2Fexample.com%2Fverify"}, ""},
		{"reset", []string{"https://example.com/password/reset?token=abc123def456", "https://example.com/"}, "https://example.com/password/reset?token=abc123def456"},
		{"verify beats reset", []string{"https://example.com/password/reset?token=abc123def456", "https://example.com/verify?token=abc123def456"}, "https://example.com/verify?token=abc123def456"},
		{"click tracker", []string{"https://click.example.com/ls/click?upn=u001.9f8e7d6c5b4a39281706abcdef"}, ""},
		{"no web link", []string{"mailto:verify@example.com", "ftp://example.com/verify?token=abc123def456", "x", ""}, ""},
	} {
		if got := Find(Mail{Links: c.links}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A plain text says before a link what it does.
func TestSpokenLinks(t *testing.T) {
	const link = "https://tern.example/a/9f8a7b6c5d4e3f2a"
	for text, want := range map[string]string{
		"Hi Mara,\nclick here to sign in: " + link + "\nBye":                link,
		"Confirm your address:\n\n" + link + "\n":                           link,
		"Cliquez ici pour vous connecter :\n<" + link + ">":                 link,
		"Mit diesem Link melden Sie sich an. Jetzt anmelden:\n" + link:      link,
		"If you didn't sign in, report it here: " + link:                    "",
		"Read our newsletter: " + link:                                      "",
		"Sign in to see the news.\n\nAll issues are listed there:\n" + link: "",
		"Sign in here: https://tern.example/login":                          "",
	} {
		url := link
		if strings.HasSuffix(text, "/login") {
			url = "https://tern.example/login"
		}
		if got := Find(Mail{Text: text, Links: []string{url}}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
