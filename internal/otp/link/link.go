package link

import "inboxd/internal/otp/text"

import "strings"

// Merits of a link. The best one is the answer, unless two share the first place.
const (
	linkNone   = 0
	linkReset  = 1 // sets a new password, with a secret
	linkAction = 2 // says "confirm" but carries no secret
	linkSecret = 3 // carries a secret under a telling name
	linkBoth   = 4 // says "confirm" or "sign in" and carries a secret
)

// maxLinks bounds how many links are looked at, maxLink how many bytes of one.
const (
	maxLinks = 256
	maxLink  = 4096
)

// foremost gives the one link that confirms or signs in, or "" when there is none
// or when several could be meant. It judges by the words of path and query, and by what a
// link says.
func foremost(links []string, anchors []Anchor) string {
	best, answer := linkNone, ""
	for i, link := range links {
		if i == maxLinks {
			break
		}
		switch m := merit(link, said(link, anchors)); {
		case m == linkNone || m < best || link == answer:
		case m > best:
			best, answer = m, link
		case !sameLink(link, answer):
			answer = ""
		}
	}
	return answer
}

// sameLink tells links that differ in what no server sees or a mail program added.
func sameLink(a, b string) bool {
	trim := func(s string) string { return strings.TrimRight(strings.TrimSuffix(s, "/"), ".,;:!") }
	return trim(a) == trim(b)
}

// merit judges one link, which says something.
func merit(link string, says saying) int {
	j, ok := readLink(link)
	if !ok {
		return linkNone
	}
	return j.merit(says)
}

// readLink takes a web link apart.
func readLink(link string) (j linkWords, ok bool) {
	_, rest, ok := strings.Cut(link, "://")
	if !ok || len(link) > maxLink || !strings.HasPrefix(strings.ToLower(link[:4]), "http") {
		return j, false
	}
	host, rest := splitAt(rest, "/?#")
	path, rest := splitAt(rest, "?#")
	query, fragment := splitAt(rest, "#")
	j.host(host)
	j.path(path)
	j.query(strings.TrimPrefix(query, "?"))
	if fragment = strings.TrimPrefix(fragment, "#"); strings.ContainsAny(fragment, "=&") {
		j.query(fragment)
	} else {
		j.path(fragment)
	}
	return j, true
}

// splitAt cuts s before the first of the signs.
func splitAt(s, signs string) (before, from string) {
	if i := strings.IndexAny(s, signs); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// linkWords is what the parts of a link say.
type linkWords struct {
	confirms bool // verify, confirm, activate, magic
	signsIn  bool // login, auth: true of many plain links too
	resets   bool
	secret   bool // something long that nobody can guess
	named    bool // ... under a name like "token"
	visits   bool // an appointment, which is confirmed too
	refuses  bool // unsubscribe, privacy, help, "this was not me"
}

func (j *linkWords) merit(says saying) int {
	secret := j.secret || j.named
	switch {
	case says == saysOther, j.visits:
		return linkNone
	case says == saysConfirm && secret:
		return linkBoth
	case says == saysReset && secret:
		return linkReset
	case j.refuses:
		return linkNone
	case (j.confirms || j.signsIn) && secret && !j.resets:
		return linkBoth
	case j.named && !j.resets:
		return linkSecret
	case j.confirms && !j.resets:
		return linkAction
	case j.resets && secret:
		return linkReset
	}
	return linkNone
}

func (j *linkWords) host(host string) {
	for label, more := splitAt(host, "."); ; label, more = splitAt(more[1:], ".") {
		switch strings.ToLower(label) {
		case "unsubscribe", "help", "support", "docs", "blog", "status", "privacy":
			j.refuses = true
		case "verify", "confirm", "activate", "magic":
			j.signsIn = true
		}
		if more == "" {
			return
		}
	}
}

func (j *linkWords) path(path string) {
	for path != "" {
		var part string
		part, path = splitAt(strings.TrimLeft(path, "/"), "/")
		if opaque(part) {
			j.secret = true
			continue
		}
		j.words(part)
	}
}

func (j *linkWords) query(query string) {
	for query != "" {
		var pair string
		pair, query = splitAt(query, "&")
		query = strings.TrimPrefix(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		name = strings.ToLower(name)
		switch {
		case tracking(name):
		case name == "type" || name == "mode" || name == "action" || name == "flow_type" || name == "intent" || name == "op" || name == "act" || name == "do" || name == "event" || name == "method" || name == "rid":
			j.words(value)
		case secretName(name) && len(value) >= 4:
			j.named = true
		case opaque(value) && !returnName(name):
			j.secret = true
			j.words(name)
		case !returnName(name):
			j.words(name)
		}
	}
}

// words looks for telling words inside one part of a link: "verifyEmail", "sign-in".
func (j *linkWords) words(part string) {
	if len(part) > 48 {
		return
	}
	var buf [48]byte
	n := 0
	for i := 0; i < len(part); i++ {
		c := part[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != '-' && c != '_' && c != '.' && c != '+' && c != ' ' {
			buf[n] = c
			n++
		}
	}
	s := buf[:n]
	j.confirms = j.confirms || string(s) == "doi" // double opt-in
	if visitingWords.In(s) {
		j.visits, j.refuses = true, true
		return
	}
	if refusingWords.In(s) {
		j.refuses = true
		return
	}
	j.resets = j.resets || resettingWords.In(s)
	j.confirms = j.confirms || confirmingWords.In(s)
	j.signsIn = j.signsIn || signingWords.In(s)
}

var (
	confirmingWords = text.NewPhrases("verif", "confirm", "activat", "validat", "magic", "passwordless", "bestatig", "bestaetig",
		"aktivier", "conferma", "bevestig", "potwierd", "onayla", "optin", "onetime", "emaillogin", "loginlink", "signinlink", "accountactivation")
	signingWords   = text.NewPhrases("signin", "login", "logon", "auth", "sso", "signup", "register", "session", "token", "otp", "callback", "connexion", "anmeld", "oneclick", "enroll")
	resettingWords = text.NewPhrases("reset", "recover", "forgot", "newpassword", "changepassword", "setpassword", "passwort")
	visitingWords  = text.NewPhrases("rsvp", "booking", "reservation", "appointment")
	refusingWords  = text.NewPhrases("unsubscri", "optout", "privacy", "terms", "help", "support", "faq", "legal", "contact", "preference",
		"settings", "abuse", "report", "deny", "reject", "decline", "cancel", "revoke", "notme", "wasntme", "disavow", "secureaccount",
		"blog", "docs", "article", "learn", "policy", "manage", "webversion", "viewinbrowser", "viewonline", "feedback", "survey", "invoice", "receipt", "order", "track", "abmeld", "delete", "remove", "disable", "lock", "author", "store", "shop", "about", "careers", "download", "appstore", "twitter", "facebook", "linkedin", "instagram", "youtube", "static", "assets", "images", "pixel", "logo", "thank", "success", "billing", "upgrade", "pricing", "cart", "checkout", "donate", "promo", "campaign", "review", "rating", "delivery", "confirmed", "verified")
)

var squeezer = strings.NewReplacer("_", "", "-", "", "[", "", "]", "")

// secretName tells the names under which services pass what proves who clicked.
func secretName(name string) bool {
	switch squeezer.Replace(name) {
	case "token", "secret", "otp", "code", "oobcode", "confirmationtoken", "verificationtoken", "verificationcode", "confirmationcode",
		"magic", "magiclink", "magictoken", "logintoken", "signintoken", "authtoken", "emailtoken", "activationtoken", "activationkey",
		"activationcode", "verifytoken", "verifykey", "verifycode", "onetimetoken", "onetimecode", "tokenhash", "passcode", "confirmkey",
		"confirmcode", "confirmtoken", "ticket", "preauthsessionid", "linkcode", "hmac", "jwt", "loginkey", "authcode", "stytchtoken", "emailverificationtoken":
		return true
	}
	return false
}

// returnName tells parameters that hold another address: its words are not this link's.
func returnName(name string) bool {
	return strings.Contains(name, "redirect") || strings.Contains(name, "return") || strings.Contains(name, "continue") ||
		strings.Contains(name, "callback") || name == "next" || name == "url" || name == "to" || name == "goto" || name == "target" || name == "dest"
}

func tracking(name string) bool {
	return strings.HasPrefix(name, "utm") || strings.HasPrefix(name, "mc_") || name == "ref" || name == "source" || name == "lang" || name == "locale"
}

// opaque tells a part of a link that nobody can guess: long, and of mixed characters, or
// many digits.
func opaque(s string) bool {
	letters, digits, upper, dots := 0, 0, 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case text.IsDigit(c):
			digits++
		case c >= 'a' && c <= 'z':
			letters++
		case c >= 'A' && c <= 'Z':
			letters++
			upper++
		case c == '-' || c == '_' || c == '=' || c == '~' || c == ':' || c == '%':
		case c == '.':
			dots++
		default:
			return false
		}
	}
	switch n := letters + digits; {
	case n < 5:
		return false
	case letters == 0:
		return digits >= 5
	case n >= 16:
		return digits >= 2 || upper >= 4 && upper < letters
	default:
		return n >= 8 && digits >= 2 && letters >= 2 && dots == 0
	}
}
