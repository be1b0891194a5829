package delivery

import (
	"cmp"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"inboxd/internal/mail/message"
)

// The caps on what a report may hold; the rest of it is not read.
const (
	maxReportRecipients = 100
	maxReportBytes      = 256 << 10 // of the status part
	maxProse            = 16 << 10  // of a text that is searched for what happened
	maxDiagnostic       = 500       // octets
)

// Action is what a report says happened (RFC 3464 section 2.3.3).
type Action uint8

const (
	ActionUnknown Action = iota
	ActionFailed
	ActionDelayed
	ActionDelivered
	ActionRelayed
	ActionExpanded
)

var actions = map[string]Action{
	"failed": ActionFailed, "delayed": ActionDelayed, "delivered": ActionDelivered,
	"relayed": ActionRelayed, "expanded": ActionExpanded,
}

// Report is a delivery status notification.
type Report struct {
	ReportingMTA string
	MessageID    string            // of the mail that came back, without brackets; "" when it is not enclosed
	Standard     bool              // RFC 3464; else read out of prose
	Recipients   []RecipientReport // at least one
}

// RecipientReport is what a Report says about one recipient.
type RecipientReport struct {
	Recipient  string // Original-Recipient, else Final-Recipient, without its type; prose may not name it
	Final      string // Final-Recipient
	Action     Action
	Status     string // enhanced code "5.1.1" that says most; "" when there was none but generic ones
	Diagnostic string // in the words of the last server, else of the report's text, one line
	RemoteMTA  string
}

// ReadReport reads a report out of a mail; false means that the mail is none. Its cost is
// linear in len(raw), and at most 100 recipients are read. Nothing in it can be trusted:
// that a mail of ours came back is proven by the address it came to (ReadReturnPath).
func ReadReport(raw []byte) (Report, bool) {
	doc := message.Parse(raw)
	var r Report
	for _, a := range doc.Attachments {
		switch a.ContentType {
		case "message/delivery-status", "message/global-delivery-status":
			if !r.Standard {
				r.readStatus(cut(attachment(raw, a), maxReportBytes), doc.Text)
				r.Standard = len(r.Recipients) > 0
			}
		case "message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers":
			if r.MessageID == "" {
				r.MessageID = enclosedID(attachment(raw, a))
			}
		}
	}
	if !r.Standard {
		r.Recipients = readProse(doc)
	}
	return r, len(r.Recipients) > 0
}

func attachment(raw []byte, a message.Attachment) []byte {
	content, _ := message.AttachmentBytes(raw, a.ID)
	return content
}

func cut(b []byte, max int) []byte { return b[:min(len(b), max)] }

// enclosedID reads the Message-ID of a mail, or of its header alone.
func enclosedID(mail []byte) string {
	return message.Parse(cut(mail, 64<<10)).MessageID
}

// group are the fields of one recipient.
type group struct {
	RecipientReport
	actual string // X-Actual-Recipient of sendmail
	vague  bool   // the Diagnostic-Code is of this machine and not of a mail server
	again  bool   // there will be further attempts
}

// readStatus reads the groups of fields of RFC 3464 section 2.1. Groups are told apart by
// their fields and not only by blank lines, which some senders forget.
func (r *Report) readStatus(status []byte, text string) {
	var present group
	var groups []group
	flush := func() {
		if present.Recipient != "" && len(groups) < maxReportRecipients {
			groups = append(groups, present)
		}
		present = group{}
	}
	for name, value := range statusFields(string(status)) {
		switch name {
		case "":
			flush()
		case "reporting-mta":
			r.ReportingMTA = clean(withoutType(value))
		case "final-recipient":
			if present.Final != "" {
				flush()
			}
		}
		present.take(name, value)
	}
	flush()
	lines := proseLines(text)
	for _, g := range groups {
		r.Recipients = append(r.Recipients, g.settle(lines, len(groups) == 1))
	}
}

func (g *group) take(name, value string) {
	switch name {
	case "final-recipient":
		g.Final = address(value)
		if g.Recipient == "" {
			g.Recipient = g.Final
		}
	case "original-recipient":
		if original := address(value); original != "" {
			g.Recipient = original
		}
	case "x-actual-recipient":
		g.actual = address(value)
	case "action":
		word, _, _ := strings.Cut(strings.ToLower(value), " ")
		g.Action = actions[strings.Trim(word, "();")]
	case "status":
		g.Status = enhancedCode(value)
	case "diagnostic-code":
		g.Diagnostic = clean(withoutType(value))
		g.vague = strings.HasPrefix(strings.ToLower(value), "x-unix")
	case "remote-mta":
		g.RemoteMTA = clean(withoutType(value))
	case "will-retry-until":
		g.again = true
	}
}

// settle fills in what other fields say, and what the text part says in lines. alone: the report is
// about no other recipient.
func (g group) settle(lines []string, alone bool) RecipientReport {
	p := g.RecipientReport
	if g.vague || !hasWords(p.Diagnostic) {
		why := reasonFor(lines, p.Final, p.Recipient, g.actual)
		if why == "" && alone {
			why = replyLine(lines)
		}
		p.Diagnostic = cmp.Or(why, p.Diagnostic)
	}
	class := cmp.Or(p.Status, enhancedCode(p.Diagnostic))
	p.Status = judged(p.Status, p.Diagnostic)
	if p.Action == ActionUnknown && class != "" {
		p.Action = map[byte]Action{'2': ActionDelivered, '4': ActionDelayed, '5': ActionFailed}[class[0]]
	}
	if p.Action == ActionDelayed && p.Status == "4.4.7" && !g.again && endedWords.MatchString(strings.ToLower(p.Diagnostic)) {
		p.Action = ActionFailed // OpenSMTPD calls it delayed when it gives up
	}
	return p
}

// Names are what the report calls the recipient, the likeliest first.
func (p RecipientReport) Names() []string {
	decoded := escapePattern.ReplaceAllStringFunc(p.Recipient, func(escape string) string {
		n, _ := strconv.ParseUint(strings.Trim(escape, `+\x{}`), 16, 21) // its form was matched
		return string(rune(n))
	})
	return []string{p.Recipient, decoded, p.Final}
}

// escapePattern finds escapes of ORCPT (RFC 3461 section 4, RFC 6533 section 3), which some servers
// report as they stood in the command.
var escapePattern = regexp.MustCompile(`\\x\{[0-9A-F]{2,6}\}|\+[0-9A-F]{2}`)

// statusFields yields the unfolded fields with their names in lower case, and "" for each
// blank line.
func statusFields(text string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		lines := strings.Split(text, "\n")
		for i := 0; i < len(lines); i++ {
			name, value, ok := strings.Cut(lines[i], ":")
			blank := isBlank(lines[i])
			if !ok && !blank {
				continue
			}
			folded := []string{strings.TrimSpace(value)}
			for !blank && i+1 < len(lines) && strings.IndexAny(lines[i+1], " \t") == 0 && !isBlank(lines[i+1]) {
				i++
				folded = append(folded, strings.TrimSpace(lines[i]))
			}
			if !yield(strings.ToLower(strings.TrimSpace(name)), strings.Join(folded, " ")) {
				return
			}
		}
	}
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

// withoutType takes the "smtp;" off a value.
func withoutType(v string) string {
	if kind, rest, ok := strings.Cut(v, ";"); ok && !strings.ContainsAny(kind, " @<") {
		return strings.TrimSpace(rest)
	}
	return v
}

// address reads "rfc822; <a@b>".
func address(v string) string {
	v = strings.Trim(withoutType(v), " <>")
	if len(v) > 320 || strings.ContainsAny(v, " \t") {
		return ""
	}
	return clean(v)
}

// clean makes one printable line of v.
func clean(v string) string {
	v = strings.ToValidUTF8(v, "\uFFFD")
	v = strings.Join(strings.FieldsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }), " ")
	if len(v) > maxDiagnostic {
		v = strings.ToValidUTF8(v[:maxDiagnostic], "")
	}
	return v
}
