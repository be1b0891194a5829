package delivery

import (
	"regexp"
	"strings"
)

var (
	codePattern  = regexp.MustCompile(`(?:^|[^\w.])([245]\.\d{1,3}\.\d{1,3})(?:[^\w.]|\.\D|\.?$)`) // not inside an IP address
	ownPattern   = regexp.MustCompile(`\b[245]\d\d[ -]#?([245]\.\d{1,3}\.\d{1,3})\b`)              // after the code of a reply
	replyPattern = regexp.MustCompile(`\b[45]\d\d(?:[ :-]|$)`)
)

// Words of servers about a recipient, in lower case. A reason about the sender, its host, the
// message, the route or a limit says nothing against the address, whatever else it says.
var (
	otherWords = regexp.MustCompile(`quota|\bfull\b|exceed|over ?limit|too (large|big|long|many|quickly|fast)|size limit|insufficient|no space|\bdisk\b|storage` +
		`|time-?out|timed out|retry time|expired|try again|temporar|deferred|delayed|gr[ea]ylist|\brate\b|throttl|\bloop|hop count|hops\b` +
		`|blocked|block ?list|black ?list|blocklisted|(is|are|was) listed|listed (at|by)|reputation|spam|junk|polic|prohibit|not authori[sz]|unauthori[sz]|authenticat` +
		`|dmarc|\bspf\b|dkim|virus|malware|\bcontent\b|banned|connection|connect to|unreachable|relay|access denied|sender (address|domain|verif)|client host` +
		`|kontingent|\bvoll\b|überfüllt|speicher|abgelaufen|gesperrt|\bpleine?\b|saturée?|dépass|expiré|bloqué|cuota|\bllen[oa]\b|caducad|bloquead|\bcota\b|\bchei[oa]\b` +
		`|\bpien[oa]\b|superat|переполнен|превышен|спам|容量|いっぱい|一杯|迷惑|已满|垃圾|超过|超出`)
	goneWords = regexp.MustCompile(`unknown|no such|not exist|n.t exist|non-?existent|not found|not be found|unrout|invalid (recipient|mailbox|address|user|e-?mail|account)` +
		`|bad (destination|address|recipient)|not a valid|no mailbox|mailbox (is )?(unavailable|disabled|inactive)|(not|isn.t) (our|a) (customer|known)|not (known|listed|recogni[sz]ed)` +
		`|have an? .{0,30}account|no longer|disabled|inactive|deactivated|discontinued|(recipient|address) (was )?rejected|(not|n.t) (accept|take) (any )?(e-?)?mail|null ?mx|no mail ?server` +
		`|unbekannt|nicht gefunden|existiert nicht|nicht vorhanden|inconnu|introuvable|existe pas|no existe|desconocid|não existe|desconhecid|sconosciut|inesistente|non esiste` +
		`|не существует|не найден|неизвест|存在しません|見つかりません|不明|不存在|无此|查无|找不到`)
	// namePattern finds addresses and host names, which may contain any word.
	namePattern = regexp.MustCompile(`\S+@\S+|[\pL\d_-]+(\.[\pL\d_-]+)+\S*`)
	// unknownPattern finds what Postfix and Exchange Online say about an unknown recipient.
	unknownPattern = regexp.MustCompile(`unknown in relay recipient table|recipient address rejected: access denied`)
	endedWords     = regexp.MustCompile(`expired|gave up|giv(en|ing) up|abgelaufen|expiré|caducad|истёк|истек`)
)

// isGeneric reports whether a code has the subject "other or undefined" (RFC 3463 section 3.1).
// Several servers use such codes for everything.
func isGeneric(code string) bool { return len(code) > 3 && code[1:4] == ".0." }

// enhancedCode finds the first code of RFC 3463 in v.
func enhancedCode(v string) string { return firstCode(codePattern, v) }

func firstCode(pattern *regexp.Regexp, v string) string {
	if m := pattern.FindStringSubmatch(v); m != nil {
		return m[1]
	}
	return ""
}

// specificStatus returns the most specific code. The code of the server that rejected the message,
// found in its diagnostic, comes before the code of the reporting server. A generic code counts as
// missing.
func specificStatus(status, diagnostic string) string {
	own := firstCode(ownPattern, diagnostic)
	switch {
	case strings.HasPrefix(status, "4.") && !isGeneric(status):
		return status
	case own != "" && !isGeneric(own):
		return own
	case status == "" || isGeneric(status):
		if status = enhancedCode(diagnostic); isGeneric(status) {
			return ""
		}
	}
	return status
}

// IsHard reports whether every message to this recipient would be returned. It is true if the
// address is at fault, and not its mailbox quota, this message, our host or the route (ADR 0099).
func (p RecipientReport) IsHard() bool {
	words := unknownPattern.ReplaceAllString(namePattern.ReplaceAllString(strings.ToLower(p.Diagnostic), " "), "unknown")
	reply := replyPattern.FindString(p.Diagnostic)
	switch {
	case otherWords.MatchString(words):
		return false
	case p.Status != "":
		return isHardCode(p.Status)
	case strings.HasPrefix(reply, "4"), strings.HasPrefix(reply, "552"):
		return false
	case reply != "" && strings.Contains("521 550 551 553 556", reply[:3]):
		return true
	}
	return goneWords.MatchString(words)
}

// softCodes are prefixes of class 5 codes that say nothing against the address: bad senders, full
// mailboxes, mailbox limits, the system, loops and expiry, protocol, content, policy.
var softCodes = []string{
	"5.0.", "5.1.7 ", "5.1.8 ", "5.2.2 ", "5.2.3 ", "5.2.12", "5.3.", "5.4.6 ", "5.4.7 ", "5.4.12 ", "5.4.14 ", "5.4.300 ", "5.4.312 ", "5.4.316 ",
	"5.5.", "5.6.", "5.7.",
}

func isHardCode(code string) bool {
	for _, soft := range softCodes {
		if strings.HasPrefix(code+" ", soft) {
			return false
		}
	}
	return code[0] == '5'
}

// Reason returns the text for the sender: the server's own words, or the meaning of the code if
// there are none.
func (p RecipientReport) Reason() string {
	code := p.Status
	switch {
	case hasWords(p.Diagnostic) && (code == "" || enhancedCode(p.Diagnostic) != "" || contradictsCode(p.Diagnostic, code)):
		return p.Diagnostic
	case hasWords(p.Diagnostic):
		return code + " " + p.Diagnostic
	case code == "":
		code = strings.TrimSpace(p.Diagnostic)
	}
	if code == "" {
		return "The message bounced without a reason"
	}
	return meaningOf(p.Status) + " (" + code + ")"
}

// contradictsCode reports whether a text begins with a reply of another class than code.
func contradictsCode(text, code string) bool {
	reply := replyPattern.FindString(text)
	return reply != "" && reply[0] != code[0]
}

func hasWords(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0xa0 }) >= 0
}

// codeMeanings are texts for codes without their class (RFC 3463 section 3), the more specific first.
var codeMeanings = []struct{ code, text string }{
	{"1.1", "The mailbox does not exist"},
	{"1.2", "The domain does not exist or accepts no mail"},
	{"1.3", "The address is not valid"},
	{"1.6", "The mailbox has moved"},
	{"1.10", "The domain accepts no mail"},
	{"1.", "The address was refused"},
	{"2.1", "The mailbox is disabled"},
	{"2.2", "The mailbox is full"},
	{"2.3", "The message is too large for the mailbox"},
	{"2.", "The mailbox refused the message"},
	{"3.4", "The message is too large for the server"},
	{"3.", "The server could not accept the message"},
	{"4.1", "The server did not respond"},
	{"4.4", "There is no route to the server"},
	{"4.6", "The message is in a loop"},
	{"4.7", "The time for delivery expired"},
	{"4.", "The network or the route failed"},
	{"5.", "The mail servers had a protocol error"},
	{"6.", "The content of the message was refused"},
	{"7.", "The message was refused by a policy"},
}

// meaningOf returns a code in words.
func meaningOf(code string) string {
	if len(code) > 2 {
		for _, m := range codeMeanings {
			if detail := code[2:]; detail == m.code || strings.HasSuffix(m.code, ".") && strings.HasPrefix(detail, m.code) {
				return m.text
			}
		}
	}
	return "The message was refused"
}
