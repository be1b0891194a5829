package calendar

import (
	"slices"
	"strings"

	"inboxd/internal/mail/icalendar"
)

// AppendFeed appends the feed of a calendar to dst: every stored meeting, with attendees and
// answers; cancelled ones are marked. name is the calendar's name in clients.
func AppendFeed(dst []byte, name string, b *Book) []byte {
	d := icalendar.OutgoingCalendar{Method: "PUBLISH", FeedName: name}
	if b != nil {
		d.Events = make([]icalendar.Event, len(b.Meetings))
		for i, m := range b.Meetings {
			d.Events[i] = m.Event
			d.Events[i].Attendees = withoutRequests(m.Attendees)
			d.Events[i].Comment = ""
		}
	}
	return icalendar.AppendDocument(dst, &d)
}

// withoutRequests returns attendees who are not asked for an answer.
func withoutRequests(list []Attendee) []Attendee {
	list = slices.Clone(list)
	for i := range list {
		list[i].ResponseRequested = false
	}
	return list
}

// maxClient is the maximum length of an unknown client's name.
const maxClient = 64

// ClientName is the short name of a program that fetches a feed, by its User-Agent. Known programs get
// their common names, others their first product. It is empty if the header is.
func ClientName(agent string) string {
	words := strings.FieldsFunc(agent, func(r rune) bool { return strings.ContainsRune(" \t();,", r) })
	begins := func(names ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(word, name) })
		})
	}
	switch {
	case begins("Google-Calendar-Importer"):
		return "Google Calendar"
	case begins("iOS/", "macOS/", "dataaccessd", "CalendarAgent"):
		return "Apple Calendar"
	case strings.Contains(agent, "Outlook"), strings.Contains(agent, "Microsoft Office"):
		return "Outlook"
	case begins("Thunderbird"):
		return "Thunderbird"
	}
	return productName(agent)
}

// productName is the name of the first product (RFC 9110, section 10.1.5), up to the first invalid
// character.
func productName(agent string) string {
	agent = strings.TrimLeft(agent, " \t")
	end := strings.IndexFunc(agent, func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
	if end >= 0 {
		agent = agent[:end]
	}
	return agent[:min(len(agent), maxClient)]
}
