package calendar

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"inboxd/internal/mail/icalendar"
)

const (
	us    = "me@inbox.test"
	boss  = "boss@org.test"
	guest = "bea@guest.test"
)

// TestMerge merges messages into a calendar. A METHOD is a message with that METHOD; its lines are
// those of a VEVENT. By default the VEVENT has UID u, ORGANIZER boss@org.test, this inbox as
// ATTENDEE and takes place on 2026-03-02 at 10:00. "-NAME" leaves a line out, "+" begins another
// VEVENT. The message is from the organizer (a REPLY: from bea@guest.test, signed) unless it says
// otherwise.
func TestMerge(t *testing.T) {
	datadriven.Walk(t, "testdata/merge", func(t *testing.T, path string) {
		s := newMails(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.play(d)
		})
	})
}

// mailCount is a calendar over a sequence of messages. The test's goroutine owns it.
type mailCount struct {
	t    *testing.T
	book *Book
	now  time.Time
}

func newMails(t *testing.T) *mailCount {
	return &mailCount{t: t, book: &Book{}, now: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
}

func (s *mailCount) play(d *datadriven.TestData) string {
	s.now = s.now.Add(time.Minute)
	switch d.Cmd {
	case "new": // calendar
		*s = *newMails(s.t)
		return ""
	case "remove": // the inbox removes the meeting
		s.book = s.book.WithRemoval(s.book.ByUID("u"), s.now)
		return ""
	case "days":
		s.now = s.now.AddDate(0, 0, 30)
		return ""
	case "owner": // enables copies
		s.book.CopySetting.Enabled = true
		return ""
	case "own": // this inbox organizes a meeting
		s.book = s.book.WithMeeting(ownMeeting(s.book.LastID+1, "u", s.now), 0)
		return tellMeeting(s.book.ByUID("u"))
	case "move", "cancelled", "rsvp":
		s.call(d)
		return tellMeeting(s.book.ByUID("u"))
	case "calendar":
		return tellMeeting(s.book.ByUID("u"))
	}
	return s.mail(d)
}

// call applies a client's order.
func (s *mailCount) call(d *datadriven.TestData) {
	m := *s.book.ByUID("u")
	m.Attendees = slices.Clone(m.Attendees)
	switch d.Cmd {
	case "move":
		m.Sequence++
		m.AskedSequence, m.StampedAt, m.Start, m.End = m.Sequence, s.now, m.Start.Add(time.Hour), m.End.Add(time.Hour)
		for i := range m.Attendees {
			m.Attendees[i].ParticipationStatus = icalendar.NeedsAction
		}
	case "cancelled":
		m.Sequence++
		m.Status, m.StampedAt = icalendar.StatusCancelled, s.now
	case "rsvp":
		m.MyStatus = d.CmdArgs[0].Key
		for i := range m.Attendees {
			if strings.HasPrefix(m.Attendees[i].Email, "me") {
				m.Attendees[i].ParticipationStatus = m.MyStatus
			}
		}
	}
	m.Version++
	s.book = s.book.WithMeeting(&m, 0)
}

func ownMeeting(id int64, uid string, now time.Time) *Meeting {
	return &Meeting{
		Event: icalendar.Event{
			UID: uid, Title: "Ours", Status: icalendar.StatusConfirmed, StampedAt: now, Organizer: &icalendar.Person{Email: us},
			Start: now.AddDate(0, 0, 1), End: now.AddDate(0, 0, 1).Add(time.Hour),
			Attendees: []Attendee{
				{Person: icalendar.Person{Email: guest}, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.NeedsAction},
				{Person: icalendar.Person{Email: "Carl+cal@Guest.test"}, Role: icalendar.RoleOptional, ParticipationStatus: icalendar.NeedsAction},
				{Person: icalendar.Person{Email: "agent+trip@inbox.test"}, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.NeedsAction},
			},
		},
		ID: id, Source: SourceOutbound, CreatedAt: now, UpdatedAt: now,
	}
}

// mail merges a message and stores the result.
func (s *mailCount) mail(d *datadriven.TestData) string {
	inv := s.invitation(d)
	m := MergeMessage(s.book, inv, us, s.now)
	checkMerged(s.t, s.book, &m)
	if asked := m.MessageEvent.Meeting.MyStatus; inv.Method == "PUBLISH" && asked != "" {
		s.t.Errorf("%s: a PUBLISH asks nobody, my_status is %s", d.Pos, asked)
	}
	if m.Meeting != nil {
		kept := *m.Meeting
		if kept.ID == 0 {
			kept.ID = s.book.LastID + 1
		}
		s.book = s.book.WithMeeting(&kept, 0)
	}
	return tellMerged(&m) + tellMeeting(m.Meeting)
}

func tellMerged(m *MergeResult) string {
	id := "null"
	if m.MessageEvent.Meeting.ID != 0 {
		id = fmt.Sprint(m.MessageEvent.Meeting.ID)
	}
	said := fmt.Sprintf("%s event_id=%s", m.MessageEvent.Action, id)
	for _, word := range []string{m.PublicEvent, m.RefusalReason} {
		if word != "" {
			said += " " + word
		}
	}
	if m.MessageEvent.RefusalReason != m.RefusalReason {
		said += " reason=" + m.MessageEvent.RefusalReason
	}
	if m.Attendee != nil {
		said += fmt.Sprintf(" %s %s", m.Attendee.Email, m.Attendee.ParticipationStatus)
	}
	return said + "\n"
}

func (s *mailCount) invitation(d *datadriven.TestData) *Invitation {
	method := strings.ToUpper(d.Cmd)
	inv := &Invitation{From: boss, MessageID: "m@org.test"}
	if method == "REPLY" {
		inv.From, inv.FromSigned = guest, true
	}
	stamp := "0900"
	seq := "0"
	for _, a := range d.CmdArgs {
		v := strings.Join(a.Vals, "")
		switch a.Key {
		case "seq":
			seq = v
		case "stamp":
			stamp = v
		case "from":
			inv.From = v
		case "sender":
			inv.Sender = v
		case "signed":
			inv.FromSigned, inv.FromAligned = true, true
		case "spf":
			inv.FromSPF, inv.FromAligned = true, true
		case "aligned":
			inv.FromAligned = true
		case "unwanted":
			inv.FailsDMARC = true
		case "to":
			inv.SignedTo = []string{v}
		case "local":
			inv.IsLocal = true
		case "unsigned":
			inv.FromSigned = false
		case "sender-signed":
			inv.SenderSigned = true
		default:
			s.t.Fatalf("%s: what is %s?", d.Pos, a.Key)
		}
	}
	c, err := readOne([]byte(storyFile(method, seq, stamp, d.Input)))
	if err != nil {
		s.t.Fatalf("%s: %v", d.Pos, err)
	}
	inv.Calendar = *c
	return inv
}

// readOne reads the first event of a file.
func readOne(text []byte) (*icalendar.Calendar, error) {
	all, _, err := icalendar.Read(text, nil)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// storyFile is the file of a test message.
func storyFile(method, seq, stamp, lines string) string {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\n")
	if method != "NONE" {
		b.WriteString("METHOD:" + method + "\n")
	}
	for _, event := range strings.Split(lines, "\n+\n") {
		b.WriteString("BEGIN:VEVENT\n")
		attendee := "ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:" + us
		organizer := "ORGANIZER:mailto:" + boss
		switch method {
		case "PUBLISH":
			attendee = ""
		case "REPLY":
			attendee, organizer = "ATTENDEE;PARTSTAT=ACCEPTED:mailto:"+guest, "ORGANIZER:mailto:"+us
		}
		defaults := []string{"UID:u", "SEQUENCE:" + seq, "DTSTART:20260302T100000Z", "DURATION:PT1H", "SUMMARY:Review", organizer, attendee}
		if stamp != "none" {
			defaults = append(defaults, "DTSTAMP:20260301T"+stamp+"00Z")
		}
		for _, line := range defaults {
			name, _, _ := strings.Cut(strings.Replace(line, ";", ":", 1), ":")
			if name != "" && !mentions(event, name) {
				b.WriteString(line + "\n")
			}
		}
		for line := range strings.Lines(event) {
			if !strings.HasPrefix(line, "-") {
				b.WriteString(strings.TrimSpace(line) + "\n")
			}
		}
		b.WriteString("END:VEVENT\n")
	}
	return b.String() + "END:VCALENDAR\n"
}

// mentions reports whether a line sets a property, or leaves it out.
func mentions(event, name string) bool {
	for line := range strings.Lines(event) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "-")
		if rest, ok := strings.CutPrefix(line, name); ok && (rest == "" || rest[0] == ':' || rest[0] == ';') {
			return true
		}
	}
	return false
}

// tellMeeting prints the stored state of a meeting; nothing for nil.
func tellMeeting(m *Meeting) string {
	if m == nil {
		return ""
	}
	var b strings.Builder
	mine := m.MyStatus
	if mine == "" {
		mine = "null"
	}
	fmt.Fprintf(&b, "%s %q %s seq=%d stamp=%s my_status=%s %s\n", m.Status, m.Title, span(m.Start, m.End, m.AllDay), m.Sequence, m.StampedAt.Format("1504"), mine, kind(m))
	if !m.RecurrenceID.IsZero() {
		fmt.Fprintf(&b, "only %s\n", m.RecurrenceID.Format("0102T1504"))
	}
	if m.Comment != "" {
		fmt.Fprintf(&b, "comment %q\n", m.Comment)
	}
	if m.AskedSequence != 0 || m.OwnerCopy.ChangeCount != 0 {
		fmt.Fprintf(&b, "asked=%d copy=%d\n", m.AskedSequence, m.OwnerCopy.ChangeCount)
	}
	var people []string
	for _, a := range m.Attendees {
		people = append(people, a.Email+" "+a.ParticipationStatus)
	}
	if len(people) == 0 {
		people = []string{"nobody asked"}
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(people, ", "))
	if r := m.Recurrence; r != nil {
		if r.Rule != "" {
			fmt.Fprintf(&b, "rule %s\n", r.Rule)
		}
		for _, o := range r.Overrides {
			fmt.Fprintf(&b, "of %s: %s %q %s", o.RecurrenceID.Format("0102T1504"), span(o.Start, o.End, o.AllDay), o.Title, o.Status)
			if i := m.revisionIndex(o.RecurrenceID); i >= 0 {
				fmt.Fprintf(&b, " seq=%d stamp=%s", m.OccurrenceRevisions[i].Sequence, m.OccurrenceRevisions[i].Stamp.Format("1504"))
				if m.OccurrenceRevisions[i].FromWholeMeeting {
					b.WriteString(" within")
				}
			}
			b.WriteString("\n")
		}
	}
	for _, a := range m.LastAnswers {
		fmt.Fprintf(&b, "answered %s %s\n", a.Email, a.Stamp.Format("1504"))
	}
	return b.String()
}

func span(start, end time.Time, allDay bool) string {
	if allDay {
		return start.Format("0102") + "-" + end.Format("0102")
	}
	return start.Format("0102T1504") + "-" + end.Format("0102T1504")
}

func kind(m *Meeting) string {
	words := []string{m.Source}
	if m.IsPublished {
		words = append(words, "published")
	}
	if m.MailboxAuthenticated {
		words = append(words, "signed")
	}
	if m.Source == SourceInbound && m.boundToSender() {
		words = append(words, "bound to "+m.AuthorizedMailbox)
	}
	if m.IsTransparent {
		words = append(words, "transparent")
	}
	return strings.Join(words, " ")
}
