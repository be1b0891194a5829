package calendar

import (
	"slices"
	"testing"
	"time"

	"inboxd/internal/mail/icalendar"
)

// forged is a message that differs in one property from one that counts.
type forged struct {
	name   string
	change func(*Invitation)
	why    string
}

func said(method string, event icalendar.Event) *Invitation {
	inv := &Invitation{Calendar: icalendar.Calendar{Method: method, Event: event}}
	if !event.RecurrenceID.IsZero() {
		inv.Event.Recurrence = &icalendar.Recurrence{Overrides: []icalendar.Override{{RecurrenceID: event.RecurrenceID, Start: event.Start, End: event.End, Title: event.Title, Status: icalendar.StatusConfirmed}}}
	}
	return inv
}

func person(email string) *icalendar.Person { return &icalendar.Person{Email: email} }

func line(email, status string) Attendee {
	return Attendee{Person: icalendar.Person{Email: email}, Role: icalendar.RoleRequired, ParticipationStatus: status}
}

// refused checks that none of the messages changes anything, each for its reason, and that the
// message they are derived from does.
func refused(t *testing.T, b *Book, honest func() *Invitation, now time.Time, rows []forged) {
	t.Helper()
	if m := MergeMessage(b, honest(), us, now); m.PublicEvent == "" || m.RefusalReason != "" {
		t.Fatalf("the honest mail: %s", tellMerged(&m))
	}
	for _, row := range rows {
		inv := honest()
		row.change(inv)
		m := MergeMessage(b, inv, us, now)
		if m.MessageEvent.Action != ActionUnchanged || m.Meeting != nil || m.PublicEvent != "" || m.Attendee != nil || m.RefusalReason != row.why {
			t.Errorf("%s: %swant %s", row.name, tellMerged(&m), row.why)
		}
	}
}

// TestForgedAnswers violates each condition of a counting answer separately.
func TestForgedAnswers(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	own := ownMeeting(1, "ours", now.Add(-time.Hour))
	own.Sequence, own.AskedSequence = 4, 2
	own.Attendees = append(own.Attendees, line("team@guest.test", icalendar.NeedsAction))
	own.LastAnswers = []GuestAnswer{{guest, now.Add(-time.Minute)}}
	theirs := &Meeting{Event: icalendar.Event{UID: "theirs", Organizer: person(us), Attendees: own.Attendees}, ID: 2, Source: SourceInbound}
	book := (*Book)(nil).WithMeeting(own, 0).WithMeeting(theirs, 0)
	honest := func() *Invitation {
		inv := said("REPLY", icalendar.Event{UID: "ours", Sequence: 2, StampedAt: now, Organizer: person(us), Attendees: []Attendee{line(guest, icalendar.StatusAccepted)}})
		inv.From, inv.FromSigned = guest, true
		return inv
	}
	attendee := func(email string) func(*Invitation) {
		return func(i *Invitation) { i.Event.Attendees = []Attendee{line(email, icalendar.StatusAccepted)} }
	}
	both := func(email string) func(*Invitation) {
		return func(i *Invitation) { i.From = email; attendee(email)(i) }
	}
	refused(t, book, honest, now, []forged{
		{"two From, or a group in it", func(i *Invitation) { i.From = "" }, RefusedSender},
		{"its Sender is the guest", func(i *Invitation) { i.From, i.Sender, i.SenderSigned = "eve@guest.test", guest, true }, RefusedSender},
		{"from another mailbox of the domain", func(i *Invitation) { i.From = "eve@guest.test" }, RefusedSender},
		{"for another mailbox of the domain", attendee("eve@guest.test"), RefusedSender},
		{"from and for one who was not asked", both("eve@guest.test"), RefusedUninvited},
		{"an assistant, SENT-BY", func(i *Invitation) { i.From = "assistant@guest.test" }, RefusedSender},
		{"a member of a list that was asked", both("dan@guest.test"), RefusedUninvited},
		{"for the list, by a member", func(i *Invitation) { i.From = "dan@guest.test"; attendee("team@guest.test")(i) }, RefusedSender},
		{"unsigned", func(i *Invitation) { i.FromSigned = false }, RefusedUnsigned},
		{"signed for Sender only", func(i *Invitation) { i.FromSigned, i.Sender, i.SenderSigned = false, guest, true }, RefusedUnsigned},
		{"a tag more", both("bea+x@guest.test"), RefusedUninvited},
		{"a tag in the line, of a domain that is not ours", attendee("bea+x@guest.test"), RefusedSender},
		{"a tag less", both("carl@guest.test"), RefusedUninvited},
		{"a tag of a neighbour's", func(i *Invitation) { i.From, i.IsLocal = "eve@inbox.test", true; attendee("agent+trip@inbox.test")(i) }, RefusedSender},
		{"a neighbour without the tag that was asked", func(i *Invitation) { i.IsLocal = true; both("agent@inbox.test")(i) }, RefusedUninvited},
		{"a neighbour's tag, from outside", func(i *Invitation) { i.From = "agent@inbox.test"; attendee("agent+trip@inbox.test")(i) }, RefusedSender},
		{"a letter that looks alike", both("be\u0430@guest.test"), RefusedUninvited},
		{"a domain that looks alike", both("bea@gu\u0435st.test"), RefusedUninvited},
		{"a letter that looks alike in From", func(i *Invitation) { i.From = "be\u0430@guest.test" }, RefusedSender},
		{"a domain below", both("bea@x.guest.test"), RefusedUninvited},
		{"a name as the address", both("\"bea@guest.test\"@evil.test"), RefusedUninvited},
		{"no line at all", func(i *Invitation) { i.Event.Attendees = nil }, RefusedSender},
		{"another UID", func(i *Invitation) { i.Event.UID = "OURS" }, RefusedUnknown},
		{"a meeting of somebody else's", func(i *Invitation) { i.Event.UID = "theirs" }, RefusedOrganizer},
		{"no organizer", func(i *Invitation) { i.Event.Organizer = nil }, RefusedOrganizer},
		{"before everybody was asked again", func(i *Invitation) { i.Event.Sequence = 1 }, RefusedStale},
		{"a replay of the last", func(i *Invitation) { i.Event.StampedAt = now.Add(-time.Minute) }, RefusedStale},
		{"older than the last", func(i *Invitation) { i.Event.StampedAt = now.Add(-time.Hour) }, RefusedStale},
		{"delegated", func(i *Invitation) { i.Event.Attendees[0].ParticipationStatus = icalendar.NeedsAction }, RefusedAnswer},
		{"of an occurrence", func(i *Invitation) { i.Event.RecurrenceID = now }, RefusedOccurrence},
		{"another METHOD", func(i *Invitation) { i.Method = "COUNTER" }, RefusedMethod},
		{"as an invitation", func(i *Invitation) { i.Method = "REQUEST" }, RefusedOwn},
		{"as a cancellation", func(i *Invitation) { i.Method = "CANCEL" }, RefusedOwn},
		{"as a publication", func(i *Invitation) { i.Method = "PUBLISH" }, RefusedOwn},
	})
	// A guest who was removed cannot answer.
	gone := *own
	gone.Attendees = own.Attendees[1:]
	if m := MergeMessage(book.WithMeeting(&gone, 0), honest(), us, now); m.RefusalReason != RefusedUninvited {
		t.Errorf("a guest who was taken off: %s", tellMerged(&m))
	}
}

// TestForgedChanges violates each condition of a counting change or cancellation separately, for
// the meeting and for one occurrence.
func TestForgedChanges(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	event := icalendar.Event{
		UID: "theirs", Sequence: 3, StampedAt: now.Add(-time.Hour), Title: "Review", Start: now, End: now.Add(time.Hour), Status: icalendar.StatusConfirmed,
		Organizer: person(boss), Attendees: []Attendee{line(us, icalendar.NeedsAction)},
		Recurrence: &icalendar.Recurrence{Rule: "FREQ=WEEKLY"},
	}
	known := &Meeting{Event: event, ID: 1, Source: SourceInbound, AuthorizedMailbox: boss, MailboxAuthenticated: true}
	published := *known
	published.ID, published.UID, published.IsPublished, published.AuthorizedMailbox = 2, "published", true, "news@letter.test"
	book := (*Book)(nil).WithMeeting(known, 0).WithMeeting(ownMeeting(3, "ours", now), 0)
	change := func(method string, single bool) func() *Invitation {
		return func() *Invitation {
			e := event
			e.Sequence, e.StampedAt, e.Title = 4, now, "Changed"
			if single {
				e.RecurrenceID = now.AddDate(0, 0, 7)
			}
			inv := said(method, e)
			inv.From, inv.FromSigned = boss, true
			return inv
		}
	}
	rows := []forged{
		{"from somebody else", func(i *Invitation) { i.From = "eve@org.test" }, RefusedSender},
		{"two From, or a group in it", func(i *Invitation) { i.From = "" }, RefusedSender},
		{"Sender of somebody else's mail, which is signed", func(i *Invitation) { i.From, i.Sender = "eve@evil.test", boss }, RefusedUnsigned},
		{"Sender of a mail with two From, unsigned", func(i *Invitation) { i.From, i.Sender, i.FromSigned = "", boss, false }, RefusedUnsigned},
		{"unsigned", func(i *Invitation) { i.FromSigned = false }, RefusedUnsigned},
		{"signed by its Sender alone", func(i *Invitation) { i.FromSigned, i.Sender, i.SenderSigned = false, "eve@evil.test", true }, RefusedUnsigned},
		{"SENT-BY", func(i *Invitation) { i.From = "assistant@org.test" }, RefusedSender},
		{"a tag more", func(i *Invitation) { i.From = "boss+x@org.test" }, RefusedSender},
		{"a letter that looks alike", func(i *Invitation) { i.From = "b\u043ess@org.test" }, RefusedSender},
		{"a domain that looks alike", func(i *Invitation) { i.From = "boss@\u043erg.test" }, RefusedSender},
		{"another organizer", func(i *Invitation) { i.From = "eve@org.test"; i.Event.Organizer = person("eve@org.test") }, RefusedSender},
		{"another organizer, from the first one's", func(i *Invitation) { i.Event.Organizer = person("eve@org.test") }, RefusedOrganizer},
		{"an organizer that looks alike", func(i *Invitation) { i.From = "b\u043ess@org.test"; i.Event.Organizer = person(i.From) }, RefusedSender},
		{"no organizer", func(i *Invitation) { i.Event.Organizer = nil }, RefusedOrganizer},
		{"this inbox as the organizer", func(i *Invitation) { i.From = us; i.Event.Organizer = person(us) }, RefusedOwn},
		{"of a meeting of ours", func(i *Invitation) { i.Event.UID = "ours" }, RefusedOwn},
		{"lower SEQUENCE", func(i *Invitation) { i.Event.Sequence = 2 }, RefusedStale},
		{"older DTSTAMP", func(i *Invitation) { i.Event.Sequence, i.Event.StampedAt = 3, now.Add(-2*time.Hour) }, RefusedStale},
		{"another METHOD", func(i *Invitation) { i.Method = "ADD" }, RefusedMethod},
		{"as an answer", func(i *Invitation) { i.Method = "REPLY" }, RefusedOrganizer},
	}
	for _, method := range []string{"REQUEST", "CANCEL"} {
		refused(t, book, change(method, false), now, rows)
		refused(t, book, change(method, true), now, rows)
	}
	withoutOrganizer := slices.IndexFunc(rows, func(r forged) bool { return r.name == "no organizer" })
	rows = slices.Delete(rows, withoutOrganizer, withoutOrganizer+1)
	// The sender of a PUBLISH is compared with the first sender, and the organizer only for
	// meetings that can be answered.
	for i := range rows {
		switch rows[i].name {
		case "Sender of somebody else's mail, which is signed":
			rows[i].why = RefusedSender
		}
	}
	refused(t, book, change("PUBLISH", false), now, rows)

	publish := func() *Invitation {
		inv := change("PUBLISH", false)()
		inv.Event.UID, inv.From = published.UID, published.AuthorizedMailbox
		return inv
	}
	refused(t, book.WithMeeting(&published, 0), publish, now, []forged{
		{"the organizer's, who did not publish it", func(i *Invitation) { i.From = boss }, RefusedSender},
		{"unsigned", func(i *Invitation) { i.FromSigned = false }, RefusedUnsigned},
		{"a cancellation of the publisher's", func(i *Invitation) { i.Method = "CANCEL" }, RefusedSender},
		{"a request of the publisher's", func(i *Invitation) { i.Method = "REQUEST" }, RefusedSender},
	})
}

// TestSenderMaySpeak checks that a message counts if its Sender is the organizer, signed for Sender
// where required.
func TestSenderMaySpeak(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	inv := said("REQUEST", icalendar.Event{UID: "u", StampedAt: now, Start: now, End: now, Organizer: person("Boss@ORG.test"), Status: icalendar.StatusConfirmed})
	inv.From, inv.Sender, inv.SenderSigned = "room@org.test", boss, true
	first := MergeMessage(nil, inv, us, now)
	if first.MessageEvent.Action != ActionCreated || !first.Meeting.MailboxAuthenticated {
		t.Fatalf("%s", tellMerged(&first))
	}
	first.Meeting.ID = 1
	book := (*Book)(nil).WithMeeting(first.Meeting, 0)
	inv.Event.Sequence = 1
	if m := MergeMessage(book, inv, us, now); m.MessageEvent.Action != ActionUpdated {
		t.Errorf("signed for Sender: %s", tellMerged(&m))
	}
	inv.SenderSigned, inv.FromSigned = false, true
	if m := MergeMessage(book, inv, us, now); m.RefusalReason != RefusedUnsigned {
		t.Errorf("signed for From only: %s", tellMerged(&m))
	}
}

// TestOccurrencesAreBounded uses more occurrences than a meeting stores. Stored ones can still be
// changed.
func TestOccurrencesAreBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	event := icalendar.Event{UID: "u", StampedAt: now, Start: now, End: now, Status: icalendar.StatusConfirmed, Organizer: person(boss), Recurrence: &icalendar.Recurrence{Rule: "FREQ=DAILY"}}
	all := func(n int) (list []icalendar.Override) {
		for i := range n {
			list = append(list, icalendar.Override{RecurrenceID: now.AddDate(0, 0, i), Start: now, End: now, Status: icalendar.StatusConfirmed})
		}
		return list
	}
	whole := said("REQUEST", event)
	whole.From, whole.Event.Recurrence = boss, &icalendar.Recurrence{Rule: "FREQ=DAILY", Overrides: all(250)}
	first := MergeMessage(nil, whole, us, now)
	if n := len(first.Meeting.Recurrence.Overrides); n != 200 {
		t.Fatalf("%d of 250 are kept", n)
	}
	first.Meeting.ID = 1
	book := (*Book)(nil).WithMeeting(first.Meeting, 0)
	for at, want := range map[int]string{199: "", 200: RefusedRoom} {
		e := event
		e.Sequence, e.RecurrenceID = 1, now.AddDate(0, 0, at)
		inv := said("REQUEST", e)
		inv.From = boss
		if m := MergeMessage(book, inv, us, now); m.RefusalReason != want || (m.Meeting == nil) != (want != "") {
			t.Errorf("number %d: %s", at+1, tellMerged(&m))
		}
	}
}

// TestWithoutRoom checks that a meeting that cannot be stored is reported as unchanged.
func TestWithoutRoom(t *testing.T) {
	own := ownMeeting(1, "ours", firstDay)
	inv := said("REPLY", icalendar.Event{UID: "ours", StampedAt: firstDay, Organizer: person(us), Attendees: []Attendee{line(guest, icalendar.StatusAccepted)}})
	inv.From, inv.FromSigned = guest, true
	m := MergeMessage((*Book)(nil).WithMeeting(own, 0), inv, us, firstDay).WithoutRoom()
	if got := tellMerged(&m); got != "unchanged event_id=1 room\n" || m.Meeting != nil {
		t.Errorf("%s", got)
	}
}
