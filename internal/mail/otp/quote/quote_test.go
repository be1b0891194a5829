package quote

import (
	"slices"
	"strings"
	"testing"
	"time"

	"inboxd/internal/mail/otp/text"
	"inboxd/internal/testutil/budget"
)

// remains returns the texts of a message without their quotations.
func remains(m SearchInput) string {
	inText, inVisible := Find(&m)
	return RemoveSpans(m.Text, inText) + RemoveSpans(m.VisibleText, inVisible)
}

// attributions are lines that e-mail clients insert above a quotation.
var attributions = []string{
	"On Thu, 26 Nov 2026 at 10:00, Shop <a@shop.example> wrote:",
	"On Thu, Nov 26, 2026 at 10:00 AM Shop\n<a@shop.example> wrote:",
	"On Nov 26, 2026, at 10:00 AM, Shop <a@shop.example> wrote:",
	"On 11/26/26 10:00 AM, Shop wrote:",
	"On Thursday, November 26th, 2026 at 10:00 AM, Shop <a@shop.example> wrote:",
	"* Shop <a@shop.example> [2026-11-26 10:00]:",
	"Shop <a@shop.example> writes:",
	"Quoting Shop <a@shop.example>:",
	"---- On Thu, 26 Nov 2026 10:00:00 +0100 Shop <a@shop.example> wrote ---",
	"---- Am Do, 26 Nov 2026 10:00:00 +0100 Shop <a@shop.example> schrieb ----",
	"Am 26.11.26 um 10:00 schrieb Shop:",
	"Am Do., 26. Nov. 2026 um 10:00 Uhr schrieb Shop <a@shop.example>:",
	"Le jeu. 26 nov. 2026 à 10:00, Shop <a@shop.example> a écrit :",
	"El jue, 26 nov 2026 a las 10:00, Shop (<a@shop.example>) escribió:",
	"Em qui., 26 de nov. de 2026 às 10:00, Shop <a@shop.example> escreveu:",
	"Il giorno gio 26 nov 2026 alle ore 10:00 Shop <a@shop.example> ha scritto:",
	"Op do 26 nov 2026 om 10:00 schreef Shop <a@shop.example>:",
	"Den tors 26 nov. 2026 kl 10:00 skrev Shop <a@shop.example>:",
	"to 26. marrask. 2026 klo 10.00 Shop (a@shop.example) kirjoitti:",
	"czw., 26 lis 2026 o 10:00 Shop <a@shop.example> napisał(a):",
	"čt 26. 11. 2026 v 10:00 odesílatel Shop <a@shop.example> napsal:",
	"Shop <a@shop.example> ezt írta (időpont: 2026. nov. 26., Cs, 10:00):",
	"Shop <a@shop.example>, 26 Kas 2026 Per, 10:00 tarihinde şunu yazdı:",
	"În joi, 26 nov. 2026 la 10:00, Shop <a@shop.example> a scris:",
	"Στις Πέμ 26 Νοε 2026 στις 10:00 π.μ., ο χρήστης Shop <a@shop.example> έγραψε:",
	"чт, 26 нояб. 2026 г. в 10:00, Shop <a@shop.example>:",
	"чт, 26 лист. 2026 р. о 10:00 Shop <a@shop.example> пише:",
	"На чт, 26.11.2026 г. в 10:00 Shop <a@shop.example> написа:",
	"26.11.2026, 10:00, \"Shop\" <a@shop.example>:",
	"26.11.2026, 10:00, \"Shop Verification\" <a@shop.example>:",
	"Четверг, 26 ноября 2026, 10:00 +03:00 от Shop <a@shop.example>:",
	"2026年11月26日(木) 10:00 Shop <a@shop.example>:",
	"在 2026年11月26日，Shop <a@shop.example> 写道：",
	"Shop <a@shop.example> 于2026年11月26日周四 10:00写道：",
	"At 2026-11-26 10:00:00, \"Shop\" <a@shop.example> wrote:",
	"2026년 11월 26일 (목) 오전 10:00, Shop <a@shop.example>님이 작성:",
	"Vào Th 5, 26 thg 11, 2026 vào lúc 10:00 Shop <a@shop.example> đã viết:",
	"Pada Kam, 26 Nov 2026 pukul 10.00 Shop <a@shop.example> menulis:",
	"ในวันที่ พฤ. 26 พ.ย. 2026 เวลา 10:00 Shop <a@shop.example> เขียนว่า:",
	"في الخميس، ٢٦ نوفمبر ٢٠٢٦ في ١٠:٠٠ ص تمت كتابة ما يلي بواسطة Shop <a@shop.example>:",
	"‫בתאריך יום ה׳, 26 בנוב׳ 2026 ב-10:00 מאת ‪Shop‬‏ <‪a@shop.example‬‏>:‬",
	"गुरु, 26 नव॰ 2026 को 10:00 बजे Shop <a@shop.example> ने लिखा:",
	"2026-11-26 10:00, Shop rašė:",
	"2026-11-26, kt, 10:00 Shop <a@shop.example> zzz:",
	"Dana 26.11.2026. 10:00 Shop qqq:",
	"-----Original Message-----\nFrom: Shop\nSent: Thursday",
	"--- Original ---\nFrom: Shop",
	"On Thu, Nov 26, 2026 at 10:00 AM Shop <a@shop.example>\n\nwrote:",
	"-------- Исходное сообщение --------\nТема: Your code\nДата: 26.11.2026",
	"------------------ 原始邮件 ------------------\n发件人: \"Shop\" <a@shop.example>;",
	"---------- Välitetty ----------\nLähettäjä: Shop <a@shop.example>\nLähetetty: torstai 26. marraskuuta 2026",
	"________________________________\nFrom: Shop <a@shop.example>\nSent: Thursday, November 26, 2026 10:00 AM\nTo: Joe\nSubject: Your code",
	"From: Shop\nSent: Thursday, November 26, 2026 10:00 AM\nTo: Joe\nSubject: Your code",
	"*Von:* Shop <a@shop.example>\n*Gesendet:* Donnerstag, 26. November 2026 10:00\n*An:* Joe",
	"Gesendet: Donnerstag, 26. November 2026 um 10:00 Uhr\nVon: Shop <a@shop.example>\nAn: Joe\nBetreff: Your code",
	"De : Shop <a@shop.example>\nEnvoyé : jeudi 26 novembre 2026 10:00\nÀ : Joe\nObjet : Your code",
	"差出人: Shop <a@shop.example>\n送信日時: 2026年11月26日 10:00\n宛先: Joe\n件名: Your code",
	"发件人： Shop\n发送时间： 2026年11月26日 10:00\n收件人： Joe\n主题： Your code",
	"보낸 사람: Shop <a@shop.example>\n보낸 날짜: 2026년 11월 26일\n받는 사람: Joe",
	"Fra: Shop <a@shop.example>\nSendt: 26. november 2026 10:00\nTil: Joe\nEmne: Your code",
	"Dari: Shop\nTanggal: Kam, 26 Nov 2026\nSubjek: Your code",
	"מאת: Shop <a@shop.example>\nנשלח: יום חמישי 26 נובמבר 2026",
	"Subject:\nYour code\nDate:\n2026-11-26 10:00\nFrom:\nShop <a@shop.example>\nTo:\nJoe",
	"Xfrom: Shop <a@shop.example>\nXsent: 26/11/2026 10:00\nXsubject: Your code",
}

func TestQuotations(t *testing.T) {
	const answer, old = "Thanks, that worked.\n\n", "\n\nYour verification code is 111111\nhttps://shop.example/verify?token=1"
	for _, line := range attributions {
		for name, m := range map[string]SearchInput{
			"text":          {Subject: "Re: Your code", IsReply: true, Text: answer + line + old},
			"HTML":          {Subject: "AW: Your code", IsReply: true, VisibleText: strings.ReplaceAll(answer+line+old, "\n\n", "\n")},
			"subject alone": {Subject: "Re: Your code", Text: answer + line + old},
			"header alone":  {Subject: "Your code", IsReply: true, Text: answer + line + old},
			"signature":     {Subject: "Re: Your code", Text: answer + "Ann\n-- \nAnn Lee, +1 555 0100\n" + line + old},
		} {
			if got := remains(m); strings.Contains(got, "111111") || !strings.Contains(got, "worked") {
				t.Errorf("%s, %s: %q remains", line, name, got)
			}
		}
		// Marks limit the quotation.
		m := SearchInput{Subject: "Re: Your code", IsReply: true, Text: answer + line + strings.ReplaceAll(old, "\n", "\n> ") + "\n\nThe new code is 222222"}
		if got := remains(m); strings.Contains(got, "111111") || !strings.Contains(got, "222222") && !strings.Contains(line, "\n") && line[0] != '-' {
			t.Errorf("%s, marked: %q remains", line, got)
		}
	}
}

// TestNoQuotations has texts of services that are not quotations, but contain dates, addresses and
// colons.
func TestNoQuotations(t *testing.T) {
	for _, s := range []string{
		"Your verification code for joe@x.example:\n\n482913",
		"Enter this code to verify joe@x.example:\n482913",
		"Hello Joe <joe@x.example>:\nYour code is 482913",
		"Dear joe@x.example:\n\nYour code is 482913",
		"Here is the verification code for Joe <joe@x.example>:\n482913",
		"On 26 Nov 2026 somebody signed in as joe@x.example. Enter this code:\n482913",
		"Your code, requested on 26.11.2026 at 10:00:\n\n482913",
		"New sign-in\nAccount: joe@x.example\nDate: 26 November 2026 10:00\nDevice: Firefox\nIP: 192.0.2.1\nCode: 482913",
		"From: Berlin\nTo: Munich\nDate: 26 November 2026\nBooking code: ABC482913",
		"Our founder wrote:\n482913",
		"----- Your code -----\n482913",
		"---- 482913 ----",
		">>> 482913 <<<",
		"| Code | 482913 |",
		"Sender: Shop\nYour code: 482913",
		"Subject to our terms: 482913 is your code",
		"To: log in, enter 482913",
		"De: 482913",
		"A:\nB:\nC: 482913",
	} {
		for _, subject := range []string{"Your code", "[Ticket] Your code"} {
			if got := remains(SearchInput{Subject: subject, Text: s}); got != s {
				t.Errorf("%q: %q remains", s, got)
			}
			if got := remains(SearchInput{Subject: subject, VisibleText: s}); got != s {
				t.Errorf("%q: %q remains", s, got)
			}
		}
	}
	for _, s := range []string{
		"Hello Ann,\n\nhere is your new code for joe@x.example:\n482913\n\nRegards",
		"Hello,\n\nyour sign-in code, valid until 26.11.2026 10:00:\n482913",
		"Your code:\n482913\nhttps://x.example/",
	} {
		if got := remains(SearchInput{Subject: "Re: Your code", IsReply: true, Text: s}); got != s {
			t.Errorf("%q in an answer: %q remains", s, got)
		}
	}
}

// TestBlockquotes checks that an unmarked blockquote is a quotation below an attribution line, and
// in a reply that has other text.
func TestBlockquotes(t *testing.T) {
	const code = "Your code is 482913"
	at := func(before, inside, behind string) SearchInput {
		return SearchInput{VisibleText: before + inside + behind, IndentedSpans: []TextSpan{{len(before), len(before) + len(inside)}}}
	}
	for _, c := range []struct {
		name   string
		reply  bool
		m      SearchInput
		quoted bool
	}{
		{"answer", true, at("Thanks!", "\n\n"+code, ""), true},
		{"answer below", true, at("", code, "\n\nThanks!"), true},
		{"all of an answer", true, at("", code, ""), false},
		{"all, and inside an answer", true, at("", "Thanks!\nOn 26 Nov 2026, Shop <a@shop.example> wrote:\n"+code, ""), true},
		{"a code that is presented", true, at("Here is your new code:", "\n\n482913", "\n\nBye"), false},
		{"no answer", false, at("Hello!", "\n\n"+code, "\n\nBye"), false},
		{"no answer, but an attribution", false, at("Hello!\n26.11.2026, 10:00, \"Shop\" <a@shop.example>:", "\n\n"+code, "\n\nBye"), true},
	} {
		if c.m.Subject = "Code"; c.reply {
			c.m.Subject = "Re: Code"
		}
		if got := remains(c.m); strings.Contains(got, "482913") == c.quoted {
			t.Errorf("%s: %q remains", c.name, got)
		}
		if c.m.Subject = "Fwd: Code"; strings.Contains(c.m.VisibleText, "wrote") == false && !strings.Contains(remains(c.m), "482913") && !strings.Contains(c.name, "attribution") {
			t.Errorf("%s, forwarded: %q remains", c.name, remains(c.m))
		}
	}
	m := at("Thanks!\n26.11.2026, 10:00, \"Shop\" <a@shop.example>:", "\n\n"+code, "\nThe new code is 551234")
	if got := remains(m); !strings.Contains(got, "551234") {
		t.Errorf("behind a blockquote: %q remains", got)
	}
}

// TestForwards checks that a forwarded message is not a quotation.
func TestForwards(t *testing.T) {
	const header = "From: Shop <a@shop.example>\nDate: Thu, 26 Nov 2026 10:00\nSubject: Your code\nTo: joe@x.example\n\nYour code is 482913"
	for _, m := range []SearchInput{
		{Subject: "Fwd: Your code", Text: header},
		{Subject: "Fwd: Re: Your code", Text: "See below\n\n" + header},
		{Subject: "WG: Your code", VisibleText: "-----Original Message-----\n" + header},
		{Subject: "Your code", Text: "---------- Forwarded message ---------\n" + header},
		{Subject: "Your code", Text: "-------- Weitergeleitete Nachricht --------\n" + header},
	} {
		if got := remains(m); !strings.Contains(got, "482913") {
			t.Errorf("%+v: %q remains", m, got)
		}
	}
}

// TestMarks checks that all kinds of marks are quotations in a reply.
func TestMarks(t *testing.T) {
	for _, mark := range []string{"> ", ">", ">> ", "  > ", "＞ ", "| ", "AB> ", "Shop> "} {
		if got := remains(SearchInput{Subject: "Re: x", Text: "Thanks!\n" + mark + "Your code is 111111\nBye"}); got != "Thanks!\nBye" {
			t.Errorf("%q: %q remains", mark, got)
		}
	}
}

// TestPartsOfOneAnswer checks a reply of which only one part marks its quotation.
func TestPartsOfOneAnswer(t *testing.T) {
	marked, bare := "Thanks!\n> Your code is 111111\n> https://x.example/v", "Thanks!\nYour code is 111111\nhttps://x.example/v"
	for _, m := range []SearchInput{
		{Subject: "Re: x", Text: marked, VisibleText: bare},
		{Subject: "Re: x", Text: bare, VisibleText: marked},
		{Subject: "Re: x", Text: bare, VisibleText: bare, IndentedSpans: []TextSpan{{len("Thanks!"), len(bare)}}},
	} {
		if got := remains(m); strings.Contains(got, "111111") {
			t.Errorf("%+v: %q remains", m, got)
		}
	}
	if got := remains(SearchInput{Subject: "x", Text: "> 482913", VisibleText: "482913"}); !strings.Contains(got, "482913") {
		t.Errorf("no answer: %q remains", got)
	}
}

func TestPrefixes(t *testing.T) {
	for subject, want := range map[string]string{
		"Re: a": "re a", "RE : a": "re a", "Re[2]: a": "re a", "AW: WG: a": "re a", "Fwd: Re: a": "fwd a", "回复：a": "re a", "Отв: a": "re a",
		"[External] Re: a": "re a", "[Ticket 5] a": " [Ticket 5] a", "a: b": " a: b", "": " ", "Re:": "re ", "Tr: a": "fwd a", "Rechnung: a": " Rechnung: a",
	} {
		reply, forward, stem := ParsePrefixes(subject)
		got := map[bool]string{true: "re"}[reply] + map[bool]string{true: "fwd"}[forward] + " " + stem
		if got != want {
			t.Errorf("%q: %q, want %q", subject, got, want)
		}
	}
}

func TestHostileTextsAreCheap(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, text.MaxScan/len(s)) }
	for _, s := range []string{"From: a\n", "From: a@b.example\n", "a:\n", "On 2026 a@b:\n", "--\n", "---------\n", "> x\n", "\n", " \n", "x@", "<a@b>:\n", "1:\n", "a: b\n", "From:\n\n", "Re: ", "-- 1 2 3 4 5 6 <a@b.example> --\n", "\u202b:\n"} {
		m := SearchInput{Subject: "Re: " + fill(s), IsReply: true, Text: "own\n" + fill(s), VisibleText: "own\n" + fill(s)}
		for i := range 64 {
			m.IndentedSpans = append(m.IndentedSpans, TextSpan{i * 100, i*100 + 50})
		}
		budget.AtMost(t, budget.Of{CPU: 150 * time.Millisecond, Bytes: 32 << 20}, func() { Find(&m) })
	}
}

// FuzzQuotations checks that the spans are in order, disjoint and inside the text, and that the
// result is always the same.
func FuzzQuotations(f *testing.F) {
	for i, line := range attributions {
		f.Add("Re: Your code", "Thanks\n"+line+"\nold", "Thanks\n"+line+"\n> old", 3, 7+i)
	}
	f.Add("[x] AW:", "> a\n| b\n-- original --", "From:\nTo: a@b\n\nSubject:", 0, 1)
	f.Fuzz(func(t *testing.T, subject, s, visible string, start, end int) {
		m := SearchInput{Subject: subject, IsReply: len(s)%2 == 0, Text: s, VisibleText: visible}
		if 0 <= start && start < end && end <= len(visible) {
			m.IndentedSpans = []TextSpan{{start, end}}
		}
		inText, inVisible := Find(&m)
		for _, c := range []struct {
			s     string
			spans []TextSpan
		}{{s, inText}, {visible, inVisible}} {
			at := 0
			for _, span := range c.spans {
				if span.Start < at || span.End <= span.Start || span.End > len(c.s) {
					t.Fatalf("%+v of %q", c.spans, c.s)
				}
				if at = span.End; !InSpans(c.spans, span.Start) || !InSpans(c.spans, span.End-1) {
					t.Fatalf("%+v of %q", c.spans, c.s)
				}
			}
			RemoveSpans(c.s, c.spans)
		}
		if again, _ := Find(&m); !slices.Equal(again, inText) {
			t.Errorf("%v, then %v", inText, again)
		}
	})
}
