package delivery

import (
	"regexp"
	"strings"

	"inboxd/internal/message"
)

var (
	codePattern    = regexp.MustCompile(`(?:^|[^\w.])([245]\.\d{1,3}\.\d{1,3})(?:[^\w.]|\.\D|\.?$)`) // not inside of an IP address
	replyPattern   = regexp.MustCompile(`\b[45]\d\d[ :-]`)
	bracketPattern = regexp.MustCompile(`<([^<>\s]{1,254}@[^<>\s]{1,254})>`)
	barePattern    = regexp.MustCompile(`^[^\s<>:,;"]{1,254}@[^\s<>:,;"]{1,254}$`)
)

// subjects begin what servers without RFC 3464 write, in lower case. Delayed ones first.
var subjects = []struct {
	words  string
	action Action
}{
	{"warning: ", ActionDelayed},
	{"delivery delayed", ActionDelayed},
	{"delayed mail", ActionDelayed},
	{"delivery status notification (delay)", ActionDelayed},
	{"failure notice", ActionFailed}, // qmail
	{"mail delivery failed", ActionFailed},
	{"mail delivery failure", ActionFailed},
	{"delivery status notification (failure)", ActionFailed},
	{"undelivered mail", ActionFailed},
	{"undeliverable", ActionFailed},
	{"undeliverable mail", ActionFailed},
	{"returned mail", ActionFailed}, // sendmail
	{"delivery failure", ActionFailed},
	{"delivery failed", ActionFailed},
	{"message not delivered", ActionFailed},
	{"mail system error - returned mail", ActionFailed},
	{"nondeliverable mail", ActionFailed},
}

// readProse reads a bounce that is written for people: it must come from a mail daemon, say
// in its subject what happened, and then name recipients in X-Failed-Recipients (Exim), on
// lines of their own or in brackets (qmail and others). One recipient without a name is
// reported when the text names none. An answer of a person or a holiday notice is no bounce.
func readProse(doc *message.Document) []RecipientReport {
	action := subjectAction(doc.Subject)
	if action == ActionUnknown || !isDaemon(doc.From.Email) {
		return nil
	}
	text := string(cut([]byte(doc.Text), maxProse))
	if i := strings.Index(text, "--- Below this line"); i >= 0 { // qmail's copy of the mail
		text = text[:i]
	}
	var list []RecipientReport
	for _, email := range proseRecipients(doc, text) {
		why := reasonOf(text, email)
		if why == "" {
			why = replyLine(text)
		}
		list = append(list, RecipientReport{Recipient: email, Final: email, Action: action, Status: enhancedCode(why), Diagnostic: why})
	}
	if list == nil {
		list = []RecipientReport{{Action: action, Status: enhancedCode(text), Diagnostic: replyLine(text)}}
	}
	return list
}

// reasonOf is what a text says below the line of a recipient, up to the next empty one, or
// behind its name.
func reasonOf(text, email string) string {
	_, rest, ok := strings.Cut(text, email)
	if !ok {
		return ""
	}
	line, below, _ := strings.Cut(rest, "\n")
	if below, _, _ = strings.Cut(strings.ReplaceAll(below, "\r", ""), "\n\n"); !isBlank(below) && strings.IndexByte(below, '@') < 0 {
		return clean(below)
	}
	return clean(strings.TrimLeft(line, ">: \t"))
}

func subjectAction(subject string) Action {
	subject = strings.ToLower(strings.TrimSpace(subject))
	for _, s := range subjects {
		if strings.HasPrefix(subject, s.words) {
			return s.action
		}
	}
	return ActionUnknown
}

func isDaemon(from string) bool {
	local, _, _ := strings.Cut(strings.ToLower(from), "@")
	switch local {
	case "", "mailer-daemon", "postmaster", "mail-daemon", "mailerdaemon":
		return true
	}
	return false
}

// proseRecipients finds who is meant, without doubles.
func proseRecipients(doc *message.Document, text string) (list []string) {
	seen := map[string]bool{}
	add := func(email string) {
		email = address(email)
		if email != "" && !seen[strings.ToLower(email)] && len(list) < maxReportRecipients {
			seen[strings.ToLower(email)] = true
			list = append(list, email)
		}
	}
	for _, v := range doc.HeaderValues("X-Failed-Recipients") {
		for email := range strings.SplitSeq(v, ",") {
			add(strings.TrimSpace(email))
		}
	}
	if list != nil {
		return list
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); barePattern.MatchString(line) {
			add(line)
		} else if m := bracketPattern.FindStringSubmatch(line); m != nil {
			add(m[1])
		}
	}
	return list
}

// enhancedCode finds the first code of RFC 3463 in v.
func enhancedCode(v string) string {
	if m := codePattern.FindStringSubmatch(v); m != nil {
		return m[1]
	}
	return ""
}

// replyLine finds the line that quotes the server.
func replyLine(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if replyPattern.MatchString(line) || codePattern.MatchString(line) {
			return clean(line)
		}
	}
	return ""
}
