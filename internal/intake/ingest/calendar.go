package ingest

import (
	"slices"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/core/calendar"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/message/html"
)

// maxMethod is the longest METHOD that is looked at, in octets.
const maxMethod = 64

// invitations are what a message says of meetings: the events of the first of the leaves that has a METHOD, by
// whoever vouches for them; none when it says nothing that could be read. A file in which something is beyond
// the caps of package icalendar or unreadable, or which makes its reader panic, marks the document as degraded and
// costs nothing else. Links by which a conference is joined are added to those of the document.
func invitations(env Envelope, raw []byte, doc *message.Document, leaves []message.Calendar) (list []*calendar.Invitation) {
	if len(leaves) == 0 {
		return nil
	}
	if !survive(raw, func() {
		all, leaf, dropped := firstMethod(leaves, env.RcptTo)
		doc.Degraded = doc.Degraded || dropped
		if len(all) == 0 {
			return
		}
		who := spokenBy(env, raw, doc, leaf)
		for _, said := range all {
			addJoinLinks(doc, said)
			if !calendar.IsInvitation(said) {
				doc.Degraded = doc.Degraded || said.NoStart
				continue
			}
			inv := who
			inv.Calendar = *said
			list = append(list, &inv)
		}
	}) {
		doc.Degraded, list = true, nil
	}
	return list
}

// spokenBy is an Invitation without its calendar: who sent it, and who vouches for that (ADRs 0097 and 0098).
func spokenBy(env Envelope, raw []byte, doc *message.Document, leaf *message.Calendar) calendar.Invitation {
	authors, v := message.AuthorsOf(raw), env.Verdict
	inv := calendar.Invitation{
		From: authors.From, Sender: authors.Sender, Mail: strings.Clone(doc.MessageID), Local: env.Helo == "", Unwanted: v.Unwanted,
	}
	if !authors.Whole {
		return inv
	}
	from := address.DomainOf(inv.From)
	covered := append(shape(doc, leaf), mustCover(raw)...)
	vouches := func(domain string, more ...string) bool {
		return v.vouches(domain, append(covered[:len(covered):len(covered)], more...))
	}
	inv.FromSigned = vouches(from)
	inv.SenderSigned = vouches(address.DomainOf(inv.Sender), "Sender")
	inv.FromSPF, inv.FromAligned = inv.From != "" && v.SPFVouches, inv.From != "" && v.FromAligned
	for _, name := range [...]string{"To", "Cc"} {
		if inv.FromSigned && vouches(from, name) {
			inv.SignedTo = append(inv.SignedTo, ownAmong(message.MailboxesIn(raw, name), env.RcptTo)...)
		}
	}
	return inv
}

// ownAmong are those of the addresses that get the message.
func ownAmong(list, rcptTo []string) []string {
	isOwn := ownOf(rcptTo)
	return slices.DeleteFunc(list, func(email string) bool { return !isOwn(email) })
}

// addJoinLinks adds the links of a calendar file to those of the message, and says which of them joins the
// conference where its properties do not.
func addJoinLinks(doc *message.Document, said *icalendar.Calendar) {
	links := said.Links
	if said.AltHTML != "" {
		var found html.Links
		var view html.View
		html.Render(said.AltHTML, html.Options{Links: &found, View: &view})
		links = append(links, found.List()...)
		if said.Event.JoinURL == "" {
			said.Event.JoinURL = joinLink(found.List(), view.Anchors)
		}
	}
	for _, link := range links {
		switch {
		case slices.Contains(doc.Links, link):
		case len(doc.Links) >= html.MaxLinks:
			doc.LinksCut = true
		default:
			doc.Links = append(doc.Links, link)
		}
	}
}

// maxJoinURL is the longest link that is kept with a meeting, in octets.
const maxJoinURL = 2048

// joinLink is the link of a description by which its conference is joined: the only one, or the first that
// says so; empty when there is none.
func joinLink(links []string, anchors []html.Anchor) string {
	if len(links) == 1 && len(links[0]) <= maxJoinURL {
		return links[0]
	}
	for _, a := range anchors {
		text := strings.ToLower(a.Text + " " + a.URL)
		if len(a.URL) <= maxJoinURL && (strings.Contains(text, "join") || strings.Contains(text, "meet")) {
			return strings.Clone(a.URL)
		}
	}
	return ""
}

// firstMethod reads the first leaf that has a METHOD, as a property or, without one, as a parameter
// of its type; nothing when there is none. dropped says that something of it could not be read.
func firstMethod(leaves []message.Calendar, rcptTo []string) (all []*icalendar.Calendar, leaf *message.Calendar, dropped bool) {
	for i := range leaves {
		leaf = &leaves[i]
		text := leaf.Text(icalendar.MaxBytes + 1)
		parameter := strings.TrimSpace(leaf.Method[:min(len(leaf.Method), maxMethod)])
		if parameter == "" && !icalendar.HasMethod(text) {
			continue
		}
		all, dropped, _ = icalendar.Read(text, ownOf(rcptTo))
		for _, said := range all {
			if said.Method == "" {
				said.Method = strings.ToUpper(strings.Clone(parameter))
			}
		}
		return all, leaf, dropped
	}
	return nil, nil, false
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
