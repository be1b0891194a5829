package link

import (
	"inboxd/internal/testutil/budget"
	"slices"
	"strings"
	"testing"
	"time"
)

// one returns a message with a single link in HTML.
func one(subject, said, url string) SearchInput {
	return SearchInput{Subject: subject, VisibleText: "Hello Mara,\n" + said + "\nBye", Links: []string{url}, Anchors: []Anchor{{URL: url, Text: said}}}
}

// TestFeatures has a message for each feature, in which it has the wanted value.
func TestFeatures(t *testing.T) {
	const secret = "https://tern.example/v/9f8e7d6c5b4a3928"
	text := func(s string, links ...string) SearchInput { return SearchInput{Text: s, Links: links} }
	for _, c := range []struct {
		feature, value string
		mail           SearchInput
	}{
		{"secret", "", one("", "Verify", "https://tern.example/verify/now")},
		{"secret", "digits", one("", "Verify", "https://tern.example/verify/482913")},
		{"secret", "short", one("", "Verify", "https://tern.example/verify/9f8e7d6c")},
		{"secret", "long", one("", "Verify", secret)},
		{"secret", "named", one("", "Verify", "https://tern.example/verify?token=abcd")},
		{"secret", "", one("", "Verify", "https://tern.example/verify?utm_source=9f8e7d6c5b4a3928")},
		{"secret", "tiny", one("", "Verify", "https://tern.example/M/k3Q")},
		{"secret", "", one("", "Verify", "https://tern.example/M/about")},
		{"stronger", "most", SearchInput{Links: []string{"https://tern.example/a/9f8e7d", secret}, Text: "Verify: " + secret}},
		{"stronger", "equal", SearchInput{Links: []string{secret + "1", secret}, Text: "Verify: " + secret}},
		{"stronger", "less", SearchInput{Links: []string{secret, "https://tern.example/a/9f8e7d"}, Text: "Verify: " + secret}},
		{"parts", "3", one("", "Verify", "https://tern.example/v/417?k=9f8e7d")},
		{"placeholder", "yes", one("", "Verify", "https://tern.example/v?token=YOUR_TOKEN")},
		{"placeholder", "yes", one("", "Verify", "https://tern.example/v/%7Btoken%7D")},
		{"placeholder", "yes", one("", "Verify", "https://tern.example/v/:token")},
		{"placeholder", "yes", text("Verify: https://tern.example/v/{token}", "https://tern.example/v/")},
		{"placeholder", "yes", text("Verify: https://tern.example/v?t=...", "https://tern.example/v?t=")},
		{"placeholder", "", text("Verify: <"+secret+">", secret)},
		{"placeholder", "", one("", "Verify", "https://tern.example/v?token=TK_4f81")},
		{"api", "yes", one("", "Verify", "https://tern.example/api/verify")},
		{"api", "yes", one("", "Verify", "https://api.tern.example/verify")},
		{"program", "yes", text("curl -X POST "+secret, secret)},
		{"program", "yes", text("Request: GET "+secret, secret)},
		{"program", "yes", text("url = \""+secret+"\"", secret)},
		{"program", "", text("\""+secret+"\"", secret)},
		{"code", "shown", text("Your code 482913 or "+secret, secret)},
		{"code", "alone", text("Your code:\n482 913\nor "+secret, secret)},
		{"code", "carried", text("Your code:\n482913\nor "+secret+"?c=482913", secret+"?c=482913")},
		{"code", "", text("Verify: "+secret, secret)},
		{"body", "short", text(strings.Repeat("Hello. ", 40)+secret, secret)},
		{"text", "confirm", text("Verify your address.\nOne.\nTwo.\nThree: "+secret, secret)},
		{"behind", "ignore", text("Verify: ["+secret+"]("+secret+")\nIf you did not request this, ignore it.", secret)},
		{"voice", "asks", one("", "Verify", secret)},
		{"voice", "both", one("", "Cancel the sign-in", secret)},
		{"voice", "go", one("Verify", "Click here", secret)},
		{"voice", "asks", text("To sign in, click here:\n\n"+secret, secret)},
		{"address", "asks", one("", "Here", "https://tern.example/users/verifyEmail?t=9f8e7d6c5b4a")},
		{"address", "asks", one("", "Here", "https://tern.example/konto/bestaetigen/9f8e7d6c5b4a")},
		{"address", "other", one("Verify", "Here", "https://tern.example/unsubscribe/9f8e7d6c5b4a")},
		{"address", "asks", one("", "Here", "https://tern.example/%D8%AA%D8%A3%D9%83%D9%8A%D8%AF/9f8e7d6c5b4a")},
		{"inner", "asks", one("", "Here", "https://safe.example/?url=https%3A%2F%2Ftern.example%2Factivate&d=9f8e7d6c5b4a")},
		{"topic", "asks", one("Confirm your address", "Here", secret)},
		{"topic", "other", one("Your invoice", "Verify", secret)},
		{"topic", "done", one("Something has been done", "Verify", secret)},
		{"quoted", "yes", text("> Verify: "+secret, secret)},
		{"printed", "yes", one("Verify", secret, secret)},
		{"stray", "yes", SearchInput{Text: "Verify: " + secret, Links: []string{"https://tern.example/x", secret}, Anchors: []Anchor{{URL: "https://tern.example/x", Text: "Tern"}}}},
		{"lost", "yes", SearchInput{Subject: "Verify", Links: []string{secret}}},
		{"ignore", "yes", text("Verify: "+secret+"\nIf you did not request this, ignore it.", secret)},
		{"expires", "yes", text("Verify: "+secret+"\nThis link expires tomorrow.", secret)},
		{"twins", "1", text("Sign in as Ola: "+secret+"1\nSign in as Mara: "+secret+"2", secret+"1", secret+"2")},
		{"rivals", "1", text("Sign in: "+secret+"1\nConfirm: "+secret+"2", secret+"1", secret+"2")},
		{"alike", "1", text("Sign in: "+secret+"1\nConfirm: "+secret+"2", secret+"1", secret+"2")},
		{"anchors", "2", SearchInput{Links: []string{secret}, Anchors: []Anchor{{URL: secret, Text: "Verify"}, {URL: secret, Text: "Verify"}}}},
		{"says", "signin", one("", "Zur Anmeldung", secret)},
		{"says", "confirm", one("", "E-Mail-Adresse bestätigen", secret)},
		{"says", "confirm", one("", "Sähköpostiosoitteen vahvistaminen", secret)},
		{"says", "confirm", one("", "メールアドレスを確認する", secret)},
		{"says", "confirm", one("", "لتأكيد البريد الإلكتروني", secret)},
		{"says", "!confirm", one("", "Unread", secret)},
		{"says", "notme", one("", "Anmeldung bestätigen? Das war ich nicht", secret)},
		{"says", "decline", text("Confirm. Cancel the sign-in: "+secret, secret)},
		{"says", "!confirm", text("Please confirm it. Read on: "+secret, secret)},
		{"says", "reset", text("Reset your password:\n\n"+secret, secret)},
		{"says", "!reset", text("Reset your password:\nHelp: "+secret, secret)},
		{"speaker", "itself", one("", "Verify", secret)},
		{"speaker", "before", text("Verify: "+secret, secret)},
		{"speaker", "above", text("Verify:\n"+secret, secret)},
		{"unlike", "yes", text("If this wasn't you, reset your password: "+secret, secret)},
		{"behind", "decline", text("Accept: "+secret+"\nDecline, or do nothing.", secret)},
		{"beside", "unsubscribe", SearchInput{Links: []string{secret[:20] + "/u/9f8e7d6c5b4a", secret}, Anchors: []Anchor{{URL: secret[:20] + "/u/9f8e7d6c5b4a", Text: "Unsubscribe"}, {URL: secret, Text: "Verify"}}}},
	} {
		all := new(linkCollector).collectCandidates(&c.mail)
		if len(all) == 0 {
			if c.value != "" && c.value[0] != '!' {
				t.Errorf("%s: no link of %+v is looked at", c.feature, c.mail)
			}
			continue
		}
		var got []string
		names := linkModel.PlaceNames()
		for _, p := range linkModel.ActivePlaces(&all[len(all)-1], nil) {
			got = append(got, names[p])
		}
		value, not := strings.CutPrefix(c.value, "!")
		known := slices.ContainsFunc(got, func(name string) bool {
			return name == c.feature+"="+value || value == "" && strings.HasPrefix(name, c.feature+"=")
		})
		if known == (not || value == "") {
			t.Errorf("%s: want %q, of %+v: %q", c.feature, c.value, c.mail, got)
		}
	}
}

// TestNoLinks checks that only HTTP and HTTPS URLs are results.
func TestNoLinks(t *testing.T) {
	for _, links := range [][]string{nil, {"mailto:verify@example.com"}, {"ftp://example.com/verify?token=abc123def456"}, {"x"}, {""}, {"://"}, {"http://"}, {"https://%"}, {"https://" + strings.Repeat("a", maxLink)}} {
		if got := Find(SearchInput{Subject: "Verify your address", Text: "Verify: " + strings.Join(links, " "), Links: links}); got != "" {
			t.Errorf("%q: %q", links, got)
		}
	}
}

// TestHostileLinks checks that hostile messages take linear time.
func TestHostileLinks(t *testing.T) {
	many := func(n int, link string) (m SearchInput) {
		m.Subject = "Verify your address"
		for i := range n {
			url := link + strings.Repeat("z", i%7) + string(rune('a'+i%26)) + strings.Repeat("9", i%11)
			m.Links = append(m.Links, url)
			m.Text += "Verify: " + url + "\n"
			if i < 64 {
				m.Anchors = append(m.Anchors, Anchor{URL: url, Text: "Verify " + url[len(url)-3:]})
			}
		}
		m.VisibleText = m.Text
		return m
	}
	flat := many(1, "https://a.example/")
	flat.Text = strings.Repeat("verify ", 2<<20/7)
	flat.VisibleText = flat.Text
	escapes := many(300, "https://a.example/?url=https%3A%2F%2Fb.example%2F%3Furl%3D"+strings.Repeat("%25", 300))
	for name, m := range map[string]SearchInput{
		"a thousand": many(1000, "https://a.example/verify/"), "long ones": many(64, "https://a.example/verify?t="+strings.Repeat("a1", 32<<10)),
		"just short enough": many(1000, "https://a.example/"+strings.Repeat("verify/", 500)), "flat": flat, "escapes": escapes,
	} {
		t.Run(name, func(t *testing.T) {
			budget.AtMost(t, budget.Of{CPU: 300 * time.Millisecond, Bytes: 1 << 30}, func() { Find(m) })
		})
	}
}
