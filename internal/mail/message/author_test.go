package message

import (
	"strings"
	"testing"
)

func TestAuthorIsTheOneAddress(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Mailbox
	}{
		{"Smith, Jr, John <john@x.example>", Mailbox{"john@x.example", "Smith, Jr, John"}},
		{"Smith, John <john@x.example>, Inc", Mailbox{"john@x.example", "Smith, John, Inc"}},
		{"=?utf-8?Q?B=C3=BCro?=, Inc. Team, EU <team@x.example>", Mailbox{"team@x.example", "Büro, Inc. Team, EU"}},
		{"Sales, Support, Billing, team@x.example", Mailbox{"team@x.example", "Sales, Support, Billing"}},
		{"team@x.example, Inc", Mailbox{"team@x.example", "Inc"}},
		{"Shop; Team <team@x.example>", Mailbox{"team@x.example", "Shop, Team"}},
		{"Joe [joe@x.example]", Mailbox{"joe@x.example", "Joe"}},
		{"[joe@x.example]", Mailbox{"joe@x.example", ""}},
		{"Joe [mailto:joe@x.example]", Mailbox{"joe@x.example", "Joe"}},
		{"<mailto:joe@x.example>", Mailbox{"joe@x.example", ""}},
		{"mailto:joe@x.example?subject=hi", Mailbox{"joe@x.example", ""}},
		{`"Joe <joe@x.example>"`, Mailbox{"joe@x.example", "Joe"}},
		{`"joe@x.example"`, Mailbox{"joe@x.example", ""}},
		{"<Joe Smith joe@x.example>", Mailbox{"joe@x.example", ""}},
		{`<"Smith, Joe" joe@x.example>`, Mailbox{"joe@x.example", ""}},
		{"Joe &lt;joe@x.example&gt;", Mailbox{"joe@x.example", "Joe &lt"}},
		{"Joe ＜joe@x.example＞", Mailbox{"joe@x.example", "Joe"}},
		{"<joe . smith @ x . example>", Mailbox{"joe.smith@x.example", ""}},
		{"joe@x.example <>", Mailbox{"joe@x.example", ""}},
		{"joe@x.example <joe>", Mailbox{"joe@x.example", "joe"}},
		{"Joe (joe@x.example)", Mailbox{"joe@x.example", "Joe"}},
		{"Joe {joe@x.example}", Mailbox{"joe@x.example", "Joe"}},
		{"'joe@x.example'", Mailbox{"joe@x.example", ""}},
		{"joe@x.example>", Mailbox{"joe@x.example", ""}},
		{"=?utf-8?Q?Joe_=3Cjoe=40x.example=3E?=", Mailbox{"joe@x.example", ""}},

		// Two candidates, and well-formed values, are parsed as before.
		{"a@x.example, b@y.example", Mailbox{"a@x.example", ""}},
		{"a@x.example, Team <b@y.example>, Inc", Mailbox{"a@x.example", ""}},
		{"Smith, John <a@x.example>, b@y.example", Mailbox{"a@x.example", "Smith, John"}},
		{`"ceo@bank.example" <a@x.example>`, Mailbox{"a@x.example", "ceo@bank.example"}},
		{`"Ceo <ceo@bank.example>" <a@x.example>`, Mailbox{"a@x.example", "Ceo <ceo@bank.example>"}},
		{"a@x.example (ceo@bank.example)", Mailbox{"a@x.example", "ceo@bank.example"}},
		{"=?utf-8?Q?=3Cceo=40bank.example=3E?= <a@x.example>", Mailbox{"a@x.example", "<ceo@bank.example>"}},
		{"Team: a@x.example;", Mailbox{"a@x.example", ""}},
		{"root", Mailbox{"root", ""}},
		{"Mail Delivery System", Mailbox{"", "Mail Delivery System"}},
		{"Büro, (a@x.example) (b@y.example)", Mailbox{"Büro", ""}},
	} {
		raw := []byte("From: " + c.in + "\r\nReply-To: " + c.in + "\r\n\r\nx")
		doc := Parse(raw)
		if doc.From != c.want || FromOf(raw) != c.want || doc.ReplyTo[0] != c.want {
			t.Errorf("%s: %+v, %+v and %+v, want %+v", c.in, doc.From, FromOf(raw), doc.ReplyTo, c.want)
		}
	}
	if doc := Parse([]byte("From:\r\nFrom: a@x.example\r\nSubject:\r\nSubject: s\r\n\r\n")); doc.From.Email != "a@x.example" || doc.Subject != "s" {
		t.Errorf("an empty field in front: %+v, %q", doc.From, doc.Subject)
	}
}

// FuzzAuthor checks that the address of an author is in the field, and that all parsers return the
// same one.
func FuzzAuthor(f *testing.F) {
	for _, seed := range []string{"Smith, Jr <a@b.example>, Inc", "[mailto:a@b.example?x]", `"a <b@c.example>", (d@e.example) =?utf-8?q?x?=`, "<<'{a@[1.2.3.4]}'>>", "a:b,c;d@e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		raw := []byte("From: " + value + "\r\n\r\n")
		doc := Parse(raw)
		checkDocument(t, raw, doc)
		if from := FromOf(raw); from != doc.From {
			t.Errorf("%+v and %+v", from, doc.From)
		}
		if email := doc.From.Email; strings.HasPrefix(email, "<") && isAddress(email) || strings.ContainsAny(email, "\r\n") {
			t.Errorf("%q", email)
		}
	})
}
