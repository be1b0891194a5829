package delivery

import (
	"iter"
	"strings"

	"inboxd/internal/message"
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
	Status     string // enhanced code "5.1.1"; "" when there was none
	Diagnostic string // in the words of the last server, one line
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
				r.readStatus(cut(attachment(raw, a), maxReportBytes))
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

// readStatus reads the groups of fields of RFC 3464 section 2.1. Groups are told apart by
// their fields and not only by blank lines, which some senders forget.
func (r *Report) readStatus(text []byte) {
	var present RecipientReport
	flush := func() {
		if present.Recipient != "" && len(r.Recipients) < maxReportRecipients {
			r.Recipients = append(r.Recipients, present.settle())
		}
		present = RecipientReport{}
	}
	for name, value := range statusFields(string(text)) {
		switch name {
		case "":
			flush()
		case "reporting-mta":
			r.ReportingMTA = clean(withoutType(value))
		case "final-recipient":
			if present.Final != "" {
				flush()
			}
			present.Final = address(value)
			if present.Recipient == "" {
				present.Recipient = present.Final
			}
		case "original-recipient":
			if original := address(value); original != "" {
				present.Recipient = original
			}
		case "action":
			word, _, _ := strings.Cut(strings.ToLower(value), " ")
			present.Action = actions[strings.Trim(word, "();")]
		case "status":
			present.Status = enhancedCode(value)
		case "diagnostic-code":
			present.Diagnostic = clean(withoutType(value))
		case "remote-mta":
			present.RemoteMTA = clean(withoutType(value))
		}
	}
	flush()
}

// settle fills in what other fields tell.
func (p RecipientReport) settle() RecipientReport {
	if p.Status == "" {
		p.Status = enhancedCode(p.Diagnostic)
	}
	if p.Action == ActionUnknown && p.Status != "" {
		p.Action = map[byte]Action{'2': ActionDelivered, '4': ActionDelayed, '5': ActionFailed}[p.Status[0]]
	}
	return p
}

// IsHard reports that mail to this recipient comes back whatever it is: not because a mailbox
// is full, nor because of this one mail's size or content (RFC 3463 section 3).
func (p RecipientReport) IsHard() bool {
	switch {
	case p.Status == "5.2.2", p.Status == "5.2.3", p.Status == "5.3.4", strings.HasPrefix(p.Status, "5.6."):
		return false
	}
	return p.Status == "" || p.Status[0] == '5'
}

// Reason is what the sender is told.
func (p RecipientReport) Reason() string {
	switch {
	case p.Status == "" && p.Diagnostic == "":
		return "The mail came back without a reason"
	case strings.Contains(p.Diagnostic, p.Status):
		return p.Diagnostic
	}
	return strings.TrimSpace(p.Status + " " + p.Diagnostic)
}

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
