package delivery

import (
	"regexp"
	"slices"
	"strings"

	"inboxd/internal/mail/message"
)

var (
	bracketPattern = regexp.MustCompile(`<([^<>\s]{1,254}@[^<>\s]{1,254})>`)
	barePattern    = regexp.MustCompile(`^[^\s<>:,;"]{1,254}@[^\s<>:,;"]{1,254}$`)
)

// reportSubjects are prefixes of the subjects of reports without RFC 3464, in lower case. Delayed ones
// come first.
var reportSubjects = []struct {
	words  string
	action ReportAction
}{
	{"warning: ", ActionDelayed},
	{"delivery delayed", ActionDelayed},
	{"delayed mail", ActionDelayed},
	{"delivery status notification (delay)", ActionDelayed},
	{"delivery status notification: delayed", ActionDelayed}, // OpenSMTPD
	{"failure notice", ActionFailed},                         // qmail
	{"mail delivery failed", ActionFailed},
	{"mail delivery failure", ActionFailed},
	{"delivery status notification (failure)", ActionFailed},
	{"delivery status notification: failed", ActionFailed},
	{"delivery failure", ActionFailed},
	{"unzustellbar", ActionFailed}, // Exchange, in its user's language
	{"nicht zustellbar", ActionFailed},
	{"non remis", ActionFailed},
	{"no se puede entregar", ActionFailed},
	{"impossibile recapitare", ActionFailed},
	{"não é possível entregar", ActionFailed},
	{"не удается доставить", ActionFailed},
	{"配信不能", ActionFailed},
	{"无法送达", ActionFailed},
	{"系统退信", ActionFailed},
	{"undelivered mail", ActionFailed},
	{"undeliverable", ActionFailed},
	{"undeliverable mail", ActionFailed},
	{"returned mail", ActionFailed}, // sendmail
	{"delivery failed", ActionFailed},
	{"message not delivered", ActionFailed},
	{"mail system error - returned mail", ActionFailed},
	{"nondeliverable mail", ActionFailed},
}

// readProse reads a bounce that is written for people. The bounce must come from a mail daemon and
// state in its subject what happened. It must name recipients in X-Failed-Recipients (Exim), on
// lines of their own or in brackets (qmail and others). If the text names no recipient, one report
// without a name is returned. A person's reply or a vacation notice is not a bounce.
func readProse(doc *message.ParsedMessage) []RecipientReport {
	action := subjectAction(doc.Subject)
	if action == ActionUnknown || !isDaemon(doc.From.Email) {
		return nil
	}
	lines := proseLines(doc.Text)
	var list []RecipientReport
	for _, email := range proseRecipients(doc, lines) {
		why := reasonFor(lines, email)
		if why == "" {
			why = replyLine(lines)
		}
		list = append(list, RecipientReport{Recipient: email, FinalRecipient: email, Action: action, Status: specificStatus("", why), Diagnostic: why})
	}
	if list == nil {
		why := replyLine(lines)
		list = []RecipientReport{{Action: action, Status: specificStatus("", why), Diagnostic: why}}
	}
	return list
}

// proseLines returns the lines of a report's text, without the copy of the message that qmail
// appends.
func proseLines(text string) []string {
	text = string(firstBytes([]byte(text), maxProse))
	if i := strings.Index(text, "--- Below this line"); i >= 0 {
		text = text[:i]
	}
	return strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
}

// reasonFor returns what a text says about a recipient. The names are searched for in order.
func reasonFor(lines []string, names ...string) string {
	const maxMentions = 3 // occurrences of a name that are examined
	for n, name := range names {
		mentions := 0
		for i := 0; i < len(lines) && mentions < maxMentions && !slices.Contains(names[:n], name); i++ {
			rest, named := restAfter(lines[i], name)
			if !named {
				continue
			}
			mentions++
			if why := explanationFor(lines[i:], rest); hasWords(why) {
				return why
			}
		}
	}
	return ""
}

// explanationFor returns the rest of the first line, which names a recipient, and the lines below it.
// It ends at an empty line or at another recipient.
func explanationFor(lines []string, rest string) string {
	const maxLines = 12
	said := []string{rest}
	for _, below := range lines[1:min(maxLines, len(lines))] {
		if isBlank(below) || indentWidth(below) <= indentWidth(lines[0]) && otherPattern.MatchString(below) {
			break
		}
		said = append(said, below)
	}
	why := strings.TrimLeft(printableLine(originPattern.ReplaceAllString(strings.Join(said, " "), " ")), ")>:. ")
	if strings.Count(why, ")") > strings.Count(why, "(") {
		why = strings.TrimSuffix(why, ")")
	}
	return why
}

var (
	// otherPattern matches the beginning of a line about another recipient.
	otherPattern = regexp.MustCompile(`^[\s<*"-]*[^\s<>:,;"()]{1,254}@[^\s<>:,;"()]{1,254}`)
	// originPattern matches what Exim, sendmail and Postfix say about the origin of a recipient,
	// and the wrapper that sendmail puts around a reason.
	originPattern = regexp.MustCompile(`\((?:(?:ultimately )?generated|expanded) from:? [^()]*\)|\(reason:`)
)

// restAfter returns the rest of a line after an address. The address must be a whole word; case does
// not matter.
func restAfter(line, address string) (rest string, named bool) {
	if address == "" || len(line) < len(address) {
		return "", false
	}
	folded, address := strings.ToLower(line), strings.ToLower(address)
	at := strings.Index(folded, address)
	if at < 0 || len(folded) != len(line) {
		return "", false
	}
	end := at + len(address)
	const inAddress = "abcdefghijklmnopqrstuvwxyz0123456789+-_=@"
	if at > 0 && strings.IndexByte(inAddress, folded[at-1]) >= 0 || end < len(line) && strings.IndexByte(inAddress, folded[end]) >= 0 {
		return "", false
	}
	return strings.TrimLeft(line[end:], `"'>):., `+"\t"), true
}

func indentWidth(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func subjectAction(subject string) ReportAction {
	subject = strings.ToLower(strings.TrimSpace(subject))
	for _, s := range reportSubjects {
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

// proseRecipients returns the recipients that a report is about, without duplicates.
func proseRecipients(doc *message.ParsedMessage, lines []string) (list []string) {
	seen := map[string]bool{}
	add := func(email string) {
		email = parseAddress(email)
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
	for _, line := range lines {
		if line = strings.TrimSpace(line); barePattern.MatchString(line) {
			add(line)
		} else if m := bracketPattern.FindStringSubmatch(line); m != nil {
			add(m[1])
		}
	}
	return list
}

// replyLine finds the line that quotes the server's reply.
func replyLine(lines []string) string {
	for _, line := range lines {
		if replyPattern.MatchString(line) || codePattern.MatchString(line) {
			return printableLine(line)
		}
	}
	return ""
}
