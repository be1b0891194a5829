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

// readInvitations returns what a message says about meetings: the events of the first leaf with a
// METHOD, and how the sender was authenticated. It returns none if nothing could be parsed. A file
// that exceeds the limits of package icalendar, is invalid, or makes the parser panic marks the
// document as degraded and has no other effect. Links for joining a conference are added to those
// of the document.
func readInvitations(env Envelope, raw []byte, doc *message.ParsedMessage, leaves []message.CalendarCandidate) (list []*calendar.Invitation) {
	if len(leaves) == 0 {
		return nil
	}
	if !survivesPanic(raw, func() {
		all, leaf, dropped := firstMethod(leaves, env.RcptTo)
		doc.IsDegraded = doc.IsDegraded || dropped
		if len(all) == 0 {
			return
		}
		who := spokenBy(env, raw, doc, leaf)
		for _, said := range all {
			addJoinLinks(doc, said)
			if !calendar.IsInvitation(said) {
				doc.IsDegraded = doc.IsDegraded || said.NoStart
				continue
			}
			inv := who
			inv.Calendar = *said
			list = append(list, &inv)
		}
	}) {
		doc.IsDegraded, list = true, nil
	}
	return list
}

// spokenBy is an Invitation without its calendar: who sent it, and how that was authenticated (ADRs
// 0097 and 0098).
func spokenBy(env Envelope, raw []byte, doc *message.ParsedMessage, leaf *message.CalendarCandidate) calendar.Invitation {
	authors, v := message.AuthorsOf(raw), env.Verdict
	inv := calendar.Invitation{
		From: authors.From, Sender: authors.Sender, MessageID: strings.Clone(doc.MessageID), IsLocal: env.Helo == "", FailsDMARC: v.FailsDMARC,
	}
	if !authors.IsComplete {
		return inv
	}
	from := address.DomainOf(inv.From)
	covered := append(decodingFields(doc, leaf), mustCover(raw)...)
	vouches := func(domain string, more ...string) bool {
		return v.isSignedFor(domain, append(covered[:len(covered):len(covered)], more...))
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
func addJoinLinks(doc *message.ParsedMessage, said *icalendar.Calendar) {
	links := said.Links
	if said.AltHTML != "" {
		var found html.Links
		var view html.RenderedView
		html.RenderText(said.AltHTML, html.Options{Links: &found, View: &view})
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
func firstMethod(leaves []message.CalendarCandidate, rcptTo []string) (all []*icalendar.Calendar, leaf *message.CalendarCandidate, dropped bool) {
	for i := range leaves {
		leaf = &leaves[i]
		text := leaf.DecodedText(icalendar.MaxBytes + 1)
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

// decodingFields returns the fields of the top header that determine how a message without parts is
// decoded. Most signatures do not cover them; added to a signed text, they could turn it into a
// calendar file.
func decodingFields(doc *message.ParsedMessage, leaf *message.CalendarCandidate) (names []string) {
	if !leaf.IsRoot {
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
		canonical, ok := address.CanonicalInbox(other)
		return ok && own[address.WithoutTag(canonical)]
	}
}
