package icalendar

import (
	"strings"

	"github.com/emersion/go-ical"
)

func organizerOf(c *ical.Component) *Person {
	p := first(c, ical.PropOrganizer)
	if p == nil {
		return nil
	}
	who := Person{Email: address(p.Value), Name: nameOf(p)}
	if who.Email == "" {
		return nil
	}
	return &who
}

func attendeesOf(c *ical.Component) []Attendee {
	var list []Attendee
	for i := range c.Props[ical.PropAttendee] {
		p := &c.Props[ical.PropAttendee][i]
		a := Attendee{Person: Person{Email: mailboxOf(p), Name: nameOf(p)}, Role: Optional, Status: partStat(p)}
		if a.Email == "" {
			continue
		}
		switch strings.ToUpper(p.Params.Get(ical.ParamRole)) {
		case "", "CHAIR", "REQ-PARTICIPANT":
			a.Role = Required
		}
		a.Asked = strings.EqualFold(p.Params.Get(ical.ParamRSVP), "TRUE")
		a.Kind = kindOf(p)
		list = append(list, a)
	}
	return list
}

func partStat(p *ical.Prop) string {
	switch strings.ToUpper(p.Params.Get(ical.ParamParticipationStatus)) {
	case "ACCEPTED":
		return Accepted
	case "DECLINED":
		return Declined
	case "TENTATIVE":
		return Tentative
	}
	return NeedsAction
}

// kindOf is the CUTYPE, one of those that RFC 5545, section 3.2.3, names.
func kindOf(p *ical.Prop) string {
	switch kind := strings.ToUpper(p.Params.Get(ical.ParamCalendarUserType)); kind {
	case "INDIVIDUAL", "GROUP", "RESOURCE", "ROOM", "UNKNOWN":
		return kind
	}
	return ""
}

func nameOf(p *ical.Prop) string {
	return cut(lineOf(p.Params.Get(ical.ParamCommonName), maxParam), MaxPersonName)
}

// address is a mailbox without its "mailto:", or another URI as it is.
func address(uri string) string {
	a, _ := addressOf(uri)
	return a
}

func addressOf(uri string) (a string, mailbox bool) {
	uri = lineOf(uri, maxUID)
	for scheme := "mailto:"; len(uri) >= len(scheme) && strings.EqualFold(uri[:len(scheme)], scheme); {
		uri, mailbox = strings.TrimSpace(uri[len(scheme):]), true
	}
	return uri, mailbox
}

// mailboxOf is an attendee's mailbox: by its URI, else by EMAIL=, else the URI.
func mailboxOf(p *ical.Prop) string {
	a, mailbox := addressOf(p.Value)
	if email := p.Params.Get("EMAIL"); email != "" && !mailbox {
		return address(email)
	}
	return a
}
