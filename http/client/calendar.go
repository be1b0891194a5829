package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"
)

// Moment is a point in time, or a date: midnight in UTC, as the wire has it of all-day meetings.
type Moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Moment) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	form := time.RFC3339
	if len(s) == len(time.DateOnly) {
		form = time.DateOnly
	}
	at, err := time.Parse(form, s)
	m.Time = at
	return err
}

// Meeting is one that an inbox was invited to or organizes, as it is now.
type Meeting struct {
	ID          int64       `json:"id"`
	UID         string      `json:"uid"` // the same in every calendar
	Title       string      `json:"title"`
	Start       Moment      `json:"start"`
	End         Moment      `json:"end"` // of an all-day one the day after the last
	AllDay      bool        `json:"all_day"`
	Timezone    string      `json:"timezone"` // IANA name; empty: all-day, or not known by name
	Location    string      `json:"location"`
	Description string      `json:"description"`
	Organizer   *Mailbox    `json:"organizer"` // nil: nobody is named
	Attendees   []Attendee  `json:"attendees"` // guests alone
	Status      string      `json:"status"`    // confirmed, tentative, cancelled
	Source      string      `json:"source"`    // outbound: this inbox organizes it; inbound
	Sequence    int         `json:"sequence"`
	Recurring   bool        `json:"recurring"`
	MyStatus    string      `json:"my_status"` // this inbox's own answer; empty: it was not asked
	CreatedAt   *time.Time  `json:"created_at"`
	UpdatedAt   *time.Time  `json:"updated_at"`
	Recurrence  *Recurrence `json:"recurrence"` // nil: it takes place once
	Conflicts   []int64     `json:"conflicts"`  // by Meeting alone, of one to come: others at the same time

	LastMessageID *int64     `json:"last_message_id"` // that changed it last or notified its guests; nil: not known
	RespondedAt   *time.Time `json:"responded_at"`    // when this inbox answered last; nil: not yet

	TimezoneUnknown   bool   `json:"timezone_unknown"`   // times are by the file's own rules, else as if in UTC
	OrganizerVerified bool   `json:"organizer_verified"` // authenticated for the organizer, or organized here
	Transparency      string `json:"transparency"`       // opaque, or transparent: it makes nobody busy
	JoinURL           string `json:"join_url"`           // of its conference; empty: none

	Damaged bool `json:"-"` // the service's disk has lost it: nothing but its id is known
}

// Attendee is somebody who was asked to a meeting.
type Attendee struct {
	Mailbox
	Role   string `json:"role"`   // req-participant, opt-participant
	Status string `json:"status"` // accepted, declined, tentative, needs-action
}

// Recurrence says when a meeting takes place again.
type Recurrence struct {
	Rule      string     `json:"rrule"`   // RFC 5545 section 3.3.10; empty: dates alone
	Except    []Moment   `json:"exdates"` // not then
	Also      []Moment   `json:"rdates"`  // then besides
	Overrides []Override `json:"overrides"`
}

// Override is one occurrence that differs.
type Override struct {
	RecurrenceID Moment `json:"recurrence_id"` // when it would be
	Start        Moment `json:"start"`
	End          Moment `json:"end"`
	Title        string `json:"title"`
	Location     string `json:"location"`
	Status       string `json:"status"`
}

// Said is what a mail says of a meeting; it never changes, while the meeting moves on.
type Said struct {
	Meeting
	Action  string `json:"action"`   // created, updated, cancelled, replied, unchanged
	EventID *int64 `json:"event_id"` // nil: it belongs to none that is kept
	Method  string `json:"method"`   // of the calendar file: REQUEST, REPLY, CANCEL, ...
	Reason  string `json:"reason"`   // one word: why it did not count; empty: it did, or said nothing new
}

// Guest is somebody to invite.
type Guest struct {
	Email    string `json:"email"`
	Name     string `json:"name,omitempty"`
	Optional bool   `json:"optional,omitempty"` // need not come
}

// MeetingOrder is a meeting to invite to. Times are ISO 8601: with an offset, or without one and then
// in Timezone; dates when it is AllDay. Without End and DurationMinutes it takes 30 minutes, or a day.
type MeetingOrder struct {
	Title           string  `json:"title"`
	Start           string  `json:"start"`
	End             string  `json:"end,omitempty"`
	DurationMinutes int     `json:"duration_minutes,omitempty"`
	Timezone        string  `json:"timezone,omitempty"` // IANA name
	AllDay          bool    `json:"all_day,omitempty"`
	Location        string  `json:"location,omitempty"`
	Description     string  `json:"description,omitempty"`
	Attendees       []Guest `json:"attendees"`
	Message         string  `json:"message,omitempty"`     // stands in the mail alone
	InReplyTo       string  `json:"in_reply_to,omitempty"` // Message-ID that the invitation answers

	// IdempotencyKey makes a repeated order give the first answer again, for 24 hours; empty: one is
	// drawn for this call.
	IdempotencyKey string `json:"-"`
}

// MeetingChange is what Update changes; nil leaves a field as it is.
type MeetingChange struct {
	Title           *string `json:"title,omitempty"`
	Start           *string `json:"start,omitempty"` // alone it keeps the length
	End             *string `json:"end,omitempty"`
	DurationMinutes *int    `json:"duration_minutes,omitempty"`
	Timezone        *string `json:"timezone,omitempty"` // alone it changes how the time is shown, not when it is
	AllDay          *bool   `json:"all_day,omitempty"`
	Location        *string `json:"location,omitempty"`
	Description     *string `json:"description,omitempty"`
	Attendees       []Guest `json:"attendees,omitempty"` // all that there shall be; nil leaves them
	Message         string  `json:"message,omitempty"`
}

// Arranged is what became of an order: it is on disk, and a mail that tells of it is queued.
type Arranged struct {
	Event     Meeting `json:"event"`
	MessageID *int64  `json:"message_id"` // of that mail; nil: nobody was left to tell, or nothing changed
}

// Calendar is that of an inbox. It never changes, and any goroutine may use it.
type Calendar struct {
	client  *Client
	address string
}

// Calendar returns the calendar of the inbox at address; nothing is asked for yet.
func (c *Client) Calendar(address string) Calendar { return Calendar{c, address} }

func (c Calendar) path(rest ...string) string {
	return inboxPath(c.address, append([]string{"calendar"}, rest...)...)
}

// Schedule invites to a meeting that the inbox organizes. It needs email:send.
func (c Calendar) Schedule(ctx context.Context, order MeetingOrder) (Arranged, error) {
	return fetch[Arranged](ctx, c.client, call{method: "POST", path: c.path("events"), in: order, member: "event"}.named(order.IdempotencyKey))
}

// Update changes a meeting that the inbox organizes: 403 for any other. It needs email:send.
func (c Calendar) Update(ctx context.Context, id int64, change MeetingChange) (Arranged, error) {
	return fetch[Arranged](ctx, c.client, call{method: "PATCH", path: c.path("events", number(id)), in: change, member: "event"})
}

// Cancel cancels a meeting that the inbox organizes; message, which may be empty, stands in the
// mail to the guests. name makes a repeat give the first answer again, for 24 hours; empty: one is drawn.
// It needs email:send.
func (c Calendar) Cancel(ctx context.Context, id int64, message, name string) (Arranged, error) {
	in := struct {
		Message string `json:"message,omitempty"`
	}{message}
	return fetch[Arranged](ctx, c.client, call{method: "POST", path: c.path("events", number(id), "cancel"), in: in, member: "event"}.named(name))
}

// Remove takes a meeting out of this calendar. Nothing is sent, and no message brings it back for 30 days. It needs
// message:write.
func (c Calendar) Remove(ctx context.Context, id int64) error {
	return do(ctx, c.client, call{method: "DELETE", path: c.path("events", number(id)), harmless: true}, nil)
}

// Answer answers an invitation: accepted, declined or tentative, with a comment for the
// organizer, which may be empty. name is as for Cancel. It needs email:send.
func (c Calendar) Answer(ctx context.Context, id int64, response, comment, name string) (Arranged, error) {
	in := struct {
		Response string `json:"response"`
		Comment  string `json:"comment,omitempty"`
	}{response, comment}
	return fetch[Arranged](ctx, c.client, call{method: "POST", path: c.path("events", number(id), "rsvp"), in: in, member: "event"}.named(name))
}

// Meeting reads one meeting.
func (c Calendar) Meeting(ctx context.Context, id int64) (Meeting, error) {
	out, err := fetch[struct{ Event Meeting }](ctx, c.client, call{method: "GET", path: c.path("events", number(id)), member: "event"})
	return out.Event, err
}

// MeetingQuery narrows Meetings; its zero value takes all that are not cancelled.
type MeetingQuery struct {
	From, To  time.Time // only what overlaps; zero: open
	Cancelled bool      // cancelled ones too
}

// Meetings goes through the meetings of an inbox, soonest first; those that are damaged come behind the first
// page. It ends after an error.
func (c Calendar) Meetings(ctx context.Context, q MeetingQuery) iter.Seq2[Meeting, error] {
	v := url.Values{}
	setTime(v, "from", q.From)
	setTime(v, "to", q.To)
	if q.Cancelled {
		v.Set("include_cancelled", "true")
	}
	return listing(ctx, c.client, c.path("events"), "events", func(name json.RawMessage) (m Meeting, err error) {
		m.Damaged = true
		return m, json.Unmarshal(name, &m.ID)
	}, v)
}

// Busy is a time that is taken.
type Busy struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	EventID int64     `json:"event_id"`
	Status  string    `json:"status"`
}

// FreeBusy returns what is taken of a window of at most 92 days.
func (c Calendar) FreeBusy(ctx context.Context, from, to time.Time) ([]Busy, error) {
	v := url.Values{}
	setTime(v, "from", from)
	setTime(v, "to", to)
	out, err := fetch[struct{ Busy []Busy }](ctx, c.client, call{method: "GET", path: c.path("freebusy"), query: v, member: "busy"})
	return out.Busy, err
}

// CalendarFeed is the link under which programs follow a calendar. Whoever has it can read meetings,
// attendees and answers.
type CalendarFeed struct {
	URL       string `json:"feed_url"`
	WebcalURL string `json:"webcal_url"`
	Subscribe struct {
		Google  string `json:"google"`
		Apple   string `json:"apple"`
		Outlook string `json:"outlook"`
	} `json:"subscribe_links"`
	CreatedAt     *time.Time `json:"created_at"`      // nil: by a version that did not keep it
	FetchCount    int64      `json:"fetch_count"`     // how often it was looked at
	LastFetchedAt *time.Time `json:"last_fetched_at"` // nil: nobody looked yet
	LastClient    string     `json:"last_client"`
	Stale         bool       `json:"stale"` // the calendar changed after that
}

// Feed returns the link; the first call makes it.
func (c Calendar) Feed(ctx context.Context) (CalendarFeed, error) {
	return fetch[CalendarFeed](ctx, c.client, call{method: "GET", path: c.path("feed"), member: "feed_url"})
}

// RotateFeed replaces the link; the old one stops at once. name is as for Cancel. It
// needs inbox:manage.
func (c Calendar) RotateFeed(ctx context.Context, name string) (CalendarFeed, error) {
	return fetch[CalendarFeed](ctx, c.client, call{method: "POST", path: c.path("feed", "rotate"), member: "feed_url"}.named(name))
}

// HideFeed turns the link off. It needs inbox:manage.
func (c Calendar) HideFeed(ctx context.Context) error {
	return do(ctx, c.client, call{method: "DELETE", path: c.path("feed"), harmless: true}, nil)
}

// OwnerCopies says whether the account's owner gets a copy of each meeting that the inbox organizes.
type OwnerCopies struct {
	Enabled   bool   `json:"enabled"`
	Email     string `json:"email"`     // the sign-in address
	Available bool   `json:"available"` // it is not an inbox of the service; else nothing is sent
	Blocked   bool   `json:"blocked"`   // a copy came back: nothing is sent until Enabled is set again
}

// OwnerCopies reads the setting. It takes an account key or a session.
func (c Calendar) OwnerCopies(ctx context.Context) (OwnerCopies, error) {
	return fetch[OwnerCopies](ctx, c.client, call{method: "GET", path: c.path("owner"), member: "enabled"})
}

// SetOwnerCopies turns them on or off. It takes an account key with inbox:manage, or a session.
func (c Calendar) SetOwnerCopies(ctx context.Context, enabled bool) (OwnerCopies, error) {
	in := struct {
		Enabled bool `json:"enabled"`
	}{enabled}
	return fetch[OwnerCopies](ctx, c.client, call{method: "PUT", path: c.path("owner"), in: in, member: "enabled"})
}
