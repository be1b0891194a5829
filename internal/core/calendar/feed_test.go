package calendar

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

const owner = "owner@person.test"

// TestFeed prints the feed and the owner's copies of a calendar that orders made. "owner" enables
// copies from the beginning.
func TestFeed(t *testing.T) {
	datadriven.RunTest(t, "testdata/feed.txt", func(t *testing.T, d *datadriven.TestData) string {
		s := story{now: at("2026-03-01 09:00")}
		if d.Cmd == "owner" {
			s.book = &Book{CopySetting: CopySetting{Enabled: true}}
		}
		out := ""
		for block := range strings.SplitSeq(d.Input, "\n\n") {
			verb, rest, _ := strings.Cut(block, "\n")
			if strings.HasPrefix(s.do(t, verb, rest), "invalid") {
				t.Fatal(block)
			}
			if d.Cmd == "owner" {
				out += copyText(t, &s)
			}
		}
		if d.Cmd == "feed" {
			out = string(AppendFeed(nil, me.Address, s.book))
			checkFeed(t, s.book, []byte(out))
		}
		return strings.ReplaceAll(out, "\r\n", "\n")
	})
}

func copyText(t *testing.T, s *story) string {
	t.Helper()
	c := OwnersCopy(s.book.Meeting(1), me, owner, s.now)
	checkMail(t, &c)
	for i := range s.plan.OutgoingMessages {
		if m := &s.plan.OutgoingMessages[i]; bytes.Contains(m.Calendar, []byte(owner)) || strings.Contains(m.Text, owner) {
			t.Errorf("a guest sees the owner: %s", m.Text)
		}
	}
	if again := OwnersCopy(s.book.Meeting(1), me, owner, s.now); !bytes.Equal(again.Calendar, c.Calendar) || again.Text != c.Text {
		t.Error("composed again it is another copy")
	}
	s.book.Meeting(1).OwnerCopy.LastSentChange = s.book.Meeting(1).OwnerCopy.ChangeCount
	return mailsText([]MeetingMessage{c})
}

// checkFeed checks that each meeting of a feed is read back as the stored one.
func checkFeed(t *testing.T, b *Book, feed []byte) {
	t.Helper()
	if bytes.Contains(feed, []byte("RSVP")) {
		t.Error("the feed asks for answers")
	}
	parts := bytes.Split(feed, []byte("BEGIN:VEVENT"))
	for i, m := range b.Meetings {
		one := fmt.Sprintf("%sBEGIN:VEVENT%s", parts[0], parts[i+1])
		if i < len(b.Meetings)-1 {
			one += "END:VCALENDAR\r\n"
		}
		c, err := readOne([]byte(one))
		if err != nil {
			t.Fatal(err)
		}
		if c.Event.UID != m.UID || c.Event.Description != m.Description || !c.Event.Start.Equal(m.Start) || !c.Event.End.Equal(m.End) || c.Event.Status != m.Status || len(c.Event.Attendees) != len(m.Attendees) {
			t.Errorf("meeting %d is %+v\nwant %+v", m.ID, c.Event, m.Event)
		}
	}
}

func TestFeedOfNothing(t *testing.T) {
	for _, b := range []*Book{nil, {}} {
		if text := string(AppendFeed([]byte("x"), "a@b.test", b)); !strings.HasPrefix(text, "xBEGIN:VCALENDAR\r\n") || !strings.HasSuffix(text, "PT1H\r\nEND:VCALENDAR\r\n") {
			t.Errorf("%q", text)
		}
	}
}

func TestClient(t *testing.T) {
	for _, c := range []struct{ agent, want string }{
		{"Google-Calendar-Importer", "Google Calendar"},
		{"Mozilla/5.0 (compatible; Google-Calendar-Importer/1.0)", "Google Calendar"},
		{"macOS/14.5 (23F79) dataaccessd/1.0", "Apple Calendar"},
		{"iOS/17.5.1 (21F90) dataaccessd/1.0", "Apple Calendar"},
		{"Mac_OS_X/10.9.2 (13C64) CalendarAgent/176", "Apple Calendar"},
		{"Mozilla/5.0 (iPhone) AppleWebKit/605 (KHTML) CriOS/125.0 Safari/604", "Mozilla"},
		{"Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17628; Pro)", "Outlook"},
		{"Microsoft Office/16.0 (Microsoft Excel)", "Outlook"},
		{"Outlook-iOS/709.2189947.prod", "Outlook"},
		{"Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Thunderbird/115.11.0", "Thunderbird"},
		{"curl/8.5.0", "curl"},
		{"ICSx5/2.2 (ical4j)", "ICSx5"},
		{"", ""}, {" ", ""}, {"\r\nx", ""}, {"<b>", ""}, {"é", ""},
		{strings.Repeat("x", 100) + "/1", strings.Repeat("x", 64)},
	} {
		if got := ClientName(c.agent); got != c.want {
			t.Errorf("%q is %q, want %q", c.agent, got, c.want)
		}
	}
}

// TestOwnersUID checks that the UID of a copy is stable and differs from the meeting's.
func TestOwnersUID(t *testing.T) {
	a, b := &Meeting{}, &Meeting{}
	a.UID, b.UID = "1@inbox.test", "2@inbox.test"
	if u := ownersUID(a, me); u == a.UID || u == ownersUID(b, me) || u != ownersUID(a, me) || len(u) != 32+len("@inbox.test") {
		t.Error(u)
	}
}

func BenchmarkFeed(b *testing.B) {
	var book Book
	for i := range 1000 {
		m := &Meeting{ID: int64(i + 1)}
		m.UID, m.Title, m.Description = fmt.Sprint(i, "@inbox.test"), "A meeting of some kind", strings.Repeat("What it is about. ", 20)
		m.Start = at("2026-03-01 10:00").AddDate(0, 0, i%365)
		m.End = m.Start.Add(1)
		m.TimeZone.Name = [...]string{"Europe/Berlin", "UTC", "America/New_York"}[i%3]
		m.Attendees = []Attendee{guestOf("bob@b.test", Guest{}), guestOf("cy@c.test", Guest{Name: "Cy"})}
		book.Meetings = append(book.Meetings, m)
	}
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(AppendFeed(nil, "x", &book))))
	}
}
