package persist

import (
	"bytes"
	"io"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
)

// Generators. Text is any bytes: the store returns what it was given.
var (
	genText  = rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }))
	genTexts = rapid.Map(rapid.SliceOfN(genText, 0, 4), nilWhenEmpty[string])
	genTime  = rapid.OneOf(rapid.Just(time.Time{}), rapid.Just(time.UnixMilli(0).UTC()),
		rapid.Map(rapid.Int64Range(-1<<43, 1<<43), func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }))
	genMailbox = rapid.Custom(func(t *rapid.T) message.Mailbox {
		return message.Mailbox{Email: genText.Draw(t, "email"), Name: genText.Draw(t, "name")}
	})
	genMailboxes = rapid.Map(rapid.SliceOfN(genMailbox, 0, 3), nilWhenEmpty[message.Mailbox])
	genContent   = rapid.Custom(func(t *rapid.T) *inbox.Content {
		c := &inbox.Content{DocumentOmitted: rapid.Bool().Draw(t, "unread"), Doc: message.ParsedMessage{
			Subject: genText.Draw(t, "subject"), From: genMailbox.Draw(t, "from"),
			To: genMailboxes.Draw(t, "to"), Cc: genMailboxes.Draw(t, "cc"), ReplyTo: genMailboxes.Draw(t, "reply"),
			Date: genTime.Draw(t, "date"), MessageID: genText.Draw(t, "mid"), InReplyTo: genText.Draw(t, "irt"), References: genTexts.Draw(t, "refs"),
			Headers: nilWhenEmpty(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) message.Header {
				return message.Header{Name: genText.Draw(t, "name"), Value: genText.Draw(t, "value")}
			}), 0, 5).Draw(t, "headers")),
			Text: genText.Draw(t, "text"), HTML: genText.Draw(t, "html"), HasHTML: rapid.Bool().Draw(t, "has"),
			Attachments: nilWhenEmpty(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) message.Attachment {
				return message.Attachment{ID: rapid.Int().Draw(t, "id"), Filename: genText.Draw(t, "file"), ContentType: genText.Draw(t, "type"),
					Size: rapid.Int64().Draw(t, "size"), Truncated: rapid.Bool().Draw(t, "cut"), ContentID: genText.Draw(t, "content id")}
			}), 0, 3).Draw(t, "attachments")),
			AttachmentsOmitted: rapid.IntRange(0, 1000).Draw(t, "omitted"),
			Links:              genTexts.Draw(t, "links"), TextFromHTML: rapid.Bool().Draw(t, "b1"), TextCut: rapid.Bool().Draw(t, "b2"), IsDegraded: rapid.Bool().Draw(t, "b3"), LinksCut: rapid.Bool().Draw(t, "more links"), HiddenText: rapid.Bool().Draw(t, "hidden text"),
		}}
		if rapid.Bool().Draw(t, "otp") {
			c.Spam = &inbox.SpamVerdict{Score: rapid.Float64Range(-20, 2000).Draw(t, "score"), RequiredScore: rapid.Float64Range(0, 20).Draw(t, "required"), IsSpam: rapid.Bool().Draw(t, "is spam"),
				Rules: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) inbox.SpamRule {
					return inbox.SpamRule{Name: genText.Draw(t, "rule"), Weight: rapid.Float64Range(-5, 5).Draw(t, "weight"), Description: genText.Draw(t, "description")}
				}), 1, 3).Draw(t, "rules")}
			c.OTP = inbox.OTP{Code: genText.Draw(t, "code"), Confidence: rapid.Float64Range(0, 1).Draw(t, "confidence"), Source: genText.Draw(t, "source"),
				Origin: genText.Draw(t, "origin"), Candidates: genTexts.Draw(t, "candidates"), VerificationLink: genText.Draw(t, "link")}
		}
		if rapid.Bool().Draw(t, "invites") {
			for range rapid.IntRange(0, 2).Draw(t, "further meetings") {
				c.MoreCalendar = append(c.MoreCalendar, &calendar.MessageEvent{Meeting: *genMeeting.Draw(t, "more"), Action: calendar.ActionCreated})
			}
			c.Calendar = &calendar.MessageEvent{Meeting: *genMeeting.Draw(t, "said"), Action: calendar.ActionUpdated, Method: genText.Draw(t, "method"), RefusalReason: genText.Draw(t, "reason")}
		}
		if server := genText.Draw(t, "server"); server != "" {
			result := func() inbox.AuthResult {
				return inbox.AuthResult{ResultKeyword: genText.Draw(t, "word"), Domain: genText.Draw(t, "domain")}
			}
			c.Auth = inbox.Auth{CheckingServer: server, SPF: result(), DKIM: result(), DMARC: result(), HELO: rapid.Bool().Draw(t, "helo"),
				Signatures: nilWhenEmpty(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) inbox.AuthSignature {
					return inbox.AuthSignature{Word: genText.Draw(t, "word"), Domain: genText.Draw(t, "domain"), Selector: genText.Draw(t, "selector"), Algorithm: genText.Draw(t, "algorithm")}
				}), 0, 3).Draw(t, "signatures"))}
		}
		return c
	})
	genMessage = rapid.Custom(func(t *rapid.T) *inbox.Message {
		m := &inbox.Message{
			Direction:  rapid.SampledFrom([]inbox.Direction{inbox.In, inbox.In, inbox.Out}).Draw(t, "direction"),
			ReceivedAt: genTime.Draw(t, "received"), ExpiresAt: genTime.Draw(t, "expires"), From: genMailbox.Draw(t, "from"),
			EnvelopeTo: genText.Draw(t, "envelope"), Subject: genText.Draw(t, "subject"), OTP: genText.Draw(t, "otp"), IsRead: rapid.Bool().Draw(t, "read"),
		}
		if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
			m.NamedRecipients = &[]string{m.EnvelopeTo, genText.Draw(t, "other recipient")}
		}
		if rapid.Bool().Draw(t, "unsettled") {
			m.RepeatDigest = (*inbox.MessageDigest)(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		}
		if rapid.IntRange(0, 3).Draw(t, "sealed") == 0 {
			m.EncryptedState = &inbox.EncryptedState{RepeatDigest: inbox.MessageDigest(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "repeat"))}
		}
		return m
	})
	genPerson = rapid.Custom(func(t *rapid.T) icalendar.Person {
		return icalendar.Person{Email: genText.Draw(t, "email"), Name: genText.Draw(t, "name"), URI: genText.Draw(t, "uri")}
	})
	genTimes   = rapid.Map(rapid.SliceOfN(genTime, 0, 2), nilWhenEmpty[time.Time])
	genMeeting = rapid.Custom(func(t *rapid.T) *calendar.Meeting {
		m := &calendar.Meeting{
			Event: icalendar.Event{
				UID: genText.Draw(t, "uid"), Sequence: rapid.Int().Draw(t, "sequence"), StampedAt: genTime.Draw(t, "stamp"), Title: genText.Draw(t, "title"),
				Start: genTime.Draw(t, "start"), End: genTime.Draw(t, "end"), AllDay: rapid.Bool().Draw(t, "all day"), TimeZone: zone.Zone{Name: genText.Draw(t, "zone")},
				Attendees: nilWhenEmpty(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) calendar.Attendee {
					return calendar.Attendee{Person: genPerson.Draw(t, "guest"), Role: genText.Draw(t, "role"), ParticipationStatus: genText.Draw(t, "status"), UserType: genText.Draw(t, "kind"), ResponseRequested: rapid.Bool().Draw(t, "asked")}
				}), 0, 3).Draw(t, "guests")),
				SentBy: genText.Draw(t, "sent by"), IsTransparent: rapid.Bool().Draw(t, "transparent"), JoinURL: genText.Draw(t, "join"),
			},
			Source: calendar.SourceInbound, CreatedAt: genTime.Draw(t, "created"), UpdatedAt: genTime.Draw(t, "updated"), Version: rapid.Int64().Draw(t, "version"), RemoveAt: genTime.Draw(t, "until"),
			LastMessage: rapid.Int64().Draw(t, "last message"), RespondedAt: genTime.Draw(t, "responded"),
		}
		if rapid.Bool().Draw(t, "organized") {
			m.Organizer = new(genPerson.Draw(t, "organizer"))
		}
		if rapid.Bool().Draw(t, "again") {
			m.Recurrence = &icalendar.Recurrence{Rule: genText.Draw(t, "rule"), ExceptionDates: genTimes.Draw(t, "except"), AdditionalDates: genTimes.Draw(t, "also"), Overrides: nilWhenEmpty(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) icalendar.Override {
				return icalendar.Override{RecurrenceID: genTime.Draw(t, "id"), Start: genTime.Draw(t, "start"), Title: genText.Draw(t, "title"), IsTransparent: rapid.Bool().Draw(t, "transparent")}
			}), 0, 2).Draw(t, "overrides"))}
		}
		if rapid.Bool().Draw(t, "observed") {
			m.TimeZone.Observances = []zone.Observance{{Start: genTime.Draw(t, "from"), From: rapid.Int().Draw(t, "before"), Rule: genText.Draw(t, "rule"), Dates: genTimes.Draw(t, "dates")}}
		}
		if rapid.Bool().Draw(t, "alone") {
			m.CancelledRevision, m.OnlyCancelled = &icalendar.Revision{Sequence: rapid.Int().Draw(t, "over"), StampedAt: genTime.Draw(t, "over at")}, rapid.Bool().Draw(t, "untold")
			m.OccurrenceRevisions = []calendar.OccurrenceRevision{{RecurrenceID: genTime.Draw(t, "heard"), Sequence: rapid.Int().Draw(t, "heard sequence"), Stamp: genTime.Draw(t, "heard stamp"), Detail: &calendar.OccurrenceDetail{
				Zone: m.TimeZone, Description: genText.Draw(t, "detail"), Organizer: m.Organizer, Attendees: m.Attendees,
			}}}
		}
		return m
	})
	genAddress = rapid.SampledFrom([]string{"a@example.org", "ab@example.org", "b@example.org"})
)

func nilWhenEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

// modelInbox is what the store must return.
type modelInbox struct {
	state   inbox.State
	content map[int64]*inbox.Content
	raw     map[int64][]byte
	parts   map[int64]*inbox.StoredMessage // of a sealed message
}

// model drives a store and mirrors it in plain maps.
type model struct {
	fs      *vfs.MemFS
	s       *Store
	inboxes map[string]*modelInbox
	outbox  map[string]inbox.PublicEvent // by key
}

func (m *model) inbox(addr string) *modelInbox {
	if m.inboxes[addr] == nil {
		m.inboxes[addr] = &modelInbox{state: inbox.State{Profile: inbox.Profile{Address: addr}}, content: map[int64]*inbox.Content{}, raw: map[int64][]byte{}, parts: map[int64]*inbox.StoredMessage{}}
	}
	return m.inboxes[addr]
}

// commit draws rows as a group of commands may make them: messages, marks and removals, also of a
// message from the same batch.
func (m *model) commit(t *rapid.T) {
	in := m.inbox(genAddress.Draw(t, "address"))
	st := &in.state
	r := &inbox.Rows{Address: st.Address}
	if st.Account == (account.ID{}) || rapid.Bool().Draw(t, "profile") {
		st.Account, st.Label, st.RetentionHours = accountID(1), genText.Draw(t, "label"), rapid.IntRange(0, 9999).Draw(t, "hours")
		st.KeepNewest, st.Encrypted = rapid.Bool().Draw(t, "keeps"), rapid.Bool().Draw(t, "encrypted")
		st.CreatedAt, st.DeletedAt = genTime.Draw(t, "created"), genTime.Draw(t, "deleted")
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 20}).Draw(t, "mails") {
		m.receive(t, in, r)
	}
	for i := range st.Messages {
		if rapid.IntRange(0, 9).Draw(t, "mark") == 0 {
			c := *st.Messages[i]
			c.IsRead = !c.IsRead
			st.Messages[i] = &c
			r.PutMessages = append(r.PutMessages, &c)
		}
	}
	m.settle(t, in, r)
	if rapid.IntRange(0, 2).Draw(t, "removes") == 0 {
		m.remove(t, in, r)
	}
	if rapid.IntRange(0, 2).Draw(t, "meets") == 0 {
		meet(t, st, r)
	}
	r.DueFrom = st.DueAt
	st.DueAt = genTime.Draw(t, "due")
	r.DueTo = st.DueAt
	p := st.Profile
	r.Profile = &p
	must(t, m.s.CommitInbox(r))
}

// meet draws meetings that are new, changed and over, and one that is removed in the batch that
// added it.
func meet(t *rapid.T, st *inbox.State, r *inbox.Rows) {
	b := st.Calendar
	for range rapid.SampledFrom([]int{0, 1, 2, 20}).Draw(t, "meetings") {
		meeting := genMeeting.Draw(t, "meeting")
		meeting.ID = rapid.Int64Range(1, 30).Draw(t, "id")
		b = b.WithMeeting(meeting, inbox.MeetingBytes(meeting))
		r.PutMeetings = append(r.PutMeetings, b.Meeting(meeting.ID))
	}
	gone := rapid.SliceOfN(rapid.Int64Range(1, 30), 0, 30).Draw(t, "over")
	if b = b.WithoutMeetings(gone); len(b.Meetings) == 0 {
		b.Meetings = nil
	}
	b.ChangedAt, b.CopySetting.Enabled = genTime.Draw(t, "changed"), rapid.Bool().Draw(t, "owner")
	if b.Feed = nil; rapid.Bool().Draw(t, "feed") {
		b.Feed = &calendar.SubscriptionLink{TokenHash: [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash")), EncryptedToken: []byte{1}, CreatedAt: genTime.Draw(t, "shared"), FetchCount: rapid.Int64().Draw(t, "fetches"), FetchedAt: genTime.Draw(t, "fetched"), LastClient: genText.Draw(t, "client")}
		copy(b.Feed.CreatorKey[:], rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "key"))
	}
	st.Calendar, st.HasCalendar = b, true
	r.Calendar, r.DropMeetings = b, gone
}

func (m *model) receive(t *rapid.T, in *modelInbox, r *inbox.Rows) {
	st := &in.state
	st.LastID += int64(rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "gap"))
	st.LastEvent++
	msg := genMessage.Draw(t, "message")
	msg.ID = st.LastID
	stored := inbox.StoredMessage{ID: msg.ID, Content: &inbox.Content{Doc: message.ParsedMessage{Text: "short"}}, Raw: []byte("short")}
	switch rapid.IntRange(0, 19).Draw(t, "size") {
	case 0:
		stored.Content = genContent.Draw(t, "content")
	case 1:
		stored.Raw = bytes.Repeat([]byte{byte(msg.ID)}, blobOver+rapid.IntRange(-1, 2).Draw(t, "raw"))
	case 2:
		stored.Content = &inbox.Content{Doc: message.ParsedMessage{Text: string(bytes.Repeat([]byte{'x'}, blobOver))}}
	}
	if msg.EncryptedState != nil {
		sealParts(t, msg, &stored)
	}
	in.parts[msg.ID] = &stored
	msg.Size = int64(len(stored.Raw))
	ev := inbox.PublicEvent{SequenceNumber: st.LastEvent, EventName: genText.Draw(t, "name"), Account: st.Account, Address: st.Address, MessageID: msg.ID,
		At: genTime.Draw(t, "at"), From: genText.Draw(t, "from"), Subject: genText.Draw(t, "subject"), OTP: genText.Draw(t, "code"),
		To: nilWhenEmpty(rapid.SliceOfN(genText, 0, 3).Draw(t, "to")), SendStatus: genText.Draw(t, "status"), SendError: genText.Draw(t, "error")}
	for _, email := range ev.To {
		ev.Recipients = append(ev.Recipients, delivery.RecipientState{Email: email, Status: delivery.StatusSent})
	}
	st.Messages = append(st.Messages, msg)
	st.Bytes += msg.Size
	in.content[msg.ID], in.raw[msg.ID] = stored.Content, stored.Raw
	m.outbox[string(outboxKey(nil, &ev))] = ev
	r.PutMessages, r.StoreMessages, r.PublicEvents = append(r.PutMessages, msg), append(r.StoreMessages, stored), append(r.PublicEvents, ev)
}

// sealParts draws the parts of a sealed message in addition to its envelope: attachments and the
// queued copy, as rows and as blobs.
func sealParts(t *rapid.T, msg *inbox.Message, stored *inbox.StoredMessage) {
	part := func(id int) []byte {
		size := rapid.SampledFrom([]int{0, 5, 5, 5, 5, 5, 5, 5, blobOver, blobOver + 1}).Draw(t, "part")
		return bytes.Repeat([]byte{byte(id)}, size)
	}
	for file := range rapid.IntRange(0, 3).Draw(t, "files") {
		msg.EncryptedState.MaxFileID = 3*file + 1
		stored.EncryptedFiles = append(stored.EncryptedFiles, sealed.FileEnvelope{ID: msg.EncryptedState.MaxFileID, Envelope: part(msg.EncryptedState.MaxFileID)})
	}
	if msg.Direction == inbox.Out {
		msg.OutgoingDelivery = &inbox.OutgoingDelivery{Status: delivery.StatusQueued}
		stored.QueuedMessage = part(200)
	}
}

// settle draws which sealed messages are delivered.
func (m *model) settle(t *rapid.T, in *modelInbox, r *inbox.Rows) {
	for i, msg := range in.state.Messages {
		if msg.EncryptedState == nil || msg.OutgoingDelivery == nil || !msg.IsWaiting() || rapid.Bool().Draw(t, "waits") {
			continue
		}
		c := *msg
		c.OutgoingDelivery = &inbox.OutgoingDelivery{Status: delivery.StatusSent}
		in.state.Messages[i] = &c
		stored := *in.parts[c.ID]
		stored.QueuedMessage = nil
		in.parts[c.ID] = &stored
		r.PutMessages, r.FinalMessages = append(r.PutMessages, &c), append(r.FinalMessages, &c)
	}
}

func (m *model) remove(t *rapid.T, in *modelInbox, r *inbox.Rows) {
	st := &in.state
	keepOneIn := rapid.SampledFrom([]int{2, 40, 1 << 30}).Draw(t, "keep one in")
	st.Messages = slices.DeleteFunc(slices.Clone(st.Messages), func(msg *inbox.Message) bool {
		if rapid.IntRange(0, keepOneIn-1).Draw(t, "keep") == 0 {
			return false
		}
		st.Bytes -= msg.Size
		r.DropMessages = append(r.DropMessages, msg)
		delete(in.content, msg.ID)
		delete(in.raw, msg.ID)
		delete(in.parts, msg.ID)
		return true
	})
}

func (m *model) dropOutbox(t *rapid.T) {
	var gone []inbox.PublicEvent
	for _, key := range slices.Sorted(maps.Keys(m.outbox)) {
		if rapid.Bool().Draw(t, "taken") {
			gone = append(gone, m.outbox[key])
			delete(m.outbox, key)
		}
	}
	must(t, m.s.DropOutbox(gone))
}

func (m *model) flush(t *rapid.T) { must(t, m.s.db.Flush()) }

func (m *model) reopen(t *rapid.T) {
	must(t, m.s.Close())
	s, err := Open(folder, options(m.fs))
	must(t, err)
	m.s = s
}

// check compares everything.
func (m *model) check(t *rapid.T) {
	blobs := int64(0)
	var due []string // keys
	for addr, in := range m.inboxes {
		want := in.state
		want.NewestContent = nil
		want.Messages, want.RepeatableCount = nilWhenEmpty(want.Messages), 0
		for _, msg := range want.Messages {
			if msg.RepeatDigest != nil {
				want.RepeatableCount++
			}
		}
		got, err := m.s.LoadInbox(addr)
		must(t, err)
		if !reflect.DeepEqual(*got, want) {
			t.Fatalf("%s loads as\n%+v\nwant\n%+v", addr, *got, want)
		}
		live, err := m.s.InboxExists(addr)
		if err != nil || live != want.IsLive() {
			t.Fatalf("live %v %v, want %v", live, err, want.IsLive())
		}
		owner, err := m.s.AccountOf(addr)
		if must(t, err); live && owner != want.Account || !live && owner != (account.ID{}) {
			t.Fatalf("owner %v of %+v", owner, want.Profile)
		}
		for id := int64(1); id <= want.LastID; id++ {
			blobs += checkBulk(t, m.s, in, id) + checkParts(t, m.s, in, id)
		}
		if !want.DueAt.IsZero() {
			due = append(due, string(inboxDueKey(want.DueAt, addr)))
		}
	}
	if files, err := m.fs.List(m.s.blobFiles.dir()); err != nil || int64(len(files)) != blobs || m.s.ReadStats().BlobFiles != blobs {
		t.Fatalf("%d blob files (%d counted), want %d: %v", len(files), m.s.ReadStats().BlobFiles, blobs, err)
	}
	checkDue(t, m.s, due)
	m.checkOutbox(t)
}

// checkParts is checkBulk for the parts of a sealed message in addition to its envelope.
func checkParts(t *rapid.T, s *Store, in *modelInbox, id int64) (blobs int64) {
	want := inbox.StoredMessage{}
	if kept := in.parts[id]; kept != nil {
		want = *kept
	}
	envelopes := map[int][]byte{}
	for _, f := range want.EncryptedFiles {
		envelopes[f.ID] = f.Envelope
	}
	count := func(data []byte) {
		if len(data) > blobOver {
			blobs++
		}
	}
	for file := range 10 {
		r, err := s.OpenFile(in.state.Address, id, file)
		must(t, err)
		if envelope, kept := envelopes[file]; kept != (r != nil) {
			t.Fatalf("file %d of message %d is there: %v, want %v", file, id, r != nil, kept)
		} else if kept {
			got, err := io.ReadAll(r)
			if must(t, err); !bytes.Equal(got, envelope) {
				t.Fatalf("file %d of message %d has %d bytes, want %d", file, id, len(got), len(envelope))
			}
			count(envelope)
		}
	}
	queued, err := s.QueuedCopy(in.state.Address, id)
	if must(t, err); !bytes.Equal(queued, want.QueuedMessage) || (queued == nil) != (want.QueuedMessage == nil) {
		t.Fatalf("message %d waits with %d bytes, want %d", id, len(queued), len(want.QueuedMessage))
	}
	count(want.QueuedMessage)
	return blobs
}

// checkBulk compares content and bytes, and returns how many blob files the message has.
func checkBulk(t *rapid.T, s *Store, in *modelInbox, id int64) (blobs int64) {
	c, err := s.ReadContent(in.state.Address, id)
	must(t, err)
	if want := in.content[id]; !reflect.DeepEqual(c, want) {
		t.Fatalf("content of %d is\n%+v\nwant\n%+v", id, c, want)
	}
	raw, err := s.ReadRaw(in.state.Address, id)
	must(t, err)
	if !bytes.Equal(raw, in.raw[id]) || (raw == nil) != (in.raw[id] == nil) {
		t.Fatalf("bytes of %d are %d long, want %d", id, len(raw), len(in.raw[id]))
	}
	if len(raw) > blobOver {
		blobs++
	}
	if c != nil && len(c.Doc.Text) >= blobOver {
		blobs++
	}
	return blobs
}

// checkDue compares the whole index, byte for byte.
func checkDue(t *rapid.T, s *Store, want []string) {
	var got []string
	slices.Sort(want)
	must(t, scanKeys(s.db, ofKind(kindDue), func(key, _ []byte) error {
		got = append(got, string(key))
		return nil
	}))
	if !slices.Equal(got, want) {
		t.Fatalf("due is %q, want %q", got, want)
	}
	if addresses, next, err := s.DueInboxes(time.UnixMilli(1<<50), 1000); err != nil || !next.IsZero() || len(addresses) != len(want) {
		t.Fatalf("due are %v, next %v, %v; want %q", addresses, next, err, want)
	}
}

func (m *model) checkOutbox(t *rapid.T) {
	got, err := m.s.Outbox(1 << 20)
	must(t, err)
	want := map[string]inbox.PublicEvent{}
	for _, ev := range got {
		want[string(outboxKey(nil, &ev))] = ev
	}
	if len(got) != len(want) || !reflect.DeepEqual(want, m.outbox) {
		t.Fatalf("outbox is\n%+v\nwant\n%+v", want, m.outbox)
	}
}

func TestInboxRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		s, err := Open(folder, options(fs))
		must(t, err)
		m := &model{fs: fs, s: s, inboxes: map[string]*modelInbox{}, outbox: map[string]inbox.PublicEvent{}}
		defer func() { must(t, m.s.Close()) }()
		t.Repeat(map[string]func(*rapid.T){
			"commit": m.commit, "outbox": m.dropOutbox, "flush": m.flush, "reopen": m.reopen, "": m.check,
		})
	})
}

func TestContentRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genContent.Draw(t, "content")
		var buf bytes.Buffer
		var rec contentRecord
		rec.copyFrom(want, false, new(authRecord))
		must(t, encodeRecord(&buf, &rec))
		var back contentRecord
		must(t, decodeRecord(buf.Bytes(), &back))
		if got := back.toContent(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}
