package message

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDecodeWords(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"=?utf-8?Q?Caf=C3=A9_1?=", "Café 1"},
		{"=?UTF-8?B?Q2Fmw6k=?= au lait", "Café au lait"},
		{"=?iso-8859-1*fr?q?caf=e9?=", "café"},                // language, RFC 2231
		{"=?utf-8?Q?=C3?= =?UTF-8?Q?=A9?=", "é"},              // a character split
		{"=?utf-8?Q?a?=  =?utf-8?Q?b?=", "ab"},                // white space between words is removed
		{"=?utf-8?Q?a?= b =?utf-8?Q?c?=", "a b c"},            // ... but not around text
		{"=?utf-8?Q?a?==?utf-8?Q?b?=", "ab"},                  // no space at all
		{"=?utf-8?Q?a?= =?iso-8859-1?Q?=E9?=", "aé"},          // another charset
		{"=?iso-2022-jp?B?GyRCJUYlOSVIGyhC?=", "テスト"},         //
		{"=?utf-7?Q?Fr+APY-sche?=", "Frösche"},                //
		{"=?iso-2022-kr?B?GyQpQw4+SDNnDyBh?=", "안녕 a"},        //
		{"=?utf-8?Q?Really?_yes?=", "Really? yes"},            // a bare question mark
		{"=?utf-8?Q?two words?=", "two words"},                // an unescaped space
		{"=?utf-8?X?a?=", "=?utf-8?X?a?="},                    // no such encoding
		{"=?utf-8?Q?open", "=?utf-8?Q?open"},                  //
		{"=??Q?a?=", "=??Q?a?="},                              // no charset
		{"=?x-nobody?Q?=C3=A9?=", "é"},                        // unknown, but UTF-8
		{"=?x-nobody?Q?=E9?=", "é"},                           // unknown, so windows-1252
		{"caf\xe9", "café"},                                   // raw 8 bit
		{"=?utf-8?Q?x=0D=0ABcc:_a?=", "x  Bcc: a"},            // no line breaks out of words
		{"nul \x00 here", "nul   here"},                       //
		{"=?iso-8859-1?Q?f=C3=BCr?=", "für"},                  // UTF-8, whatever it says
		{"=?hz?B?fntRaVYkQmt+fQ==?=", "验证码"},                  //
		{"Привет \xd0 42", "Привет \ufffd 42"},                // a byte lost
		{"\xcf\xf0\xe8\xe2\xe5\xf2", "Ïðèâåò"},                //
		{"=?utf-8?Q?=FF=41?=", "ÿA"},                          // a wrong label
		{`"=?utf-8?Q?Caf=C3=A9?=" x`, `"Café" x`},             // quoted, against the rules
		{"=?gb2312?B?1tDOxA==?= =?gb2312?B?1tDOxA?=", "中文中文"}, // padding missing
		{"a =?utf-8?b?" + strings.Repeat("Q", 5000) + "?=", "a =?utf-8?b?" + strings.Repeat("Q", 5000) + "?="}, // over maxWord
	} {
		if got := decodeWords(c.in); got != c.want {
			t.Errorf("decodeWords(%.80q) = %.80q, want %.80q", c.in, got, c.want)
		}
	}
}

func TestHeaders(t *testing.T) {
	doc := Parse([]byte("From sender@b.example Mon Jan  1 00:00:00 2026\r\n" +
		"Received: by a;\r\n\tMon\r\nreceived: by b\r\nSubject : =?utf-8?q?=C3=A9?=\r\n =?utf-8?q?t=C3=A9?=\r\n" +
		"this line is broken\r\nX-Empty:\r\nSubject: second\r\nMessage-ID: <1@b>\r\nIn-Reply-To: your mail <2@b> of\r\n" +
		"References: <3@b>\r\n <4@b><5@b> <6@b\r\n\r\nBody\r\n"))
	want := []Header{{"Received", "by a; Mon"}, {"received", "by b"}, {"Subject", "été"}, {"X-Empty", ""},
		{"Subject", "second"}, {"Message-ID", "<1@b>"}, {"In-Reply-To", "your mail <2@b> of"},
		{"References", "<3@b> <4@b><5@b> <6@b"}}
	if !reflect.DeepEqual(doc.Headers, want) {
		t.Errorf("headers %q", doc.Headers)
	}
	if got := doc.HeaderValues("RECEIVED"); !reflect.DeepEqual(got, []string{"by a; Mon", "by b"}) {
		t.Errorf("HeaderValues: %q", got)
	}
	if got := doc.HeaderValues("X-None"); got != nil {
		t.Errorf("HeaderValues of a missing field: %q", got)
	}
	if doc.Subject != "été" || doc.MessageID != "1@b" || doc.InReplyTo != "2@b" {
		t.Errorf("%q %q %q", doc.Subject, doc.MessageID, doc.InReplyTo)
	}
	if !reflect.DeepEqual(doc.References, []string{"3@b", "4@b", "5@b"}) {
		t.Errorf("references %q", doc.References)
	}
	if !doc.IsDegraded || doc.Text != "Body\n" {
		t.Errorf("degraded %t, text %q", doc.IsDegraded, doc.Text)
	}
}

func TestHeaderCap(t *testing.T) {
	doc := Parse([]byte(strings.Repeat("X-A: "+strings.Repeat("x", 1017)+"\r\n", 300) + "\r\nstill read"))
	if n := len(doc.Headers); n != maxHeaderBytes/1024 || !doc.IsDegraded || doc.Text != "still read" {
		t.Errorf("%d fields, degraded %t, text %q", n, doc.IsDegraded, doc.Text)
	}
}

func TestAddresses(t *testing.T) {
	type list = []Mailbox
	for _, c := range []struct {
		in   string
		want list
	}{
		{"a@b.example", list{{"a@b.example", ""}}},
		{"<a@b.example>", list{{"a@b.example", ""}}},
		{"Ann <a@b.example>, Bob <b@b.example>", list{{"a@b.example", "Ann"}, {"b@b.example", "Bob"}}},
		{`"Doe, Ann \"x\"" <a@b.example>`, list{{"a@b.example", `Doe, Ann "x"`}}},
		{"J. R. Dot <a@b.example>", list{{"a@b.example", "J. R. Dot"}}},                         // unquoted dots
		{"=?utf-8?q?Ren=C3=A9=2C?= <a@b.example>", list{{"a@b.example", "René,"}}},              // comma inside a word
		{"=?utf-8?q?x=40y=2Eexample=3E?= <a@b.example>", list{{"a@b.example", "x@y.example>"}}}, // no spoofed address
		{"Team: a@b.example, Bob <b@b.example>;, c@b.example", list{{"a@b.example", ""}, {"b@b.example", "Bob"}, {"c@b.example", ""}}},
		{"undisclosed-recipients:;", nil},
		{"a@b.example (Ann (the) Great)", list{{"a@b.example", "Ann (the) Great"}}},
		{"Ann a@b.example", list{{"a@b.example", "Ann"}}},                            // brackets missing
		{"Ann <a@b.example", list{{"a@b.example", "Ann"}}},                           // bracket open
		{"Ann <<a@b.example>>", list{{"a@b.example", "Ann"}}},                        //
		{"a@b.example; c@d.example", list{{"a@b.example", ""}, {"c@d.example", ""}}}, // Outlook
		{`"john doe"@b.example`, list{{`"john doe"@b.example`, ""}}},                 //
		{"<@relay,@other:a@b.example>", list{{"a@b.example", ""}}},                   // RFC 5322 section 4.4
		{"Ann <a @ b . example>", list{{"a@b.example", "Ann"}}},                      //
		{"root", list{{"root", ""}}},                                                 //
		{"Bell, Anna <a@b.example>", list{{"a@b.example", "Bell, Anna"}}},            // quotes missing
		{"Bell, Anna Maria <a@b.example>, Bob <c@d.example>", list{{"a@b.example", "Bell, Anna Maria"}, {"c@d.example", "Bob"}}},
		{"root, a@b.example", list{{"root", ""}, {"a@b.example", ""}}},
		{"root, <a@b.example>", list{{"root", ""}, {"a@b.example", ""}}},
		{"a@b.example, Anna <c@d.example>", list{{"a@b.example", ""}, {"c@d.example", "Anna"}}},
		{"one, two, Anna <a@b.example>", list{{"a@b.example", "one, two, Anna"}}},
		{"Bell, Jr, Anna <a@b.example>, Roe, Jr, Bob <c@d.example>, e@f.example", list{{"a@b.example", "Bell, Jr, Anna"}, {"c@d.example", "Roe, Jr, Bob"}, {"e@f.example", ""}}},
		{"one, two, c@d.example", list{{"one", ""}, {"two", ""}, {"c@d.example", ""}}},
		{"mailto:a@b.example, <MAILTO:c@d.example?subject=x>, Ann [mailto:e@f.example]", list{{"a@b.example", ""}, {"c@d.example", ""}, {"e@f.example", "Ann"}}},
		{"[a@b.example], <'c@d.example'>, e@[192.0.2.1], [f@[192.0.2.2]]", list{{"a@b.example", ""}, {"c@d.example", ""}, {"e@[192.0.2.1]", ""}, {"f@[192.0.2.2]", ""}}},
		{"root,", list{{"root", ""}}},
		{"Mail Delivery System", list{{"", "Mail Delivery System"}}}, //
		{"Ann <>", list{{"", "Ann"}}},                                //
		{"caf\xe9 <a@b.example>", list{{"a@b.example", "café"}}},     //
		{"", nil}, {" , ;", nil}, {`"open`, list{{"open", ""}}}, {"(open", list{{"", "open"}}},
	} {
		if got := appendMailboxes(nil, c.in); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, want %+v", c.in, got, c.want)
		}
	}
}

func TestAtMostSoManyAddresses(t *testing.T) {
	if got := appendMailboxes(nil, strings.Repeat("a@b.example,", maxAddresses+1)); len(got) != maxAddresses {
		t.Errorf("%d mailboxes", len(got))
	}
	if got := appendMailboxes(nil, strings.Repeat("<,", maxAddresses)+"a@b.example"); got != nil {
		t.Errorf("empty ones don't count: %v", got)
	}
}

func TestDates(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Sat, 21 Nov 2026 07:07:09 +0100", "2026-11-21T06:07:09Z"},
		{"21 Nov 2026 07:07 -0330", "2026-11-21T10:37:00Z"},
		{"Sat, 21 Nov 2026 07:07:09 EST (Eastern)", "2026-11-21T12:07:09Z"},
		{"Sat, 21 Nov 26 07:07:09 GMT", "2026-11-21T07:07:09Z"},
		{"Sat, 21 Nov 99 07:07:09 UT", "1999-11-21T07:07:09Z"},
		{"Fri, 21 Nov 126 07:07:09 +0000", "2026-11-21T07:07:09Z"},
		{"Sat Nov 21 07:07:09 2026", "2026-11-21T07:07:09Z"},
		{"21-Nov-2026 07:07:09 +0000", "2026-11-21T07:07:09Z"},
		{"2026-11-21T07:07:09+01:00", "2026-11-21T06:07:09Z"},
		{"Sat, 21 November 2026 07:07:09.123 +0000", "2026-11-21T07:07:09Z"},
		{"Fri, 21 Nov 1997 09(comment):   55  :  06 -0600", "1997-11-21T15:55:06Z"}, // RFC 5322 appendix A.6.3
		{"Thu,\t13\tFeb\t1969 23:32 -0330 (Newfoundland (Time) \\))", "1969-02-14T03:02:00Z"},
		{"(a) Thu (b) , (c) 26 (d) Nov (e) 2026 (f) 10:00:00 (g) +0100 (h)", "2026-11-26T09:00:00Z"},
		{"Thu, 26 Nov 2026 10 : 00 CET", "2026-11-26T09:00:00Z"},
		{"Thu, 26 Nov 2026 10:00:00 (unclosed +0100", "2026-11-26T10:00:00Z"},
		{"26 Nov 2026 10:00:00 JST", "2026-11-26T01:00:00Z"},
		{"26 Nov 2026 10:00:00 cest", "2026-11-26T08:00:00Z"},
		{"26 Nov 2026 10:00:00 AEDT", "2026-11-25T23:00:00Z"},
		{"26 Nov 2026 10:00:00 GMT+0100", "2026-11-26T09:00:00Z"},
		{"26 Nov 2026 10:00:00 +0100 CET", "2026-11-26T09:00:00Z"},
		{"26 Nov 2026 10:00:00 +0200 ABC", "2026-11-26T08:00:00Z"},
		{"26 Nov 2026 10:00:00 A", "2026-11-26T10:00:00Z"},   // RFC 5322 section 4.3: letters were used wrongly
		{"26 Nov 2026 10:00:00 IST", "2026-11-26T10:00:00Z"}, // one of three
		{"26 Nov 26 10:00 PST", "2026-11-26T18:00:00Z"},
		{"26. Nov. 2026 10:00 EET", "2026-11-26T08:00:00Z"},
		{"Thu Nov 26 10:00:00 MSK 2026", "2026-11-26T07:00:00Z"},
		{"11 Nov 2026 01:02:03 PM", "2026-11-11T13:02:03Z"},
		{"11 Nov 2026 12:02 AM +0000", "2026-11-11T00:02:00Z"},
		{"2026-11-26 10:00:00 +0100", "2026-11-26T09:00:00Z"},
		{"Fri, 31 Dec 9999 23:00:00 -0500", ""},
		{"Sat, 32 Nov 2026 07:07:09 +0000", ""},
		{"Sat, 21 Nov 2026 25:07:09 +0000", ""},
		{"Sat, 21 Foo 2026 07:07:09 +0000", ""},
		{"21 Nov 2026", ""}, {"yesterday", ""}, {"", ""},
	} {
		got := ""
		if d, ok := parseDate(c.in); ok {
			got = d.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`attachment; filename="a b.txt"`, "a b.txt"},
		{`attachment; filename=a b.txt; size=1`, "a b.txt"},
		{`attachment;filename = "a;b.txt"`, "a;b.txt"},
		{`attachment; FileName="C:\new\a.txt"`, `C:\new\a.txt`},
		{`attachment; filename="a\"b"`, `a"b`},
		{`attachment; filename="=?utf-8?Q?Caf=C3?= =?utf-8?Q?=A9.txt?="`, "Café.txt"},
		{`attachment; filename*=utf-8'de'Gr%C3%BC%C3%9Fe.txt; filename=x`, "Grüße.txt"},
		{`attachment; filename*1*=%A9.txt; filename*0*=utf-8''Caf%C3`, "Café.txt"},
		{`attachment; filename*0="a b"; filename*1="c.txt"`, "a bc.txt"},
		{`attachment; filename*0="a"; filename*2="lost"`, "a"},
		{`attachment; filename*1="a"; filename*2="b"`, "ab"},
		{`attachment; filename*0="=?UTF-8?Q?Rechnung_M=C3=A4"; filename*1="rz.pdf?="`, "Rechnung März.pdf"},
		{`attachment; filename*1="B?5Lit5?="; filename*0="=?UTF-8?"; filename*2=" =?utf-8?B?paH?="`, "中文"},
		{`attachment; filename*0="=?UTF-8?Q?a_?="; filename*1="=?UTF-8?Q?=C3=A9?="`, "a é"},
		{`attachment; filename*0*="=?UTF-8?Q?=C3?="; filename*1="=?UTF-8?Q?=A9?="`, "é"},
		{`attachment; filename*="=?UTF-8?Q?=C3=A9?="`, "é"},
		{`attachment; filename*=utf-8''%3D%3FUTF-8%3FQ%3Fx%3F%3D`, "=?UTF-8?Q?x?="}, // means what it says
		{`attachment; filename*0*=iso-8859-1''%E9; filename*1=%41`, "é%41"},
		{`attachment; filename*0="a"; filename*0="b"; filename*1=c`, "ac"},
		{`attachment; filename="open`, "open"},
		{`attachment; filename`, ""},
		{`attachment`, ""},
	} {
		if got := decodedParam(c.in, "filename"); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestMediaType(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "text/plain",
		"text":                         "text/plain",
		"TEXT/HTML; charset=x":         "text/html",
		`application/pdf name="a.pdf"`: "application/pdf",
		"image/png (a picture)":        "image/png",
		"a/b/c":                        "text/plain",
		"te xt/plain":                  "text/plain",
	} {
		if got := MediaType(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// What a sender may put in front of the text, or leave out, is known behind the trace fields
// that the server put on top, too.
func TestBeginnings(t *testing.T) {
	const trace = "Return-Path: <a@b.test>\r\nReceived: from x\r\n\tby y;\r\n\tSat, 21 Nov 2026 10:11:12 +0000\r\n"
	for _, c := range []struct {
		raw, subject, text string
		degraded           bool
	}{
		{"Your code is 482913\r\n", "", "Your code is 482913\n", true},
		{"Hello,\r\n\r\nyour code is 482913\r\n", "", "Hello,\n\nyour code is 482913\n", true},
		{"Hello,\r\n folded\r\nlast", "", "Hello,\n folded\nlast", true},
		{"Received: from z\r\nHello\r\n", "", "Hello\n", true},
		{"\r\nHello\r\n", "", "Hello\n", false},
		{"no field\r\nSubject: s\r\n\r\nx\r\n", "s", "x\n", true},
		{"Subject: s\r\nno field\r\n\r\nx\r\n", "s", "no field\n\nx\n", true},
		{"Subject: s\r\nHello,\r\nCode: 482913\r\n indented\r\nbye\r\n", "s", "Hello,\nCode: 482913\n indented\nbye\n", true},
		{"Subject: s\r\nno field\r\nX-A: b\r\nno field\r\nTo: b\r\n\r\nx\r\n", "s", "x\n", true},
		{"Subject: s\r\n \t\r\nHello\r\n", "s", "Hello\n", true}, // the blank line has white space
		{"Subject: s\r\nContent-Transfer-Encoding: base64\r\nno field\r\n\r\neA==\r\n", "s", "x", true},
		{"Subject: s\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nno field\r\nat all\r\n--b--\r\n", "s", "no field\nat all", true},
		{"\ufeffSubject: s\r\n\r\nx\r\n", "s", "x\n", false},
		{"From a@b.test Sat Nov 21 10:11:12 2026\r\nSubject: s\r\n\r\nx\r\n", "s", "x\n", false},
		{"", "", "", false},
	} {
		for _, raw := range []string{c.raw, trace + c.raw} {
			if doc := Parse([]byte(raw)); doc.Subject != c.subject || doc.Text != c.text || doc.IsDegraded != c.degraded {
				t.Errorf("%q: subject %q, text %q, degraded %v", raw, doc.Subject, doc.Text, doc.IsDegraded)
			}
		}
	}
}
