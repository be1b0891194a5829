package delivery

import (
	"cmp"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"inboxd/internal/mail/message"
)

// Limits on what is read of a report. The rest is ignored.
const (
	maxReportRecipients = 100
	maxReportBytes      = 256 << 10 // of the delivery-status part
	maxProse            = 16 << 10  // of the text that is searched for reasons
	maxDiagnostic       = 500       // octets
)

// ReportAction is what happened according to a report (RFC 3464 section 2.3.3).
type ReportAction uint8

// The values of the Action field (RFC 3464 section 2.3.3).
const (
	ActionUnknown ReportAction = iota
	ActionFailed
	ActionDelayed
	ActionDelivered
	ActionRelayed
	ActionExpanded
)

var actionNames = map[string]ReportAction{
	"failed": ActionFailed, "delayed": ActionDelayed, "delivered": ActionDelivered,
	"relayed": ActionRelayed, "expanded": ActionExpanded,
}

// StatusReport is a delivery status notification.
type StatusReport struct {
	ReportingMTA string
	MessageID    string            // of the returned message, without brackets; "" if it is not enclosed
	IsStandard   bool              // RFC 3464; else read from prose
	Recipients   []RecipientReport // at least one
}

// RecipientReport is what a StatusReport says about one recipient.
type RecipientReport struct {
	Recipient      string // Original-Recipient, else Final-Recipient, without its type; may be empty in prose
	FinalRecipient string // Final-Recipient
	Action         ReportAction
	Status         string // most specific enhanced code, such as "5.1.1"; "" if there were only generic ones
	Diagnostic     string // words of the last server, else of the report's text, on one line
	RemoteMTA      string
}

// ReadReport reads a report from a message; false means that the message is not a report. Its cost
// is linear in len(raw), and at most 100 recipients are read. Its content is not trusted. Only the
// address that the report came to proves that it is about a message of ours (ReadReturnPath).
func ReadReport(raw []byte) (StatusReport, bool) {
	doc := message.Parse(raw)
	var r StatusReport
	for _, a := range doc.Attachments {
		switch a.ContentType {
		case "message/delivery-status", "message/global-delivery-status":
			if !r.IsStandard {
				r.readStatus(firstBytes(attachmentBytes(raw, a), maxReportBytes), doc.Text)
				r.IsStandard = len(r.Recipients) > 0
			}
		case "message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers":
			if r.MessageID == "" {
				r.MessageID = enclosedID(attachmentBytes(raw, a))
			}
		}
	}
	if !r.IsStandard {
		r.Recipients = readProse(doc)
	}
	return r, len(r.Recipients) > 0
}

func attachmentBytes(raw []byte, a message.Attachment) []byte {
	content, _ := message.AttachmentBytes(raw, a.ID)
	return content
}

func firstBytes(b []byte, max int) []byte { return b[:min(len(b), max)] }

// enclosedID reads the Message-ID of a message, or of its header alone.
func enclosedID(mail []byte) string {
	return message.Parse(firstBytes(mail, 64<<10)).MessageID
}

// recipientFields holds the fields of one recipient.
type recipientFields struct {
	RecipientReport
	actualRecipient string // X-Actual-Recipient of sendmail
	isVague         bool   // the Diagnostic-Code is from the reporting machine, not from a mail server
	willRetry       bool   // further attempts will follow
}

// readStatus reads the groups of fields of RFC 3464 section 2.1. Groups are separated by their
// fields, not only by blank lines, because some senders omit the blank lines.
func (r *StatusReport) readStatus(status []byte, text string) {
	var present recipientFields
	var groups []recipientFields
	flush := func() {
		if present.Recipient != "" && len(groups) < maxReportRecipients {
			groups = append(groups, present)
		}
		present = recipientFields{}
	}
	for name, value := range statusFields(string(status)) {
		switch name {
		case "":
			flush()
		case "reporting-mta":
			r.ReportingMTA = printableLine(withoutType(value))
		case "final-recipient":
			if present.FinalRecipient != "" {
				flush()
			}
		}
		present.addField(name, value)
	}
	flush()
	lines := proseLines(text)
	for _, g := range groups {
		r.Recipients = append(r.Recipients, g.completeReport(lines, len(groups) == 1))
	}
}

func (g *recipientFields) addField(name, value string) {
	switch name {
	case "final-recipient":
		g.FinalRecipient = parseAddress(value)
		if g.Recipient == "" {
			g.Recipient = g.FinalRecipient
		}
	case "original-recipient":
		if original := parseAddress(value); original != "" {
			g.Recipient = original
		}
	case "x-actual-recipient":
		g.actualRecipient = parseAddress(value)
	case "action":
		word, _, _ := strings.Cut(strings.ToLower(value), " ")
		g.Action = actionNames[strings.Trim(word, "();")]
	case "status":
		g.Status = enhancedCode(value)
	case "diagnostic-code":
		g.Diagnostic = printableLine(withoutType(value))
		g.isVague = strings.HasPrefix(strings.ToLower(value), "x-unix")
	case "remote-mta":
		g.RemoteMTA = printableLine(withoutType(value))
	case "will-retry-until":
		g.willRetry = true
	}
}

// completeReport completes the report from other fields and from the lines of the text part. alone
// means that the report is about no other recipient.
func (g recipientFields) completeReport(lines []string, alone bool) RecipientReport {
	p := g.RecipientReport
	if g.isVague || !hasWords(p.Diagnostic) {
		why := reasonFor(lines, p.FinalRecipient, p.Recipient, g.actualRecipient)
		if why == "" && alone {
			why = replyLine(lines)
		}
		p.Diagnostic = cmp.Or(why, p.Diagnostic)
	}
	class := cmp.Or(p.Status, enhancedCode(p.Diagnostic))
	p.Status = specificStatus(p.Status, p.Diagnostic)
	if p.Action == ActionUnknown && class != "" {
		p.Action = map[byte]ReportAction{'2': ActionDelivered, '4': ActionDelayed, '5': ActionFailed}[class[0]]
	}
	if p.Action == ActionDelayed && p.Status == "4.4.7" && !g.willRetry && endedWords.MatchString(strings.ToLower(p.Diagnostic)) {
		p.Action = ActionFailed // OpenSMTPD writes "delayed" when it gives up
	}
	return p
}

// RecipientNames returns the names of the recipient in the report, the most likely first.
func (p RecipientReport) RecipientNames() []string {
	decoded := escapePattern.ReplaceAllStringFunc(p.Recipient, func(escape string) string {
		n, _ := strconv.ParseUint(strings.Trim(escape, `+\x{}`), 16, 21) // cannot fail: the pattern matched
		return string(rune(n))
	})
	return []string{p.Recipient, decoded, p.FinalRecipient}
}

// escapePattern finds escapes of ORCPT (RFC 3461 section 4, RFC 6533 section 3). Some servers
// report them as they were in the command.
var escapePattern = regexp.MustCompile(`\\x\{[0-9A-F]{2,6}\}|\+[0-9A-F]{2}`)

// statusFields yields the unfolded fields with their names in lower case, and "" for each blank
// line.
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

// withoutType removes the "smtp;" from a value.
func withoutType(v string) string {
	if kind, rest, ok := strings.Cut(v, ";"); ok && !strings.ContainsAny(kind, " @<") {
		return strings.TrimSpace(rest)
	}
	return v
}

// parseAddress parses "rfc822; <a@b>".
func parseAddress(v string) string {
	v = strings.Trim(withoutType(v), " <>")
	if len(v) > 320 || strings.ContainsAny(v, " \t") {
		return ""
	}
	return printableLine(v)
}

// printableLine returns v as one printable line.
func printableLine(v string) string {
	v = strings.ToValidUTF8(v, "\uFFFD")
	v = strings.Join(strings.FieldsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }), " ")
	if len(v) > maxDiagnostic {
		v = strings.ToValidUTF8(v[:maxDiagnostic], "")
	}
	return v
}
