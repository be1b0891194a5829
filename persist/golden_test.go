package persist

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
	"inboxd/internal/mail/message"
)

// update rewrites the golden files. Use it only for a form that no release has written.
var update = flag.Bool("update", false, "write testdata/golden anew")

var (
	goldenID   = account.ID{0x01, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	goldenHash = account.HashToken([]byte("token"))

	goldenRecipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
	goldenTime      = time.UnixMilli(1_795_212_345_678).UTC()
)

const goldenAddress = "ada@example.org"

func goldenProfile() inbox.Profile {
	return inbox.Profile{Address: goldenAddress, Account: goldenID, Label: "Ada", RetentionHours: 24, CreatedAt: goldenTime,
		DeletedAt: goldenTime.Add(time.Hour), LastID: 300, LastEvent: 301, DueAt: goldenTime.Add(time.Minute)}
}

// goldenKeeps is an inbox that replaces its oldest messages.
func goldenKeeps() inbox.Profile {
	p := goldenProfile()
	p.KeepNewest = true
	return p
}

func goldenMessage() *inbox.Message {
	return &inbox.Message{ID: 300, Direction: inbox.In, ReceivedAt: goldenTime, ExpiresAt: goldenTime.Add(24 * time.Hour),
		From: message.Mailbox{Email: "bob@example.net", Name: "Bob"}, EnvelopeTo: "ada+x@example.org", Subject: "Your code", OTP: "123456",
		Size: 2048, IsRead: true, RepeatDigest: &inbox.MessageDigest{1, 2, 3}}
}

// goldenSealed is a message of an encrypted inbox.
func goldenSealed() *inbox.Message {
	return &inbox.Message{ID: 300, Direction: inbox.In, ReceivedAt: goldenTime, ExpiresAt: goldenTime.Add(24 * time.Hour),
		From: message.Mailbox{Email: "bob@example.net"}, EnvelopeTo: "ada+x@example.org", Size: 2048, EncryptedState: &inbox.EncryptedState{RepeatDigest: inbox.MessageDigest{4, 5, 6}, MaxFileID: 2}}
}

// goldenNamed is a message to several recipients of its inbox.
func goldenNamed() *inbox.Message {
	m := goldenMessage()
	m.NamedRecipients = &[]string{"ada+x@example.org", goldenAddress}
	return m
}

func goldenContent() *inbox.Content {
	box := message.Mailbox{Email: "bob@example.net", Name: "Bob"}
	return &inbox.Content{
		Doc: message.ParsedMessage{Subject: "Your code", From: box, To: []message.Mailbox{{Email: goldenAddress}}, Cc: []message.Mailbox{box}, ReplyTo: []message.Mailbox{box},
			Date: goldenTime, MessageID: "m@x", InReplyTo: "n@x", References: []string{"n@x"}, Headers: []message.Header{{Name: "Subject", Value: "Your code"}},
			Text: "123456", HTML: "<b>123456</b>", HasHTML: true,
			Attachments: []message.Attachment{{ID: 1, Filename: "a.pdf", ContentType: "application/pdf", Size: 99, Truncated: true}},
			Links:       []string{"https://example.org/"}, TextFromHTML: true, TextCut: true, IsDegraded: true},
		OTP: inbox.OTP{Code: "123456", Confidence: 0.95, Source: "subject", Origin: "text", Candidates: []string{"123456"}, VerificationLink: "https://example.org/v"},
	}
}

var goldenAuth = inbox.Auth{
	CheckingServer: "example.org", SPF: inbox.AuthResult{ResultKeyword: "pass", Domain: "mx.example.net"}, DKIM: inbox.AuthResult{ResultKeyword: "fail", Domain: "example.net"},
	DMARC: inbox.AuthResult{ResultKeyword: "none"}, HELO: true,
	Signatures: []inbox.AuthSignature{{Word: "fail", Domain: "example.net", Selector: "s1", Algorithm: "ed25519-sha256"}, {Word: "permerror"}},
}

func goldenPublic() inbox.PublicEvent {
	return inbox.PublicEvent{SequenceNumber: 301, EventName: "message.received", Account: goldenID, Address: goldenAddress, MessageID: 300, At: goldenTime,
		From: "bob@example.net", Subject: "Your code", OTP: "123456"}
}

func goldenSent() inbox.PublicEvent {
	return inbox.PublicEvent{SequenceNumber: 302, EventName: "message.failed", Account: goldenID, Address: goldenAddress, MessageID: 301, At: goldenTime,
		To: []string{"bob@example.net", "eve@example.net"}, SendStatus: "failed", SendError: "550 no such user"}
}

func goldenTagged() inbox.PublicEvent {
	p := goldenPublic()
	p.EnvelopeTo = "ada+shop@example.org"
	return p
}

func goldenTags() inbox.PublicEvent {
	p := goldenTagged()
	p.NamedRecipients = []string{"ada+shop@example.org", "ada+bank@example.org"}
	return p
}

func goldenOutcomes() inbox.PublicEvent {
	p := goldenSent()
	p.Recipients = []delivery.RecipientState{{Email: "bob@example.net", Status: delivery.StatusFailed}, {Email: "eve@example.net", Status: delivery.StatusSent}}
	return p
}

func goldenMeeting() inbox.PublicEvent {
	guest := calendar.Attendee{Person: icalendar.Person{Email: "eve@example.net", Name: "Eve"}, Role: "opt-participant", ParticipationStatus: "accepted"}
	return inbox.PublicEvent{SequenceNumber: 303, EventName: "calendar.attendee.responded", Account: goldenID, Address: goldenAddress, MessageID: 302, At: goldenTime, Encrypted: true,
		Attendee: &guest, Meeting: &calendar.Meeting{
			Event: icalendar.Event{
				UID: "u@example.org", Title: "Plan", Start: goldenTime, End: goldenTime.Add(time.Hour), AllDay: true, TimeZone: zone.Zone{Name: "Europe/Berlin"},
				Location: "Room 1", Description: "Numbers", Organizer: &icalendar.Person{Email: goldenAddress, Name: "Ada"}, Attendees: []calendar.Attendee{guest},
				Status: "confirmed", Sequence: 2,
			},
			ID: 5, Source: "outbound", MyStatus: "accepted", CreatedAt: goldenTime, UpdatedAt: goldenTime.Add(time.Minute),
		}}
}

// goldenKept is a meeting with every field set.
func goldenKept() calendar.Meeting {
	m := *goldenMeeting().Meeting
	m.ID = 0
	m.Attendees = []calendar.Attendee{{Person: icalendar.Person{Email: "room@example.net"}, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.StatusDeclined, UserType: "ROOM", ResponseRequested: true}}
	m.TimeZone = zone.Zone{Observances: []zone.Observance{{Start: goldenTime, From: 3600, To: 7200, Rule: "FREQ=YEARLY", Dates: []time.Time{goldenTime}}}}
	m.Recurrence = &icalendar.Recurrence{Rule: "FREQ=DAILY", ExceptionDates: []time.Time{goldenTime}, AdditionalDates: []time.Time{goldenTime.Add(time.Hour)}, Overrides: []icalendar.Override{
		{RecurrenceID: goldenTime, Start: goldenTime.Add(time.Hour), End: goldenTime.Add(2 * time.Hour), AllDay: true, Title: "Later", Location: "Room 2", Status: icalendar.StatusCancelled},
	}}
	m.StampedAt, m.RecurrenceID, m.Comment = goldenTime.Add(time.Second), goldenTime.Add(2*time.Second), "Fine"
	m.Version, m.FirstMessageID, m.AskedSequence, m.AuthorizedMailbox, m.MailboxAuthenticated, m.IsPublished = 3, "m@example.org", 1, "boss@example.net", true, true
	m.LastAnswers = []calendar.GuestAnswer{{Email: "eve@example.net", Stamp: goldenTime}}
	m.OccurrenceRevisions = []calendar.OccurrenceRevision{{RecurrenceID: goldenTime, Sequence: 4, Stamp: goldenTime.Add(time.Minute), FromWholeMeeting: true}}
	m.OwnerCopy, m.RemoveAt = calendar.OwnerCopy{ChangeCount: 2, LastSentChange: 1}, goldenTime.Add(30*24*time.Hour)
	return m
}

// goldenAlone is a meeting with one remaining occurrence, of which nobody was notified yet.
func goldenAlone() calendar.Meeting {
	m := goldenKept()
	m.OccurrenceRevisions[0].Detail = &calendar.OccurrenceDetail{Zone: m.TimeZone, Description: "Alone", Organizer: m.Organizer, Attendees: m.Attendees}
	m.CancelledRevision, m.OnlyCancelled = &icalendar.Revision{Sequence: 3, StampedAt: goldenTime}, true
	return m
}

// goldenTold is a meeting whose owner got a copy with one reply and is due another.
func goldenTold() calendar.Meeting {
	m := goldenAlone()
	m.OwnerCopy = calendar.OwnerCopy{ChangeCount: 5, LastSentChange: 4, LastClientChange: 3, AnswersAt: goldenTime}
	return m
}

// goldenForeign is a meeting with the additional fields of other people's calendars.
func goldenForeign() calendar.Meeting {
	m := goldenAlone()
	m.Organizer = &icalendar.Person{Email: "boss@example.net", Name: "Boss", URI: "mailto:2_GEYT@imip.example.net"}
	m.Attendees = []calendar.Attendee{{Person: icalendar.Person{Email: goldenAddress, URI: "/principal/"}, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.StatusAccepted}}
	m.SentBy, m.IsTransparent, m.JoinURL = "desk@example.net", true, "https://meet.example.net/1"
	m.Recurrence.Overrides[0].IsTransparent = true
	m.OccurrenceRevisions[0].Detail.Organizer = m.Organizer
	return m
}

// goldenAnswered is a meeting with the stored facts of its messages.
func goldenAnswered() calendar.Meeting {
	m := goldenForeign()
	m.LastMessage, m.RespondedAt = 15, goldenTime.Add(time.Minute)
	return m
}

func goldenCalendar() *calendar.Book {
	return &calendar.Book{LastID: 7, ChangedAt: goldenTime, CopySetting: calendar.CopySetting{Enabled: true, Blocked: true},
		Feed: &calendar.SubscriptionLink{TokenHash: goldenHash, EncryptedToken: []byte{1, 2, 3}, FetchedAt: goldenTime.Add(time.Hour), LastClient: "Thunderbird", LastChangeFetched: goldenTime}}
}

func goldenSentMessage() *inbox.Message {
	return &inbox.Message{ID: 301, Direction: inbox.Out, ReceivedAt: goldenTime, ExpiresAt: goldenTime.Add(24 * time.Hour),
		From: message.Mailbox{Email: goldenAddress, Name: "Ada"}, Subject: "Hello", Size: 512, IsRead: true, ThreadKey: 0xfedcba9876543210,
		OutgoingDelivery: &inbox.OutgoingDelivery{Status: delivery.StatusRetrying, AttemptCount: 2, NextDue: goldenTime.Add(time.Minute), AttemptLeased: true, SigningResult: inbox.MessageSigned, ServiceWritten: true,
			Recipients: []inbox.OutgoingRecipient{
				{RecipientState: delivery.RecipientState{Email: "bob@example.net", Status: delivery.StatusRetrying, Error: "451 later"}, Bcc: true, MX: "mx.example.net", At: goldenTime},
				{RecipientState: delivery.RecipientState{Email: "eve@example.net", Status: delivery.StatusSent}},
			}}}
}

func goldenHiddenMessage() *inbox.Message {
	m := goldenSentMessage()
	m.IsHidden = true
	return m
}

// goldenCopy is an owner's copy that waits.
func goldenCopy() *inbox.Message {
	m := goldenHiddenMessage()
	m.OutgoingDelivery.ServiceWritten, m.OutgoingDelivery.CopyOfMeeting = false, 7
	return m
}

func goldenKey() *account.APIKey {
	return &account.APIKey{ID: 7, Hash: goldenHash, Kind: account.KindInboxKey, Label: "ci", Scopes: account.ScopeRead | account.ScopeSend, Prefix: "svc_sk_abc",
		Inbox: goldenAddress, CreatedAt: goldenTime, ExpiresAt: goldenTime.Add(time.Hour), LastUsedAt: goldenTime.Add(time.Minute)}
}

func goldenAccount() account.Profile {
	return account.Profile{ID: goldenID, Email: "ada@example.com", PasswordHash: "$argon2id$", Plan: account.PlanPaid, CreatedAt: goldenTime, LiveInboxes: 3, LastKey: 7,
		AccountKeys: 2, InboxKeys: 4, ClosingAt: goldenTime.Add(time.Hour)}
}

func goldenReservation() account.InboxReservation {
	return account.InboxReservation{At: goldenTime, Label: "Ada", RetentionHours: 24, IdempotencyKey: idempotency.RequestKey(goldenHash)}
}

func goldenRequest() *idempotency.Record {
	return &idempotency.Record{Request: idempotency.Request{Key: idempotency.RequestKey(goldenHash), Digest: idempotency.BodyDigest{1, 2, 3}}, At: goldenTime,
		FirstResult: idempotency.FirstResult{Address: goldenAddress, EncodedResponse: []byte("{}")}}
}

func goldenDomain() *domain.State {
	return &domain.State{Name: "example.org", Account: goldenID, OwnershipToken: "token", Status: domain.StatusFailing, FoundRecords: domain.MX | domain.DMARC,
		Keys:      []domain.DKIMKey{{Selector: "r20261121", Algorithm: domain.RSA, Public: []byte{1, 2}, Encrypted: []byte{3, 4}}, {Selector: "e20261121", Algorithm: domain.Ed25519}},
		ClaimedAt: goldenTime, VerifiedAt: goldenTime.Add(time.Second), CheckedAt: goldenTime.Add(time.Hour), MissingSince: goldenTime.Add(time.Minute), InboxCount: 7}
}

func goldenDelivery() webhook.Delivery {
	return webhook.Delivery{
		Account: goldenID, ID: 300, Webhook: 7, EventID: "evt_x", Event: webhook.MessageReceived, Inbox: goldenAddress, Body: []byte("{}"), At: goldenTime,
		URL: "https://example.com/hook", State: webhook.StateRetrying, AttemptCount: 4, AttemptsBefore: 3, NextAt: goldenTime.Add(time.Minute),
		LastAttempt: webhook.DeliveryAttempt{At: goldenTime.Add(time.Second), ReceiverResponse: webhook.ReceiverResponse{Status: 500, Duration: 12 * time.Millisecond, Error: "The receiver answered 500", BodyExcerpt: "oops"}},
	}
}

// goldenWebhook has placeholders for its secrets, because encryption never gives the same result
// twice.
func goldenWebhook() webhookRecord {
	return webhookRecord{"https://example.com/hook", "*", goldenAddress, []byte{1, 2, 3}, stampOf(goldenTime), []byte{4, 5, 6}, stampOf(goldenTime.Add(time.Hour))}
}

// goldens lists every form on disk: what is written now, and what reading it must return.
func goldens() map[string]struct {
	bytes []byte
	read  func([]byte) (any, error)
	want  any
} {
	type golden = struct {
		bytes []byte
		read  func([]byte) (any, error)
		want  any
	}
	record := func(rec any) []byte {
		var buf bytes.Buffer
		if err := encodeRecord(&buf, rec); err != nil {
			panic(err)
		}
		return buf.Bytes()
	}
	var profile profileRecord
	p := goldenProfile()
	profile.copyFrom(&p)
	var keeps profileRecord
	k := goldenKeeps()
	keeps.copyFrom(&k)
	var row messageRecord
	row.copyFrom(goldenMessage())
	var content contentRecord
	content.copyFrom(goldenContent(), false, new(authRecord))
	var auth authRecord
	auth.copyFrom(&goldenAuth)
	var public publicRecord
	ev := goldenPublic()
	public.copyFrom(&ev)
	var sent publicRecord
	sentEv := goldenSent()
	sent.copyFrom(&sentEv)
	var outcomes publicRecord
	outcomesEv := goldenOutcomes()
	outcomes.copyFrom(&outcomesEv)
	var gone publicRecord
	goneEv := goldenOutcomes()
	goneEv.RedactDeleted()
	gone.copyFrom(&goneEv)
	var tagged publicRecord
	taggedEv := goldenTagged()
	tagged.copyFrom(&taggedEv)
	var tags publicRecord
	tagsEv := goldenTags()
	tags.copyFrom(&tagsEv)
	var named messageRecord
	named.copyFrom(goldenNamed())
	var met publicRecord
	metEv := goldenMeeting()
	met.copyFrom(&metEv)
	kept, alone, book := recordMeeting(goldenKept()), recordMeeting(goldenAlone()), new(calendarRecord)
	book.copyFrom(goldenCalendar())
	cleared, clearedBook := goldenCalendar(), new(calendarRecord)
	cleared.RemovedMeetings = []calendar.RemovedMeeting{{UID: 0x0123456789abcdef, ForgetAt: time.Unix(1_800_000_000, 0).UTC()}, {UID: 1, ForgetAt: time.Unix(1_800_000_001, 0).UTC()}}
	clearedBook.copyFrom(cleared)
	bound, boundBook := goldenCalendar(), new(calendarRecord)
	bound.Feed.CreatorKey = goldenHash
	boundBook.copyFrom(bound)
	followed, followedBook := goldenCalendar(), new(calendarRecord)
	followed.Feed.CreatedAt, followed.Feed.FetchCount = goldenTime, 3
	followedBook.copyFrom(followed)
	invited := goldenContent()
	invited.Calendar = &calendar.MessageEvent{Meeting: *goldenMeeting().Meeting, Action: calendar.ActionReplied}
	var invitation contentRecord
	invitation.copyFrom(invited, false, new(authRecord))
	answered := recordMeeting(goldenAnswered())
	foreign, several := recordMeeting(goldenForeign()), goldenContent()
	copied := recordMeeting(goldenTold())
	several.Calendar = &calendar.MessageEvent{Meeting: *goldenMeeting().Meeting, Action: calendar.ActionUnchanged, Method: "PUBLISH", RefusalReason: calendar.RefusedStale}
	several.MoreCalendar = []*calendar.MessageEvent{{Meeting: *goldenMeeting().Meeting, Action: calendar.ActionCreated, Method: "PUBLISH"}}
	var flights contentRecord
	flights.copyFrom(several, false, new(authRecord))
	meets := goldenProfile()
	meets.HasCalendar = true
	var meetsProfile profileRecord
	meetsProfile.copyFrom(&meets)
	var sentRow messageRecord
	sentRow.copyFrom(goldenSentMessage())
	var hiddenRow messageRecord
	hiddenRow.copyFrom(goldenHiddenMessage())
	var copyRow messageRecord
	copyRow.copyFrom(goldenCopy())
	var key keyRecord
	key.copyFrom(goldenKey())
	endedKey := goldenKey()
	endedKey.SeenExpired = true
	var ended keyRecord
	ended.copyFrom(endedKey)
	clocked := ended
	clocked.ClockSeen = stampOf(goldenTime)
	var acc accountRecord
	a := goldenAccount()
	acc.copyFrom(&a)
	var dom domainRecord
	dom.copyFrom(goldenDomain())
	var reserved reservedRecord
	reservation := goldenReservation()
	reserved.copyFrom(&reservation)
	claiming, counted, claim := goldenAccount(), goldenReservation(), account.SubdomainClaim{Label: "fleet", IsRandom: true, SerialNumber: 42, InboxCount: 3, EndedAt: goldenTime}
	claiming.LastClaim, claiming.Subdomains, counted.ClaimNumber = 42, 5, 42
	var accClaims accountRecord
	accClaims.copyFrom(&claiming)
	var reservedClaim reservedRecord
	reservedClaim.copyFrom(&counted)
	holding := account.NameHolder{Account: goldenID, ClaimNumber: 42}
	var reservedKeeps reservedRecord
	keeping := goldenReservation()
	keeping.KeepNewest = true
	reservedKeeps.copyFrom(&keeping)
	var reservedEncrypted reservedRecord
	encrypting, sealing := goldenReservation(), goldenAccount()
	encrypting.Encrypted = true
	reservedEncrypted.copyFrom(&encrypting)
	sealing.Encryption = account.EncryptionState{PublicKey: goldenRecipient, SetAt: goldenTime, EncryptedInboxes: 2}
	var accEncryption accountRecord
	accEncryption.copyFrom(&sealing)
	unverified := goldenAccount()
	unverified.EndedKeys, unverified.EmailUnverified = 7, true
	var accUnverified accountRecord
	accUnverified.copyFrom(&unverified)
	request := goldenRequest()
	var known requestRecord
	known.copyFrom(request)
	hook, delivery := goldenWebhook(), goldenDelivery()
	var reported deliveryRecord
	reported.copyFrom(&delivery)
	tried := goldenDelivery()
	tried.RestartedAt = goldenTime.Add(-time.Minute)
	tried.PastAttempts = []webhook.StoredAttempt{{DeliveryAttempt: tried.LastAttempt, URL: "https://example.com/old", State: webhook.StateFailed}, {DeliveryAttempt: webhook.DeliveryAttempt{At: goldenTime}, State: webhook.StateRetrying, NextAt: goldenTime.Add(time.Second)}}
	var triedRecord deliveryRecord
	triedRecord.copyFrom(&tried)
	encrypted, secretDelivery := goldenProfile(), goldenDelivery()
	encrypted.Encrypted, secretDelivery.MessageID = true, 300
	var sealedProfile profileRecord
	sealedProfile.copyFrom(&encrypted)
	var sealedMessage messageRecord
	sealedMessage.copyFrom(goldenSealed())
	var encryptedDelivery deliveryRecord
	encryptedDelivery.copyFrom(&secretDelivery)
	entry := account.InboxEntry{Address: goldenAddress, CreatedAt: goldenTime, IsLive: true}
	decodeListed := func(b []byte) (any, error) { return readListedMark(b) }
	return map[string]golden{
		"record-profile": {record(&profile), func(b []byte) (any, error) {
			var r profileRecord
			err := decodeRecord(b, &r)
			return r.toProfile(goldenAddress), err
		}, p},
		"record-profile-keeps": {record(&keeps), func(b []byte) (any, error) {
			var r profileRecord
			err := decodeRecord(b, &r)
			return r.toProfile(goldenAddress), err
		}, k},
		"record-profile-calendar": {record(&meetsProfile), func(b []byte) (any, error) {
			var r profileRecord
			err := decodeRecord(b, &r)
			return r.toProfile(goldenAddress), err
		}, meets},
		"record-profile-encrypted": {record(&sealedProfile), func(b []byte) (any, error) {
			var r profileRecord
			err := decodeRecord(b, &r)
			return r.toProfile(goldenAddress), err
		}, encrypted},
		"record-message-sealed": {record(&sealedMessage), func(b []byte) (any, error) {
			var r messageRecord
			err := decodeRecord(b, &r)
			return r.toMessage(300), err
		}, goldenSealed()},
		"record-message-named": {record(&named), func(b []byte) (any, error) {
			var r messageRecord
			err := decodeRecord(b, &r)
			return r.toMessage(300), err
		}, goldenNamed()},
		"record-public-tags": {record(&tags), func(b []byte) (any, error) {
			var r publicRecord
			err := decodeRecord(b, &r)
			return r.toPublic(), err
		}, tagsEv},
		"record-delivery-encrypted": {record(&encryptedDelivery), func(b []byte) (any, error) {
			var r deliveryRecord
			err := decodeRecord(b, &r)
			return r.toDelivery(secretDelivery.Account, secretDelivery.ID), err
		}, secretDelivery},
		"key-file":        {fileKey(goldenAddress, 300, 2), nil, nil},
		"key-queued-copy": {queuedKey(goldenAddress, 301), nil, nil},
		"key-blob-file":   {blobKey(nil, goldenAddress, 300, blobFile|2), nil, nil},
		"key-blob-queued": {blobKey(nil, goldenAddress, 301, blobQueued), nil, nil},
		"record-calendar": {record(book), func(b []byte) (any, error) {
			var r calendarRecord
			err := decodeRecord(b, &r)
			return r.toBook(), err
		}, goldenCalendar()},
		"record-calendar-removed": {record(clearedBook), func(b []byte) (any, error) {
			var r calendarRecord
			err := decodeRecord(b, &r)
			return r.toBook(), err
		}, cleared},
		"record-calendar-bound": {record(boundBook), func(b []byte) (any, error) {
			var r calendarRecord
			err := decodeRecord(b, &r)
			return r.toBook(), err
		}, bound},
		"record-calendar-followed": {record(followedBook), func(b []byte) (any, error) {
			var r calendarRecord
			err := decodeRecord(b, &r)
			return r.toBook(), err
		}, followed},
		"record-meeting": {record(&kept), func(b []byte) (any, error) {
			var r meetingRecord
			err := decodeRecord(b, &r)
			return r.toMeeting(), err
		}, goldenKept()},
		"record-meeting-alone": {record(&alone), func(b []byte) (any, error) {
			var r meetingRecord
			err := decodeRecord(b, &r)
			return r.toMeeting(), err
		}, goldenAlone()},
		"record-meeting-answered": {record(&answered), func(b []byte) (any, error) {
			var r meetingRecord
			err := decodeRecord(b, &r)
			return r.toMeeting(), err
		}, goldenAnswered()},
		"record-meeting-foreign": {record(&foreign), func(b []byte) (any, error) {
			var r meetingRecord
			err := decodeRecord(b, &r)
			return r.toMeeting(), err
		}, goldenForeign()},
		"record-meeting-told": {record(&copied), func(b []byte) (any, error) {
			var r meetingRecord
			err := decodeRecord(b, &r)
			return r.toMeeting(), err
		}, goldenTold()},
		"record-content-calendars": {record(&flights), func(b []byte) (any, error) {
			var r contentRecord
			err := decodeRecord(b, &r)
			return r.toContent(), err
		}, several},
		"record-content-calendar": {record(&invitation), func(b []byte) (any, error) {
			var r contentRecord
			err := decodeRecord(b, &r)
			return r.toContent(), err
		}, invited},
		"key-calendar": {calendarKey(nil, goldenAddress, partCalendar), nil, nil},
		"key-meeting":  {meetingKey(nil, goldenAddress, 300), nil, nil},
		"record-message": {record(&row), func(b []byte) (any, error) {
			var r messageRecord
			err := decodeRecord(b, &r)
			return r.toMessage(300), err
		}, goldenMessage()},
		"record-content": {record(&content), func(b []byte) (any, error) {
			var r contentRecord
			err := decodeRecord(b, &r)
			return r.toContent(), err
		}, goldenContent()},
		"record-public": {record(&public), func(b []byte) (any, error) {
			var r publicRecord
			err := decodeRecord(b, &r)
			return r.toPublic(), err
		}, ev},
		"record-public-sent": {record(&sent), func(b []byte) (any, error) {
			var r publicRecord
			err := decodeRecord(b, &r)
			return r.toPublic(), err
		}, sentEv},
		"record-public-tagged": {record(&tagged), func(b []byte) (any, error) {
			var r publicRecord
			err := decodeRecord(b, &r)
			return r.toPublic(), err
		}, taggedEv},
		"record-public-outcomes": {record(&outcomes), func(b []byte) (any, error) {
			var r publicRecord
			err := decodeRecord(b, &r)
			return r.toPublic(), err
		}, outcomesEv},
		"record-public-gone": {record(&gone), func(b []byte) (any, error) {
			var r publicRecord
			err := decodeRecord(b, &r)
			return r.toPublic(), err
		}, goneEv},
		"record-public-meeting": {record(&met), func(b []byte) (any, error) {
			var r publicRecord
			err := decodeRecord(b, &r)
			return r.toPublic(), err
		}, metEv},
		"record-key-ended": {record(&ended), func(b []byte) (any, error) {
			var r keyRecord
			err := decodeRecord(b, &r)
			return r.toKey(7), err
		}, endedKey},
		"record-key": {record(&key), func(b []byte) (any, error) {
			var r keyRecord
			err := decodeRecord(b, &r)
			return r.toKey(7), err
		}, goldenKey()},
		"record-account": {record(&acc), func(b []byte) (any, error) {
			var r accountRecord
			err := decodeRecord(b, &r)
			return r.toProfile(goldenID), err
		}, a},
		"record-account-claims": {record(&accClaims), func(b []byte) (any, error) {
			var r accountRecord
			err := decodeRecord(b, &r)
			return r.toProfile(goldenID), err
		}, claiming},
		"record-account-encryption": {record(&accEncryption), func(b []byte) (any, error) {
			var r accountRecord
			err := decodeRecord(b, &r)
			return r.toProfile(goldenID), err
		}, sealing},
		"record-account-unverified": {record(&accUnverified), func(b []byte) (any, error) {
			var r accountRecord
			err := decodeRecord(b, &r)
			return r.toProfile(goldenID), err
		}, unverified},
		"record-reserved-encrypted": {record(&reservedEncrypted), func(b []byte) (any, error) {
			var r reservedRecord
			err := decodeRecord(b, &r)
			return r.toReservation(), err
		}, encrypting},
		"value-list-encrypted": {listValue(account.InboxEntry{Encrypted: true}), func(b []byte) (any, error) {
			return readListed(listKey(goldenID, entry)[prefixLen+idLen:], b).Encrypted, nil
		}, true},
		"record-reserved-claim": {record(&reservedClaim), func(b []byte) (any, error) {
			var r reservedRecord
			err := decodeRecord(b, &r)
			return r.toReservation(), err
		}, counted},
		"record-claim":    {record(&claimRecord{42, 3, stampOf(goldenTime)}), func(b []byte) (any, error) { return readClaim([]byte("\x01fleet"), b) }, claim},
		"key-claim":       {claimKey(goldenID, account.SubdomainClaim{Label: "fleet"}), nil, nil},
		"key-claim-drawn": {claimKey(goldenID, claim), nil, nil},
		"value-holding":   {holdingValue(holding), func(b []byte) (any, error) { return readHolding(b) }, holding},
		"value-holding-1": {accountValue(goldenID), func(b []byte) (any, error) { return readHolding(b) }, account.NameHolder{Account: goldenID}}, // of an e-mail address, or before claims
		"record-session": {record(&sessionRecord{stampOf(goldenTime), epochStamp, 0}), func(b []byte) (any, error) {
			var r sessionRecord
			err := decodeRecord(b, &r)
			return [2]time.Time{r.CreatedAt.toTime(), r.ExpiresAt.toTime()}, err
		}, [2]time.Time{goldenTime, time.UnixMilli(0).UTC()}},
		"record-reserved": {record(&reserved), func(b []byte) (any, error) {
			var r reservedRecord
			err := decodeRecord(b, &r)
			return r.toReservation(), err
		}, reservation},
		"record-reserved-keeps": {record(&reservedKeeps), func(b []byte) (any, error) {
			var r reservedRecord
			err := decodeRecord(b, &r)
			return r.toReservation(), err
		}, keeping},
		"record-key-clock":     {record(&clocked), nil, nil},
		"record-session-clock": {record(&sessionRecord{stampOf(goldenTime), epochStamp, stampOf(goldenTime)}), nil, nil},
		"record-reset-clock":   {record(&resetRecord{ExpiresAt: stampOf(goldenTime), ClockSeen: stampOf(goldenTime)}), nil, nil},
		"record-reset-verify":  {record(&resetRecord{ExpiresAt: stampOf(goldenTime), VerifiesEmail: true}), nil, nil},
		"record-reset":         {record(&resetRecord{ExpiresAt: stampOf(goldenTime)}), nil, nil},
		"record-once": {record(&known), func(b []byte) (any, error) {
			var r requestRecord
			err := decodeRecord(b, &r)
			return r.toRecord(request.Key, goldenTime), err
		}, request},
		"key-reset":           {append(appendPart(nil, goldenID, partReset), goldenHash[:]...), nil, nil},
		"key-once-account":    {requestKey(accountRequests(goldenID), request.Key, goldenTime), nil, nil},
		"key-once-inbox":      {requestKey(inboxRequests(goldenAddress), request.Key, goldenTime), nil, nil},
		"key-inboxkey":        {inboxKeyKey(goldenID, goldenAddress), nil, nil},
		"key-closing":         {appendOwner(nil, kindClosing, goldenID), nil, nil},
		"value-domain-list":   {listedValue(goldenTime), decodeListed, goldenTime},
		"value-domain-list-1": {[]byte{recordVersion}, decodeListed, time.Time{}}, // before marks existed
		"value-attached":      {attachedValue([]time.Time{goldenTime}), decodeAttached, []time.Time{goldenTime}},
		"value-attached-1":    {[]byte{recordVersion}, decodeAttached, []time.Time{{}}}, // before times existed
		"value-key":           {keyedValue(goldenID[:], 7), nil, nil},
		"record-blob":         {record(&goldenBlob), decodeBlob, goldenBlob},
		"record-blob-shared":  {record(&goldenSharedBlob), decodeBlob, goldenSharedBlob},
		"record-message-sent": {record(&sentRow), func(b []byte) (any, error) {
			var r messageRecord
			err := decodeRecord(b, &r)
			return r.toMessage(301), err
		}, goldenSentMessage()},
		"record-message-copy": {record(&copyRow), func(b []byte) (any, error) {
			var r messageRecord
			err := decodeRecord(b, &r)
			return r.toMessage(301), err
		}, goldenCopy()},
		"record-message-hidden": {record(&hiddenRow), func(b []byte) (any, error) {
			var r messageRecord
			err := decodeRecord(b, &r)
			return r.toMessage(301), err
		}, goldenHiddenMessage()},
		"record-mail-due": {record(&mailDueRecord{[]string{"far.test", "other.test"}, true, stampOf(goldenTime)}), func(b []byte) (any, error) {
			var r mailDueRecord
			err := decodeRecord(b, &r)
			return r, err
		}, mailDueRecord{[]string{"far.test", "other.test"}, true, stampOf(goldenTime)}},
		"record-suppression": {record(&suppressionRecord{goldenAddress, 301, "5.1.1 no such user", stampOf(goldenTime)}), func(b []byte) (any, error) {
			var r suppressionRecord
			err := decodeRecord(b, &r)
			return r.toSuppression("bob@example.net"), err
		}, account.Suppression{Email: "bob@example.net", Inbox: goldenAddress, Message: 301, Reason: "5.1.1 no such user", At: goldenTime}},
		"record-usage": {record(&usageRecord{20413, 99, 0}), func(b []byte) (any, error) {
			st := account.NewState()
			err := loadAccountRow(st, goldenID, []byte{partUsage}, b)
			return st.DailySends, err
		}, account.SendCount{UTCDay: 20413, Count: 99}},
		"record-usage-answers": {record(&usageRecord{20413, 99, 7}), func(b []byte) (any, error) {
			st := account.NewState()
			err := loadAccountRow(st, goldenID, []byte{partUsage}, b)
			return st.DailySends, err
		}, account.SendCount{UTCDay: 20413, Count: 99, AnswerCopies: 7}},
		"key-mail-due": {mailDueKey(goldenTime, goldenAddress, 301), func(b []byte) (any, error) { return readMailDue(b, []byte{recordVersion, 0xa0}) },
			inbox.QueueEntry{At: goldenTime, Address: goldenAddress, ID: 301}},
		"key-suppression": {suppressionKey(goldenID, "bob@example.net"), nil, nil},
		"key-usage":       {appendPart(nil, goldenID, partUsage), nil, nil},
		"key-signature":   {signatureKey(goldenAddress, 301), nil, nil},

		"key-inbox":      {appendText(nil, kindInbox, goldenAddress), nil, nil},
		"key-message":    {appendMessage(nil, kindInbox, goldenAddress, 300), nil, nil},
		"key-content":    {appendMessage(nil, kindContent, goldenAddress, 300), nil, nil},
		"key-raw":        {appendMessage(nil, kindRaw, goldenAddress, 300), nil, nil},
		"key-blob":       {append(appendMessage(nil, kindBlob, goldenAddress, 300), blobRaw), nil, nil},
		"key-due":        {inboxDueKey(goldenTime, goldenAddress), func(b []byte) (any, error) { return dueTime(b), nil }, goldenTime},
		"key-outbox":     {outboxKey(nil, &ev), nil, nil},
		"key-account":    {appendOwner(nil, kindAccount, goldenID), nil, nil},
		"key-key":        {keyKey(goldenID, 7), nil, nil},
		"key-session":    {append(appendPart(nil, goldenID, partSession), goldenHash[:]...), nil, nil},
		"key-reserved":   {append(appendPart(nil, goldenID, partReserved), goldenAddress...), nil, nil},
		"key-list":       {listKey(goldenID, entry), func(b []byte) (any, error) { return readListed(b[prefixLen+idLen:], nil), nil }, entry},
		"key-credential": {credentialKey(goldenID.HomePartition(), goldenHash), nil, nil},
		"key-link":       {linkKey(7, goldenHash), nil, nil},
		"key-copy-due":   {appendText(nil, kindCopyDue, goldenAddress), nil, nil},
		"key-spare":      {appendText(nil, kindSpare, goldenAddress), nil, nil},
		"key-email":      {appendText(nil, kindEmail, "ada@example.com"), nil, nil},
		"key-subdomain":  {appendText(nil, kindSubdomain, "fleet"), nil, nil},
		"record-content-unread": {record(&contentRecord{OTP: &otpRecord{Code: "482913"}, DocOmitted: true}), func(b []byte) (any, error) {
			var r contentRecord
			err := decodeRecord(b, &r)
			return r.toContent(), err
		}, &inbox.Content{OTP: inbox.OTP{Code: "482913"}, DocumentOmitted: true}},
		"record-domain": {record(&dom), func(b []byte) (any, error) {
			var r domainRecord
			err := decodeRecord(b, &r)
			return r.toState("example.org"), err
		}, goldenDomain()},
		"key-domain":      {appendText(nil, kindDomain, "example.org"), nil, nil},
		"key-attached":    {attachedKey("example.org", goldenAddress), nil, nil},
		"key-domain-list": {domainListKey(goldenID, "example.org"), nil, nil},

		"record-content-auth": {record(&contentRecord{DocOmitted: true, Auth: &auth}), func(b []byte) (any, error) {
			var r contentRecord
			err := decodeRecord(b, &r)
			return r.toContent(), err
		}, &inbox.Content{DocumentOmitted: true, Auth: goldenAuth}},
		"record-content-files": {record(&contentRecord{Attachments: []attachmentRecord{{ID: 13, Filename: "a.png", ContentType: "image/png", Size: 4, ContentID: "logo@x"}}, AttachmentsOmitted: 3}), func(b []byte) (any, error) {
			var r contentRecord
			err := decodeRecord(b, &r)
			return r.toContent(), err
		}, &inbox.Content{Doc: message.ParsedMessage{
			Attachments:        []message.Attachment{{ID: 13, Filename: "a.png", ContentType: "image/png", Size: 4, ContentID: "logo@x"}},
			AttachmentsOmitted: 3,
		}}},
		"record-content-spam": {record(&contentRecord{Spam: &spamRecord{RequiredScore: 15, IsSpam: true, Rules: []spamRuleRecord{{Name: "GTUBE", Weight: -0.25, Description: "test"}}}}), func(b []byte) (any, error) {
			var r contentRecord
			err := decodeRecord(b, &r)
			return r.toContent(), err
		}, &inbox.Content{Spam: &inbox.SpamVerdict{RequiredScore: 15, IsSpam: true, Rules: []inbox.SpamRule{{Name: "GTUBE", Weight: -0.25, Description: "test"}}}}},
		"record-webhook": {record(&hook), func(b []byte) (any, error) {
			var r webhookRecord
			err := decodeRecord(b, &r)
			return r, err
		}, goldenWebhook()},
		"record-webhook-last": {record(&lastCallRecord{stampOf(goldenTime), 204}), func(b []byte) (any, error) {
			var r lastCallRecord
			err := decodeRecord(b, &r)
			return r, err
		}, lastCallRecord{stampOf(goldenTime), 204}},
		"record-delivery-tried": {record(&triedRecord), func(b []byte) (any, error) {
			var r deliveryRecord
			err := decodeRecord(b, &r)
			return r.toDelivery(goldenID, 300), err
		}, tried},
		"record-delivery": {record(&reported), func(b []byte) (any, error) {
			var r deliveryRecord
			err := decodeRecord(b, &r)
			return r.toDelivery(goldenID, 300), err
		}, delivery},
		"key-webhook":      {webhookKey(goldenID, 7), nil, nil},
		"key-webhook-last": {lastCallKey(goldenID, 7), nil, nil},
		"key-delivery":     {deliveryKey(nil, goldenID, 300), nil, nil},
		"key-delivery-due": {deliveryDueKey(nil, goldenTime, goldenID, 300), func(b []byte) (any, error) { return readDeliveryDue(b, keyedValue(nil, 7)) },
			webhook.DueEntry{At: goldenTime, Account: goldenID, ID: 300, Webhook: 7}},
		"key-taken":    {takenKey(nil, goldenID, goldenAddress), nil, nil},
		"key-journal":  {journalKey(nil, goldenID, 42), nil, nil},
		"key-position": {appendPrefix(nil, kindPosition, 0xabc), nil, nil},
	}
}

// TestGolden pins every form of records, keys and files: old data folders stay readable, and the
// same value is written as the same bytes.
func TestGolden(t *testing.T) {
	for name, g := range goldens() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "golden", name+".hex")
			if *update {
				must(t, os.WriteFile(path, []byte(hex.EncodeToString(g.bytes)+"\n"), 0o644))
			}
			text, err := os.ReadFile(path)
			must(t, err)
			old, err := hex.DecodeString(string(bytes.TrimSpace(text)))
			must(t, err)
			if !bytes.Equal(g.bytes, old) {
				t.Errorf("is written as %x, the golden file has %x", g.bytes, old)
			}
			if g.read == nil {
				return
			}
			if got, err := g.read(old); err != nil || !reflect.DeepEqual(got, g.want) {
				t.Errorf("is read as %+v, %v; want %+v", got, err, g.want)
			}
		})
	}
}

// TestUnknownRecordVersion refuses what a later program may have written.
func TestUnknownRecordVersion(t *testing.T) {
	var r profileRecord
	for _, data := range [][]byte{nil, {2}, {0, 0xa0}, {recordVersion}, {recordVersion, 0xff}} {
		if err := decodeRecord(data, &r); err == nil {
			t.Errorf("record %x was read", data)
		}
	}
}

func decodeAttached(b []byte) (any, error) { return readAttached(b) }

var (
	goldenBlob       = blobRecord{BlobName: 0x0123456789abcdef, Size: 300_000, FileSum: 0xfedcba9876543210}
	goldenSharedBlob = blobRecord{
		BlobName: 0x0123456789abcdef, Size: 300_000, FileSum: 0xfedcba9876543210, IsShared: true,
		CalendarPart: &saidRecord{Action: "created"}, MoreCalendar: []saidRecord{{Action: "ignored", Reason: "sender not authenticated"}},
	}
)

func decodeBlob(b []byte) (any, error) {
	var r blobRecord
	err := decodeRecord(b, &r)
	return r, err
}
