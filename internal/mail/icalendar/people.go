package icalendar

import (
	"net/url"
	"strings"

	"github.com/emersion/go-ical"
)

func organizerOf(c *ical.Component) (who *Person, sentBy string) {
	p := firstProperty(c, ical.PropOrganizer)
	if p == nil {
		return nil, ""
	}
	person := personOf(p)
	if person.Email == "" {
		return nil, ""
	}
	sentBy, _ = mailboxOf(p.Params.Get(ical.ParamSentBy))
	return &person, sentBy
}

func attendeesOf(c *ical.Component) []Attendee {
	var list []Attendee
	for i := range c.Props[ical.PropAttendee] {
		p := &c.Props[ical.PropAttendee][i]
		a := Attendee{Person: personOf(p), Role: RoleOptional, ParticipationStatus: partStat(p)}
		if a.Email == "" {
			continue
		}
		switch strings.ToUpper(p.Params.Get(ical.ParamRole)) {
		case "", "CHAIR", "REQ-PARTICIPANT":
			a.Role = RoleRequired
		}
		a.ResponseRequested = strings.EqualFold(p.Params.Get(ical.ParamRSVP), "TRUE")
		a.UserType = kindOf(p)
		list = append(list, a)
	}
	return list
}

func partStat(p *ical.Prop) string {
	switch strings.ToUpper(p.Params.Get(ical.ParamParticipationStatus)) {
	case "ACCEPTED":
		return StatusAccepted
	case "DECLINED":
		return StatusDeclined
	case "TENTATIVE":
		return StatusTentative
	}
	return NeedsAction
}

// kindOf is the CUTYPE, if it is one of RFC 5545, section 3.2.3.
func kindOf(p *ical.Prop) string {
	switch kind := strings.ToUpper(p.Params.Get(ical.ParamCalendarUserType)); kind {
	case "INDIVIDUAL", "GROUP", "RESOURCE", "ROOM", "UNKNOWN":
		return kind
	}
	return ""
}

// personOf parses ORGANIZER or ATTENDEE. EMAIL is the mailbox of a person whose calendar address is
// a token or not a mailbox, as in invitations from iCloud.
func personOf(p *ical.Prop) Person {
	who := Person{Name: truncateText(lineOf(p.Params.Get(ical.ParamCommonName), maxParam), MaxPersonName)}
	uri := lineOf(p.Value, maxUID)
	mailbox, ok := mailboxOf(uri)
	if !ok {
		mailbox = uri // some programs write the address without its scheme
	}
	who.Email = mailbox
	if email, _ := mailboxOf("mailto:" + p.Params.Get(paramEmail)); strings.Contains(email, "@") && email != mailbox {
		who.Email, who.URI = email, uri
	}
	return who
}

// paramEmail is the parameter of RFC 7986, section 6.2.
const paramEmail = "EMAIL"

// mailboxOf is the mailbox of a mailto URI (RFC 6068), percent-decoded and without its header
// fields; false for any other URI.
func mailboxOf(uri string) (mailbox string, ok bool) {
	const scheme = "mailto:"
	mailbox = lineOf(uri, maxUID)
	for len(mailbox) >= len(scheme) && strings.EqualFold(mailbox[:len(scheme)], scheme) {
		mailbox, ok = strings.TrimSpace(mailbox[len(scheme):]), true
	}
	if !ok {
		return "", false
	}
	mailbox, _, _ = strings.Cut(mailbox, "?")
	if decoded, err := url.PathUnescape(mailbox); err == nil {
		mailbox = lineOf(strings.ToValidUTF8(decoded, "\uFFFD"), maxUID)
	}
	return mailbox, true
}
