package link

import (
	"fmt"
	"hash/fnv"
	"html"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/mail/otp/model/train"
)

// This file makes further messages for training and for tests: from stories by changes that do not
// change the answer, and from a table of phrases in many languages.

// phraseTable has the phrases of ../testdata/link-phrases.txt by language and kind.
type phraseTable map[string]map[string][]string

func readPhrases(t testing.TB) phraseTable {
	raw, err := os.ReadFile("../testdata/link-phrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, lang := phraseTable{}, ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "## "); ok {
			lang = name
			all[lang] = map[string][]string{}
		} else if kind, phrases, ok := strings.Cut(line, ": "); ok && line[0] != '#' {
			all[lang][kind] = strings.Split(phrases, " | ")
		}
	}
	return all
}

// scriptLanguages are the languages of the table for the scripts that train.GuessLanguage returns.
var scriptLanguages = map[string]string{"Greek": "el", "Hebrew": "he", "Devanagari": "hi", "Bengali": "bn", "Tamil": "ta", "Thai": "th", "Hangul": "ko", "Hiragana": "ja", "Han": "zh"}

// of returns the phrases in the language of a text, or those in English.
func (p phraseTable) of(text string) map[string][]string {
	lang := train.GuessLanguage(text)
	if of := p[scriptLanguages[lang]]; of != nil {
		return of
	}
	if p[lang] != nil {
		return p[lang]
	}
	return p["en"]
}

// random returns a source of random numbers for a name, the same in each run.
func random(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewSource(int64(h.Sum64())))
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.Intn(len(all))] }

const (
	lowerLetters = "abcdefghijklmnopqrstuvwxyz"
	allLetters   = lowerLetters + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hexDigits    = "0123456789abcdef"
	allDigits    = "0123456789"
)

// some returns n random characters of a set.
func some(r *rand.Rand, set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.Intn(len(set))]
	}
	return string(b)
}

// secretURL returns a URL with a secret, as many programs build it, which says little or nothing.
func secretURL(r *rand.Rand) string {
	host := pick(r, "", "app.", "www.", "my.", "id.") + some(r, lowerLetters, 4+r.Intn(6)) + pick(r, ".example", ".example:8443", ".example/portal")
	brief := func() string { return some(r, allDigits, 1) + some(r, allLetters+allDigits, 2+r.Intn(4)) }
	secret := pick(r, brief(), some(r, allLetters+allDigits, 8), some(r, hexDigits, 12), some(r, hexDigits, 32), some(r, allLetters+allDigits, 24), some(r, allDigits, 6), some(r, lowerLetters, 12))
	return "https://" + host + pick(r,
		"/M/"+brief(), "/lc/"+brief()+"/", "/q/"+secret, "/r/"+brief()+"/"+brief(), "/"+secret, "/u/mara/"+secret,
		"/wiki.php?do=mail&auth="+some(r, hexDigits, 32), "/pw?u=mara&c="+secret, "/index.php?action=act&id=417&h="+secret, "/?k="+secret,
		"/x.cgi?u=417&v="+secret, "/a.aspx?g="+some(r, hexDigits, 8)+"-"+some(r, hexDigits, 4)+"-"+some(r, hexDigits, 12), "/#/go/"+secret,
		"/account/417/"+secret, "/users/mara%40larch.example/"+secret, "/t?m="+secret+"&e=mara%40larch.example", "/s/"+some(r, allLetters+allDigits, 90), "/p/"+some(r, allLetters, 20))
}

// siteURL returns a URL without a secret.
func siteURL(r *rand.Rand, words ...string) string {
	return "https://" + pick(r, "www.", "", "app.") + some(r, lowerLetters, 4+r.Intn(6)) + ".example/" + pick(r, words...)
}

// plainURL returns a URL that any message may have.
func plainURL(r *rand.Rand) string {
	return siteURL(r, "en/", "de-DE/start", "about", "app?lang=de", "maps?q=52.52,13.40", "ip/203.0.113.7", "2026/11", "~larch/", "index.html", "shop/c417", "m/2", "team/mara", "d/4-larch")
}

// letter is what a sender writes: a subject, a plain text and HTML. Either of the bodies may be empty.
type letter struct{ subject, text, markup string }

// addLine adds a line to both bodies, before them or behind them.
func (l *letter) addLine(line string, before bool) {
	markup := "<p>" + html.EscapeString(line) + "</p>"
	if before {
		if l.text != "" {
			l.text = line + "\n\n" + l.text
		}
		if l.markup != "" {
			l.markup = markup + l.markup
		}
		return
	}
	if l.text != "" {
		l.text += "\n\n" + line
	}
	if l.markup != "" {
		l.markup += markup
	}
}

// addLink adds a line with a link to both bodies.
func (l *letter) addLink(line, label, url string) {
	if l.text != "" {
		l.text += "\n\n" + strings.TrimSpace(line+" "+url)
	}
	if l.markup != "" {
		l.markup += `<p>` + html.EscapeString(line) + ` <a href="` + html.EscapeString(url) + `">` + html.EscapeString(label) + `</a></p>`
	}
}

// change is a change of a letter that does not change its link.
type change struct {
	name string
	make func(r *rand.Rand, s *story, p map[string][]string)
}

// changes are all changes. The metamorphic tests make each of them to stories that are read right.
var changes = []change{
	{"a subject with numbers", func(r *rand.Rand, s *story, p map[string][]string) {
		s.subject = pick(r, "test #3", "test Fri, 27 Nov 2026 17:31:00 +0000", "[#48213] "+s.subject, "ticket 200417", s.subject+" (2)")
	}},
	{"a greeting", func(r *rand.Rand, s *story, p map[string][]string) { s.addLine(p["hello"][0], true) }},
	{"a thank-you line", func(r *rand.Rand, s *story, p map[string][]string) { s.addLine(p["hello"][1], false) }},
	{"a link to the sender's site", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.text != "" {
			s.text += "\n\nLarch, " + plainURL(r)
		}
		if s.markup != "" {
			s.markup = `<p><a href="` + plainURL(r) + `">Larch</a></p>` + s.markup
		}
	}},
	{"a signature", func(r *rand.Rand, s *story, p map[string][]string) {
		s.addLine("-- \nLarch Support\n+49 30 5550142, https://larch.example/", false)
	}},
	{"a footer", func(r *rand.Rand, s *story, p map[string][]string) {
		s.addLink("", "Larch", "https://larch.example/")
		s.addLink("", "Help", "https://larch.example/help")
		s.addLink("", "Privacy", "https://larch.example/privacy")
		s.addLink("© 2026 Larch, 12 Mill Lane, 10115", "Unsubscribe", "https://larch.example/unsubscribe/"+some(r, hexDigits, 16))
	}},
	{"a line for others before the link", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.want != "" {
			s.text = strings.Replace(s.text, "\n\n"+s.want, "\n\n"+p["ignore"][0]+"\n\n"+s.want, 1)
		}
	}},
	{"a line for others", func(r *rand.Rand, s *story, p map[string][]string) {
		s.addLine(p["ignore"][0], false)
	}},
	{"a notice with a sign-up page", func(r *rand.Rand, s *story, p map[string][]string) {
		s.addLink(p["signup"][0], "larch.example", siteURL(r, "register", "signup", "join"))
	}},
	{"a code behind the link", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.want != "" {
			s.text = strings.Replace(s.text, s.want, s.want+pick(r, "\n\n482913", " (482913)", "\n482 913"), 1)
		}
	}},
	{"a date behind the link", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.want != "" {
			s.text = strings.Replace(s.text, s.want, s.want+pick(r, " (28.11.2026 17:30)", "\n2026-11-28 17:30 UTC", " - 28 Nov 2026"), 1)
		}
	}},
	{"Markdown", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.want != "" && s.markup == "" && !strings.Contains(s.text, "<"+s.want) {
			s.text = strings.Replace(s.text, s.want, "["+s.want+"]("+s.want+")", 1)
		}
	}},
	{"angle brackets", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.want != "" && strings.Count(s.text, s.want) == 1 && !strings.Contains(s.text, "<"+s.want) {
			s.text = strings.Replace(s.text, s.want, "<"+s.want+">", 1)
		}
	}},
	{"a forwarding wrapper", func(r *rand.Rand, s *story, p map[string][]string) {
		s.addLine("---------- Forwarded message ---------\nFrom: Larch <no-reply@larch.example>\nDate: Fri, 27 Nov 2026 at 17:31\nSubject: "+s.subject+"\nTo: <mara@example.org>", true)
		s.subject = pick(r, "Fwd: ", "FW: ", "WG: ", "Tr: ") + s.subject
	}},
	{"no HTML", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.text != "" && strings.Contains(s.text, s.want) {
			s.markup = ""
		}
	}},
	{"no plain text", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.markup != "" && strings.Contains(s.markup, html.EscapeString(s.want)) {
			s.text = ""
		}
	}},
	{"text as HTML", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.markup == "" {
			s.markup, s.text = asHTML(r, s.text), ""
		}
	}},
	{"spans", func(r *rand.Rand, s *story, p map[string][]string) {
		s.markup = strings.NewReplacer("<p>", "<div><span>", "</p>", "</span></div>", "<td>", "<td><span>", "</td>", "</span></td>").Replace(s.markup)
	}},
	{"a table around it", func(r *rand.Rand, s *story, p map[string][]string) {
		if s.markup != "" {
			s.markup = `<table width="600"><tr><td><img src="https://larch.example/logo.png" alt="Larch"></td></tr><tr><td>` + s.markup + `</td></tr></table>`
		}
	}},
}

// asHTML returns a plain text as HTML, with its URLs as links.
func asHTML(r *rand.Rand, text string) string {
	open, end := pick(r, "<p>", "<div>", "<tr><td>"), ""
	switch open {
	case "<p>":
		end = "</p>"
	case "<div>":
		end = "</div>"
	default:
		end = "</td></tr>"
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(open)
		for i, word := range strings.Split(line, " ") {
			if i > 0 {
				b.WriteByte(' ')
			}
			if strings.HasPrefix(word, "http") && strings.Contains(word, "://") && !strings.ContainsAny(word, "<>()[]") {
				fmt.Fprintf(&b, `<a href="%s">%[1]s</a>`, html.EscapeString(word))
			} else {
				b.WriteString(html.EscapeString(word))
			}
		}
		b.WriteString(end + "\n")
	}
	return b.String()
}

// changed returns the story after a change, read again.
func (s story) changed(c change, p phraseTable) story {
	s.name += ", " + c.name
	c.make(random(s.name), &s, p.of(s.subject+" "+s.text+" "+s.markup))
	s.mail = SearchInput{}
	s.read()
	return s
}

// restyled returns a story with its link at a URL that says little.
func (s story) restyled(r *rand.Rand) (story, bool) {
	if s.want == "" || strings.Contains(s.want, "&") && s.markup != "" {
		return s, false
	}
	to := secretURL(r)
	both := strings.NewReplacer(html.EscapeString(s.want), html.EscapeString(to), s.want, to)
	s.text, s.markup, s.want = strings.ReplaceAll(s.text, s.want, to), both.Replace(s.markup), to
	s.name += ", restyled"
	s.mail = SearchInput{}
	s.read()
	return s, slices.Contains(s.mail.Links, to)
}

// composed returns messages from the phrases of one language.
func (p phraseTable) composed(lang string) (all []story) {
	of, r := p[lang], random(lang)
	add := func(want string, l letter) {
		s := story{name: "phrases " + lang, want: want, letter: l}
		if pick(r, true, false) {
			s.addLine(of["hello"][0], true)
		}
		if pick(r, true, false, false) {
			s.addLine(of["hello"][1], false)
		}
		if pick(r, true, false, false) {
			changes[4].make(r, &s, of)
		}
		s.read()
		all = append(all, s)
	}
	for _, kind := range []string{"reset", "verify", "signin", "invite", "optin", "delete", "leave"} {
		for range 6 {
			url := secretURL(r)
			sentence := of[kind][1]
			if pick(r, true, false, false, false) { // next to the link is what to do for those who did not ask
				sentence += pick(r, " ", "\n\n") + of["ignore"][0]
			}
			l := layoutLink(r, sentence, of[kind][2], url)
			l.subject = pick(r, of[kind][0], of[kind][0], of[kind][0], "Larch", "test #3")
			for _, more := range []string{"ignore", "expires"} {
				if pick(r, true, false) {
					l.addLine(of[more][0], pick(r, true, false, false, false))
				}
			}
			if pick(r, true, false, false, false) {
				l.addLink(of["signup"][0], "larch.example", siteURL(r, "register", "join", "signup"))
			}
			if pick(r, true, false, false, false) {
				l.addLink(of["notyou"][0], of["reset"][2], secretURL(r))
			}
			add(url, l)
		}
		placeholder := siteURL(r, "verify", "reset", "auth/login", "u/confirm") + pick(r, "?token=YOUR_TOKEN", "?token={token}", "/:token", "?t=<token>", "/[TOKEN]", "?key=xxxxxxxx", "?token=...")
		l := layoutLink(r, of[kind][1], of[kind][2], placeholder)
		l.subject = of[kind][0]
		add("", l)
		add("", letter{of[kind][0], of[kind][1] + "\n\n" + of["expires"][0] + "\n\n" + siteURL(r, "", "help", "privacy"), ""})
	}
	for range 4 {
		base := func(kind string) letter {
			l := layoutLink(r, of[kind][len(of[kind])-1], of[kind][0], pick(r, siteURL(r, "t/417", "forum/question/417", "blog/november", "news"), secretURL(r)))
			if kind == "news" {
				l = layoutLink(r, of["notice"][1], of["notice"][0], pick(r, siteURL(r, "blog/november", "news/417"), secretURL(r)))
				l.addLink(of["notice"][0], of["notice"][0], pick(r, siteURL(r, "a/2", "b/3"), secretURL(r)))
			}
			l.subject = of[kind][0]
			return l
		}
		l := base("notice")
		l.addLink(of["signup"][0], pick(r, "larch.example", of["signup"][0]), siteURL(r, "register", "signup", "join", "register?from=mail", "users/sign_up", "account/create", "activate"))
		add("", l)
		l = base("news")
		l.addLink(of["news"][1], pick(r, "larch.example", of["leave"][2]), pick(r, secretURL(r), siteURL(r, "unsubscribe?id=", "confirm/unsubscribe/")+some(r, hexDigits, 12)))
		add("", l)
		l = base("notice")
		l.addLink(of["notyou"][0], of["reset"][2], pick(r, secretURL(r), siteURL(r, "reset", "password/forgot")))
		add("", l)
		l = base("notice")
		l.addLink(of["howto"][0], pick(r, "larch.example", of["reset"][0]), siteURL(r, "help/reset-password", "docs/how-to-reset-a-password.html", "kb/417-verify-your-address", "support/login"))
		add("", l)
		for _, kind := range []string{"code", "welcome", "changed"} {
			page := siteURL(r, "login", "signin", "", "auth", "account/login?next=%2Fhome", "users/sign_in", "wp-login.php", "en/", "app", "welcome?lang=de")
			l = layoutLink(r, of[kind][0]+". "+of[kind][1], of["signin"][2], page)
			l.subject = pick(r, of[kind][0], of[kind][0], of["signin"][0], "Larch")
			if pick(r, true, false) {
				l.addLink(of["notyou"][0], pick(r, of["reset"][2], page), pick(r, secretURL(r), siteURL(r, "reset", "help/hacked")))
			}
			if pick(r, true, false, false) {
				l.addLine(of["ignore"][0], false)
			}
			add("", l)
			if kind == "code" { // the page to type the code is not the answer, a link that carries the code is
				l = layoutLink(r, of[kind][0]+"\n\n"+of[kind][1], of["verify"][2], siteURL(r, "login/code?email=mara%40larch.example", "verify?flow="+some(r, hexDigits, 8), "otp?session="+some(r, hexDigits, 12), "signin/challenge"))
				l.subject = of[kind][0]
				add("", l)
				url := siteURL(r, "verify?", "login?e=mara%40larch.example&", "u/417/confirm?") + pick(r, "code", "c", "otp") + "=482913"
				l = layoutLink(r, of[kind][0]+"\n\n"+of["signin"][1], of["signin"][2], url)
				l.subject = of["signin"][0]
				add(url, l)
				both := pick(r, "verify", "signin", "reset") // a code and a link, either of which will do
				url = pick(r, secretURL(r), siteURL(r, "verify", "u/confirm", "account")+"?token="+some(r, hexDigits, 12))
				l = layoutLink(r, of[kind][0]+pick(r, "\n\n", ". ")+of[both][1], of[both][2], url)
				l.subject = pick(r, of[both][0], of[kind][0])
				add(url, l)
			}
			l = letter{of["verify"][0], of[kind][0] + ".\n\n" + of["expires"][0] + "\n\nLarch\n" + plainURL(r), ""}
			if pick(r, true, false) {
				l.markup = "<p>" + html.EscapeString(of[kind][0]) + "</p><p>" + html.EscapeString(of["expires"][0]) + `</p><p><a href="` + plainURL(r) + `">Larch</a></p>`
				l.text = pick(r, "", l.text)
			}
			add("", l)
		}
		l = letter{subject: "API " + of["verify"][0], text: of["verify"][1] + "\n\n" + pick(r, "curl -X POST ", "GET ", "url = \"", "POST ") + "https://" + pick(r, "api.larch.example/v1/", "larch.example/api/") + pick(r, "verify", "auth/token", "password/reset", "sessions/confirm") + pick(r, "", "?key="+some(r, hexDigits, 24), "/"+some(r, hexDigits, 12))}
		add("", l)
	}
	return all
}

// layoutLink returns a letter with one link in one of the usual layouts.
func layoutLink(r *rand.Rand, sentence, label, url string) letter {
	address, said, name := html.EscapeString(url), html.EscapeString(sentence), html.EscapeString(label)
	button := fmt.Sprintf(`<p>%s</p><table><tr><td><a href="%s" style="padding:12px">%s</a></td></tr></table>`, said, address, name)
	printed := fmt.Sprintf(`<p>%s</p><p><a href="%s">%[2]s</a></p>`, said, address)
	switch r.Intn(10) {
	case 9:
		return letter{text: label + ": " + url}
	case 0, 1:
		return letter{text: sentence + "\n\n" + url}
	case 2:
		return letter{text: sentence + " " + url}
	case 3:
		return letter{text: sentence + "\n\n" + pick(r, "["+label+"]("+url+")", label+":\n"+url, label+" <"+url+">", "["+url+"]("+url+")")}
	case 4:
		return letter{markup: button}
	case 5:
		return letter{markup: button + "<p>" + address + "</p>"}
	case 6:
		return letter{markup: printed}
	case 7:
		return letter{text: sentence + "\n\n" + label + " ( " + url + " )", markup: button}
	}
	return letter{text: sentence + "\n" + url, markup: printed}
}

// EachStory calls use with each story of a file as a message.
func EachStory(t testing.TB, file string, use func(name, want string, raw []byte)) {
	for _, s := range stories(t, file) {
		use(s.name, s.want, s.raw())
	}
}

// EachChange calls use with every nth story as a message, and with each change of it.
func EachChange(t testing.TB, nth int, use func(name, change, want string, raw []byte)) {
	phrases, n := readPhrases(t), 0
	files, _ := filepath.Glob("../testdata/links/*.txt")
	for _, file := range files {
		for _, s := range stories(t, file) {
			if n++; n%nth != 0 {
				continue
			}
			use(s.name, "", s.want, s.raw())
			for _, c := range changes {
				if v := s.changed(c, phrases); v.letter != s.letter {
					use(s.name, c.name, v.want, v.raw())
				}
			}
			for i, q := range s.quoted() {
				use(s.name, fmt.Sprint("quoted ", i), "", q.raw())
			}
		}
	}
}

// quoted returns replies that quote the letter as an older message.
func (l letter) quoted() (all []letter) {
	const attribution = "On Fri, 27 Nov 2026 at 17:31, Larch <no-reply@larch.example> wrote:"
	if l.text != "" {
		marked := "> " + strings.ReplaceAll(l.text, "\n", "\n> ")
		header := "From: Larch <no-reply@larch.example>\nSent: Friday, 27 November 2026 17:31\nTo: mara@example.org\nSubject: " + l.subject
		all = append(all, letter{"Re: " + l.subject, "Thanks!\n\n" + attribution + "\n" + marked, ""},
			letter{"Re: " + l.subject, "Thanks!\n\n-----Original Message-----\n" + header + "\n\n" + l.text, ""},
			letter{"RE: " + l.subject, "Thanks!\n\n" + header + "\n\n" + l.text, ""},
			letter{"AW: " + l.subject, "Danke!\n\nAm 27.11.2026 um 17:31 schrieb Larch <no-reply@larch.example>:\n\n" + marked, ""},
			letter{"Re: " + l.subject, "ありがとう\n\n2026年11月27日(金) 17:31 Larch <no-reply@larch.example>:\n\n" + marked, ""})
	}
	if l.markup != "" {
		all = append(all, letter{"Re: " + l.subject, "", "<div>Thanks!</div><div class=\"gmail_quote\"><div>" + html.EscapeString(attribution) + "<br></div><blockquote>" + l.markup + "</blockquote></div>"},
			letter{"Re: " + l.subject, "", "<p>Thanks!</p><div style=\"border-top:solid #E1E1E1 1.0pt\"><p><b>From:</b> Larch &lt;no-reply@larch.example&gt;<br><b>Sent:</b> Friday, 27 November 2026 17:31<br><b>To:</b> mara@example.org<br><b>Subject:</b> " + html.EscapeString(l.subject) + "</p></div>" + l.markup})
	}
	return all
}
