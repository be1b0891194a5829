package otp

import "inboxd/internal/otp/link"

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
		// subjects
		{name: "a security notification", subject: "Security notification", text: "Your parcel locker is ready. Open it with PIN 4471."},
		{name: "a security notification with a code", subject: "Security notification", text: "4471 is your code", want: "4471"},
		{name: "first of the mail", subject: "Here is the code you asked for", visible: "70914\n\nRequested at 10:12 UTC.", want: "70914"},
		{name: "first of the mail: of a trade", subject: "Your promo code", visible: "70914\n\nRequested at 10:12 UTC."},
		{name: "digits in the subject", subject: "Your five-digit code", visible: "We like to keep it short.\n\n20936", want: "20936"},
		{name: "all of the mail", subject: "Your code", text: "2048", want: "2048"},
		// captions.go
		{name: "disclaimed", subject: "New sign-in", visible: "Session\n583920\nIf this was you, fine. We'll never ask you for your verification code."},
		{name: "disclaimed: this code", subject: "New sign-in", visible: "583920\nWe'll never ask you for this verification code.", want: "583920"},
		{name: "warned", visible: "Número de socio\n583920\n\nNever share your verification code."},
		{name: "warned: of the number above", visible: "Acme\n583920\n\nNever share this verification code.", want: "583920"},
		// entered.go
		{name: "asks", subject: "Welcome", visible: "Pop this into the sign-up form:\n\n208817", want: "208817"},
		{name: "asks: mixed", subject: "Approve your TV", visible: "If that's you, go to acme.example/link and enter\n\nVK4T-9QPD", want: "VK4T-9QPD"},
		{name: "asks: with", subject: "Verify your purchase", visible: "If you made it, verify with:\n\n327481\n\nCard ending 7714", want: "327481"},
		{name: "code for a password", subject: "Nie pamiętasz hasła?", visible: "Nic nie szkodzi. Użyj tego kodu, aby ustawić nowe hasło:\n\n839 271", want: "839271"},
		{name: "asks: in a shop", subject: "Welcome", visible: "Enter this promo code to activate your discount:\n\n208817"},
		{name: "to verify", text: "Your Acme ride: use 7719 to verify your phone", want: "7719"},
		{name: "glossed", text: "[Acme]330192(Acme login verification), valid within 5 minutes", want: "330192"},
		{name: "glossed: with a noun", text: "Ticket 330192 (login verification of order) was closed."},
		{name: "verifies", text: "Acme account verification: 7730", want: "7730"},
		{name: "verifies: counts", text: "Codes verified: 19917."},
		{name: "displayed", subject: "Sign in to Acme", visible: "Someone wants to come in from a new machine.\n\n60418\n\nIt lasts 5 minutes.", want: "60418"},
		{name: "displayed: an order", subject: "Sign in to Acme", visible: "Someone paid for your order from a new machine.\n\n60418\n\nIt arrives in 50 minutes."},
		// inverse.go
		{name: "opens the door", subject: "Acme login", text: "338420 will log you in. Keep it to yourself.", want: "338420"},
		{name: "titled", text: "4490 - Acme login. Code valid 5 min.", want: "4490"},
		{name: "used", text: "Acme - 771442 - Use this to verify your login.", want: "771442"},
		{name: "led: its label opens the next sentence", text: "Acme: 2859. Verification code for your account", want: "2859"},
		{name: "with it, hindi", subject: "सूचना", text: "एक्मे: 157394 से लॉगिन करें", want: "157394"},
		{name: "a year that is a code", text: "2093 is your code", want: "2093"},
		{name: "a year", text: "In 2093 your code will still be here."},
		// backward.go
		{name: "a document", subject: "Token for signing document 448210", text: "To sign it, enter token 4402 7719.", want: "44027719"},
		{name: "its own number", text: "Staff number 44821, please sign in with the code below.\n\n117260", want: "117260"},
		{name: "addressed", text: "Dear user, 401722 is your one-time password.", want: "401722"},
		{name: "addressed: a user's number", text: "User 401722 has a one-time password."},
		{name: "the number", text: "Mit der Nummer 340882 bestätigst du deine E-Mail-Adresse.", want: "340882"},
		{name: "secret", text: "Jangan beri kode ini ke siapa pun: 8451 -Acme", want: "8451"},
		// trades.go
		{name: "payment", text: "Пароль: 4418. Покупка 1890р, карта *7720.", want: "4418"},
		{name: "payment: none", text: "Пароль: 4418. Комната 7."},
		{name: "numbered thing", text: "Locker 14, code 4482. Open until 20:00."},
		{name: "numbered thing: its name", subject: "Acme 365 code", text: "Your code for Acme 365 is 705513", want: "705513"},
		{name: "terminal", subject: "Payment authorised", text: "Authorisation code: 448210. Card ending 7714. Amount: £62.40. Terminal 00448217."},
		{name: "terminal: asked to allow", text: "448210 is the authorization code for your payment of £62.40.", want: "448210"},
		{name: "percent", subject: "Votre compte est activé", text: "Profitez de 10 % avec le code HELLO10."},
		// veto.go
		{name: "a word and two digits", text: "Enjoy the code HELLO10."},
		{name: "definition", text: "New payslip codes: 4482 = overtime, 7712 = holiday pay."},
		{name: "quoted value", text: `Alert (instance="a", code="448210")`},
		// letters.go
		{name: "chain", text: "Paste this login code:\nsparo-ridge-lorem", want: "sparo-ridge-lorem"},
		{name: "chain: no label", text: "Our values:\nsafer-faster-better"},
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
		anchors       []link.Anchor
	}{
		{"Verify your email", open, []link.Anchor{{URL: open, Text: "Open"}, {URL: bare, Text: "Fern"}}},
		{"Your invoice", "", []link.Anchor{{URL: open, Text: "Open"}, {URL: bare, Text: "Fern"}}},
		{"Sign in to Fern", bare, []link.Anchor{{URL: bare, Text: "Click here to sign in"}}},
		{"New sign in to Fern", "", []link.Anchor{{URL: bare, Text: "Click here to sign in"}}},
		{"Verify your email", "", []link.Anchor{{URL: open, Text: "Open"}, {URL: open + "2", Text: "Go on"}}},
		{"Reset your password", open, []link.Anchor{{URL: open, Text: "Choose a new password"}, {URL: open + "2", Text: "This wasn't me"}}},
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
