package client

import (
	"errors"
	"regexp"
	"strings"
)

// maxSubject limits a subject, in code points. maxMessageID limits a Message-ID that is replied to,
// in octets.
const (
	maxSubject   = 200
	maxMessageID = 250
)

var (
	// ErrNobody is the error for a message without an address to reply to.
	ErrNobody = errors.New("the message has no address to reply to")
	// ErrSealed is the error for an encrypted message, whose subject is unknown.
	ErrSealed = errors.New("the message is encrypted")
)

// Reply returns a letter that replies to m in its conversation, without a text. A reply to a
// received message goes to its Reply-To or else its From; one to a sent message, to its recipients.
// All addresses after the first are in Cc. The error is ErrNobody or ErrSealed.
func Reply(m *Message) (Letter, error) {
	if m.Encrypted {
		return Letter{}, ErrSealed
	}
	to := m.To
	if m.Direction != "out" {
		if to = m.ReplyTo; !anyAddress(to) {
			to = []Mailbox{m.From}
		}
	}
	l := Letter{Subject: replySubject(m.Subject)}
	for _, box := range to {
		switch {
		case box.Email == "":
		case l.To == "":
			l.To = box.Email
		default:
			l.Cc = append(l.Cc, box.Email)
		}
	}
	if l.To == "" {
		return Letter{}, ErrNobody
	}
	if id := m.InternetMessageID; canBeAnswered(id) {
		l.InReplyTo = id
	}
	return l, nil
}

func anyAddress(boxes []Mailbox) bool {
	for _, box := range boxes {
		if box.Email != "" {
			return true
		}
	}
	return false
}

// answerPrefix matches the prefixes that mail programs put before the subject of a reply, in
// several languages: a known word of at most four letters, optionally a counter, and a colon.
var answerPrefix = regexp.MustCompile(`(?i)^\s*(?:re|aw|antw|sv|vs|rif|odp|ynt|r|res|回复|回覆|答复|返信|ответ|отв)\s*(?:\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]`)

// replySubject returns the subject of a reply: "Re: " once, whatever prefixes there were (RFC 5322
// section 3.6.5).
func replySubject(subject string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, subject)
	for {
		at := answerPrefix.FindStringIndex(clean)
		if at == nil {
			break
		}
		clean = clean[at[1]:]
	}
	runes := []rune("Re: " + strings.TrimSpace(clean))
	return strings.TrimRight(string(runes[:min(len(runes), maxSubject)]), " ")
}

// canBeAnswered reports whether the service accepts id for in_reply_to.
func canBeAnswered(id string) bool {
	id = strings.TrimSuffix(strings.TrimPrefix(id, "<"), ">")
	for i := range len(id) {
		if id[i] <= ' ' || id[i] >= 0x7f {
			return false
		}
	}
	left, right, ok := strings.Cut(id, "@")
	return ok && left != "" && right != "" && len(id) <= maxMessageID-len("<>") && !strings.ContainsAny(id, "<>,") && !strings.Contains(id, "=?")
}
