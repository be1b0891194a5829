package ingest

import (
	"errors"
	"strings"

	"inboxd/internal/address"
	"inboxd/internal/calendar"
	"inboxd/internal/icalendar"
	"inboxd/internal/message"
)

// maxMethod is the longest METHOD that is looked at, in octets.
const maxMethod = 64

// invitation is what a mail says of a meeting: the first of the leaves that has a METHOD, by whoever
// vouches for it. Nil: it says nothing that could be read. A file beyond the caps of package icalendar, or
// one that makes its reader panic, marks the document as degraded and costs nothing else.
func invitation(env Envelope, raw []byte, doc *message.Document, leaves []message.Calendar) (inv *calendar.Invitation) {
	if len(leaves) == 0 {
		return nil
	}
	if !survive(raw, func() {
		said, leaf, err := firstMethod(leaves, env.RcptTo)
		doc.Degraded = doc.Degraded || errors.Is(err, icalendar.ErrOverCaps)
		if err == nil && said != nil && calendar.IsInvitation(said) {
			inv = spokenBy(env.Verdict, raw, doc, leaf, said)
			inv.Local = env.Helo == ""
		}
	}) {
		doc.Degraded, inv = true, nil
	}
	return inv
}

func spokenBy(v Verdict, raw []byte, doc *message.Document, leaf *message.Calendar, said *icalendar.Calendar) *calendar.Invitation {
	authors := message.AuthorsOf(raw)
	inv := &calendar.Invitation{Calendar: *said, From: authors.From, Sender: authors.Sender, Mail: strings.Clone(doc.MessageID)}
	if authors.Whole {
		covered := append(shape(doc, leaf), "From", "Content-Type", "MIME-Version")
		inv.FromSigned = v.aligned(address.DomainOf(inv.From), covered...)
		inv.SenderSigned = v.aligned(address.DomainOf(inv.Sender), append(covered, "Sender")...)
	}
	return inv
}

// firstMethod reads the first leaf that has a METHOD, as a property or, without one, as a parameter
// of its type; nil when there is none.
func firstMethod(leaves []message.Calendar, rcptTo []string) (*icalendar.Calendar, *message.Calendar, error) {
	for i := range leaves {
		leaf := &leaves[i]
		text := leaf.Text(icalendar.MaxBytes + 1)
		parameter := strings.TrimSpace(leaf.Method[:min(len(leaf.Method), maxMethod)])
		if parameter == "" && !icalendar.HasMethod(text) {
			continue
		}
		said, err := icalendar.Read(text, ownOf(rcptTo))
		if err == nil && said.Method == "" {
			said.Method = strings.ToUpper(strings.Clone(parameter))
		}
		return said, leaf, err
	}
	return nil, nil, nil
}

// shape names the fields of the top header that say how a mail without parts is to be read. Most signatures leave
// them out; added to a text that was signed, they would make a calendar file of it.
func shape(doc *message.Document, leaf *message.Calendar) (names []string) {
	if !leaf.Root {
		return nil
	}
	for _, name := range [...]string{"Content-Transfer-Encoding", "Content-Disposition"} {
		if len(doc.HeaderValues(name)) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// ownOf knows the addresses of those who get the mail, whatever their case and tags.
func ownOf(rcptTo []string) func(string) bool {
	own := make(map[string]bool, len(rcptTo))
	for _, rcpt := range rcptTo {
		own[address.WithoutTag(rcpt)] = true
	}
	return func(other string) bool {
		canonical, ok := address.Inbox(other)
		return ok && own[address.WithoutTag(canonical)]
	}
}
