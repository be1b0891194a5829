package otp

import "testing"

// One row or two for each rule that has a name, with a mail that it must leave alone.
func TestRules(t *testing.T) {
	check(t, []mail{
		// owners.go
		{name: "numbers: a caption of an id", visible: "Your verification code was used.\nSign-in ID\n482913\nBrowser"},
		{name: "numbers: a caption of the code", visible: "Your verification code was asked for.\nCode no.\n482913\nBrowser", want: "482913"},
		{name: "numbered: contract", text: "Il contratto n. 482913 è firmato con OTP."},
		{name: "numbered: in brackets", text: "Someone (ID 482913) wrote: the login code works."},
		{name: "numbered: and the code", text: "Kód pro podpis smlouvy č. 447188 je 482913.", want: "482913"},
		{name: "numbered: the code's", text: "Verification code no. 482913", want: "482913"},
		{name: "reported", text: "The OTP for customer 482913 was not delivered."},
		{name: "reported: not yet", text: "The OTP for Acme is 482913 and was sent today.", want: "482913"},
		{name: "spoilt", text: "A wrong verification code was entered for request 482913."},
		{name: "spoilt, vietnamese", text: "Bạn đã nhập sai mã xác thực cho yêu cầu 482913."},
		{name: "spoilt: expired", text: "Your login code 482913 has expired."},
		{name: "spoilt, dutch", text: "Met de inlogcode 482913 is onjuist ingelogd."},
		{name: "spoilt: another sentence", text: "Your old code has expired. Your new verification code: 482913", want: "482913"},
		{name: "aside: device", text: "Devices without a verification code: iPhone (482913)."},
		{name: "aside: issue", text: "Done: OTP retries (NS-6058), metrics."},
		{name: "aside: the code", text: "Here is your verification code (482913).", want: "482913"},
		{name: "branded", text: "482913 is your Auth0 verification code", want: "482913"},
		{name: "branded: no code", text: "Your verification code Auth0 sent has arrived."},
		{name: "entry of a table", visible: "Reference\n447188\nPurpose code\n6620"},
		{name: "entry: the code", visible: "Reference\n447188\nCode\n662041\nEnter this code in the app to sign in.", want: "662041"},
		// relation.go
		{name: "enclosed", text: "Press the button to sign in. (Code K7Q2MX) Not you? Ignore it.", want: "K7Q2MX"},
		{name: "enclosed: of goods", text: "Your order is packed. (Item code K7Q2MX) Sign in to track it."},
		{name: "qualifiers between", text: "Sign in: use the following code to confirm K7Q2MX", want: "K7Q2MX"},
		{name: "its own number", text: "For the card ending in 7730 use code 41882 to sign in.", want: "41882"},
		{name: "abbreviation before a number", text: "PIN 7302 is needed to release order 88204 (ext. 4471). Enter the PIN at login.", want: "7302"},
		// inverse.go
		{name: "led by its sender", text: "Acme: 482913. This code expires in 5 minutes.", want: "482913"},
		{name: "led: in brackets", text: "[Acme] 482913\nYour one-time code. Valid 3 min.", want: "482913"},
		{name: "led: a session", text: "Session: 482913. This code expires in 5 minutes."},
		{name: "says", text: "39281 - confirm your phone number with this code.", want: "39281"},
		{name: "parted from the label", text: "Candidate 4471, centre 88204, unlock code at 09:00."},
		{name: "plural below", visible: "Failures today\n4471\nOne-time codes issued\n20448"},
		// trades.go
		{name: "paper", subject: "Diploma issued", text: "Certificate QX. Verification code: 482913. Check it on our site."},
		{name: "paper: a code to read it", subject: "Your certificate", text: "Enter one-time code 482913 to view certificate 4471.", want: "482913"},
		{name: "promotion", subject: "One-time offer", text: "One-time code for new customers: NEW4471. Use it at checkout."},
		{name: "e-things", text: "Kod e-recepty: 6501, zrealizuj do 12.12."},
		// digits.go
		{name: "a row of numbers", text: "Verification code 12044 71882 04471 88204"},
		// words
		{name: "valid is no verb", subject: "Parking permit", text: "Permit valid to 30/11/2027. Display code P-614."},
		{name: "confirmation codes of hotels", subject: "ご予約", text: "ご予約番号 44718820\n確認コード QX7L\nチェックイン 11月24日"},
		{name: "confirmation codes", subject: "登録", text: "確認コード：482913（10分間有効）", want: "482913"},
		{name: "bold letters", text: "𝗬𝗼𝘂𝗿 𝗰𝗼𝗱𝗲: 482913", want: "482913"},
		{name: "days are long", subject: "Справка", text: "Справка готова. Код проверки: 8820-4471. Действительна 30 дней."},
	})
}

// The subject decides about links that say nothing, and about those without a secret.
func TestAskedLinks(t *testing.T) {
	const open, bare = "https://x.example/e/9f8e7d6c5b4a", "https://x.example/"
	for _, c := range []struct {
		subject, want string
		anchors       []Anchor
	}{
		{"Verify your email", open, []Anchor{{open, "Open"}, {bare, "Fern"}}},
		{"Your invoice", "", []Anchor{{open, "Open"}, {bare, "Fern"}}},
		{"Sign in to Fern", bare, []Anchor{{bare, "Click here to sign in"}}},
		{"New sign in to Fern", "", []Anchor{{bare, "Click here to sign in"}}},
		{"Verify your email", "", []Anchor{{open, "Open"}, {open + "2", "Go on"}}},
		{"Reset your password", open, []Anchor{{open, "Choose a new password"}, {open + "2", "This wasn't me"}}},
	} {
		in := Input{Subject: c.subject, Anchors: c.anchors}
		for _, a := range c.anchors {
			in.Links = append(in.Links, a.URL)
		}
		if got := Find(in).VerificationLink; got != c.want {
			t.Errorf("%s: %q, want %q", c.subject, got, c.want)
		}
	}
}
