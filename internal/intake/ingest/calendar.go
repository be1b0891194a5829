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

// maxMethod is the maximum length of a METHOD, in octets.
const maxMethod = 64

// invitations returns what a message says about meetings: the events of the first leaf with a
// METHOD, and how the sender was authenticated. It returns none if nothing could be parsed. A file
// that exceeds the limits of package icalendar, is invalid, or makes the parser panic marks the
// document as degraded and has no other effect. Links for joining a conference are added to those
// of the document.
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

// spokenBy is an Invitation without its calendar: who sent it, and how that was authenticated (ADRs
// 0097 and 0098).
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

// ownAmong returns the addresses of list that receive the message.
func ownAmong(list, rcptTo []string) []string {
	isOwn := ownOf(rcptTo)
	return slices.DeleteFunc(list, func(email string) bool { return !isOwn(email) })
}

// addJoinLinks adds the links of a calendar file to those of the message. If no property contains
// the link for joining the conference, it chooses one of them.
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

// maxJoinURL is the maximum length of a link stored with a meeting, in octets.
const maxJoinURL = 2048

// joinLink is the link in a description for joining the conference: the only link, or the first one
// whose text says so, or "".
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

// firstMethod parses the first leaf with a METHOD, as a property or else as a parameter of its
// type; or nothing. dropped means that part of it was invalid.
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

// shape returns the fields of the top header that determine how a message without parts is decoded.
// Most signatures do not cover them; added to a signed text, they could turn it into a calendar
// file.
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

// ownOf matches the addresses of the message's recipients, whatever their case and tags.
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
