package otp

import "inboxd/internal/mail/otp/link"

import (
	"strings"
	"testing"
)

// newsletter is a message of 3 KB without a code: prices, dates and an address, as shops send them.
func newsletter() Input {
	visible := "Marlow & Finch\nView this email in your browser\nNew arrivals for the cold season\n" +
		"Hello Mara,\nOur winter collection is here. Soft merino, warm boots and coats that last, made in small workshops in Portugal and Scotland.\n" +
		strings.Repeat("Merino pullover, navy\nWas $129.00, now only $89.00 until 30 November 2026.\nShop now\n"+
			"Every pullover is knitted in one piece, washed by hand and sent to you in a box that you can use again. Read the story of the people who make them on our journal.\n", 5) +
		"Free delivery on orders over $75. Returns within 30 days.\nQuestions? Call us on +1 (415) 555-0132, Monday to Friday, 9:00 to 17:00.\n" +
		"You receive this email because you subscribed on our website.\nUnsubscribe\nPrivacy policy\n" +
		"© 2026 Marlow & Finch Ltd, 410 Terry Ave. North, Seattle, WA 98109. All rights reserved.\n"
	in := Input{Subject: "New arrivals for the cold season", VisibleText: visible, PreviewText: "Soft merino, warm boots and coats that last"}
	for _, a := range []link.Anchor{
		{URL: "https://click.marlow.example/view?u=7f3a9c&id=81", Text: "View this email in your browser"},
		{URL: "https://click.marlow.example/track?u=7f3a9c2e&id=83&to=shop", Text: "Shop now"},
		{URL: "https://click.marlow.example/track?u=7f3a9c2e&id=84&to=journal", Text: "journal"},
		{URL: "https://marlow.example/unsubscribe?u=7f3a9c2e5b", Text: "Unsubscribe"},
		{URL: "https://marlow.example/privacy", Text: "Privacy policy"},
	} {
		in.Anchors, in.Links = append(in.Anchors, a), append(in.Links, a.URL)
	}
	return in
}

// BenchmarkMails measures one search in messages of 2 to 3 KB: with a code, without one, and
// without a word that can announce one.
func BenchmarkMails(b *testing.B) {
	plain := typical()
	plain.VisibleText = ""
	for _, m := range []struct {
		name string
		in   Input
	}{
		{"code", typical()},
		{"code in text", plain},
		{"newsletter", newsletter()},
		{"filler", Input{Subject: "test", Text: strings.Repeat(strings.Repeat("X", 78)+"\n", 26)}},
	} {
		b.Run(m.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				FindCode(m.in)
			}
		})
	}
}
