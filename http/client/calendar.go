package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"
)

// Moment is a point in time or a date. A date is midnight in UTC, as the API represents all-day
// meetings.
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

// Meeting is the current state of a meeting that an inbox was invited to or organizes.
type Meeting struct {
	ID          int64       `json:"id"`
	UID         string      `json:"uid"` // the same in every calendar
	Title       string      `json:"title"`
	Start       Moment      `json:"start"`
	End         Moment      `json:"end"` // for an all-day meeting, the day after the last
	AllDay      bool        `json:"all_day"`
	Timezone    string      `json:"timezone"` // IANA name; empty: all-day, or the name is unknown
	Location    string      `json:"location"`
	Description string      `json:"description"`
	Organizer   *Mailbox    `json:"organizer"` // nil: none is named
	Attendees   []Attendee  `json:"attendees"` // guests only
	Status      string      `json:"status"`    // confirmed, tentative, cancelled
	Source      string      `json:"source"`    // outbound (this inbox organizes it) or inbound
	Sequence    int         `json:"sequence"`
	Recurring   bool        `json:"recurring"`
	MyStatus    string      `json:"my_status"` // this inbox's own response; empty: it was not invited
	CreatedAt   *time.Time  `json:"created_at"`
	UpdatedAt   *time.Time  `json:"updated_at"`
	Recurrence  *Recurrence `json:"recurrence"` // nil: it takes place only once
	Conflicts   []int64     `json:"conflicts"`  // meetings at the same time; only from Calendar.Meeting, for a future meeting

	LastMessageID *int64     `json:"last_message_id"` // last message that changed it or notified its guests; nil: unknown
	RespondedAt   *time.Time `json:"responded_at"`    // when this inbox last responded; nil: never

	TimezoneUnknown   bool   `json:"timezone_unknown"`   // times follow the calendar file's own rules, or else are taken as UTC
	OrganizerVerified bool   `json:"organizer_verified"` // authenticated as from the organizer, or organized here
	Transparency      string `json:"transparency"`       // opaque or transparent; a transparent meeting makes nobody busy
	JoinURL           string `json:"join_url"`           // URL of its video conference; empty: none

	Damaged bool `json:"-"` // lost to damage on the service's disk: only its id is known
}

// Attendee is a person invited to a meeting.
type Attendee struct {
	Mailbox
	Role   string `json:"role"`   // req-participant, opt-participant
	Status string `json:"status"` // accepted, declined, tentative, needs-action
}

// Recurrence describes how a meeting repeats.
type Recurrence struct {
	Rule      string     `json:"rrule"`   // RFC 5545 section 3.3.10; empty: only dates
	Except    []Moment   `json:"exdates"` // dates excluded
	Also      []Moment   `json:"rdates"`  // dates added
	Overrides []Override `json:"overrides"`
}

// Override is one occurrence that differs from the others.
type Override struct {
	RecurrenceID Moment `json:"recurrence_id"` // when it would take place by the rule
	Start        Moment `json:"start"`
	End          Moment `json:"end"`
	Title        string `json:"title"`
	Location     string `json:"location"`
	Status       string `json:"status"`
}

// Said is what a message says about a meeting. It never changes, while the meeting may.
type Said struct {
	Meeting
	Action  string `json:"action"`   // created, updated, cancelled, replied, unchanged
	EventID *int64 `json:"event_id"` // nil: the calendar has no such meeting
	Method  string `json:"method"`   // of the calendar file: REQUEST, REPLY, CANCEL, ...
	Reason  string `json:"reason"`   // one word: why it was ignored; empty: it was applied, or contained nothing new
}

// Guest is a person to invite.
type Guest struct {
	Email    string `json:"email"`
	Name     string `json:"name,omitempty"`
	Optional bool   `json:"optional,omitempty"` // attendance is optional
}

// MeetingOrder describes a meeting to invite to. Times are ISO 8601, with an offset, or without one
// and then in Timezone. If AllDay is set, they are dates. Without End and DurationMinutes, the
// meeting takes 30 minutes or one day.
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
	Message         string  `json:"message,omitempty"`     // only in the invitation message
	InReplyTo       string  `json:"in_reply_to,omitempty"` // Message-ID that the invitation replies to

	// IdempotencyKey makes a repeated call return the first response again, for 24 hours. Empty:
	// one is generated for this call.
	IdempotencyKey string `json:"-"`
}

// MeetingChange is a change for Update; nil leaves a field unchanged.
type MeetingChange struct {
	Title           *string `json:"title,omitempty"`
	Start           *string `json:"start,omitempty"` // if set alone, the duration is kept
	End             *string `json:"end,omitempty"`
	DurationMinutes *int    `json:"duration_minutes,omitempty"`
	Timezone        *string `json:"timezone,omitempty"` // if set alone, the meeting does not move
	AllDay          *bool   `json:"all_day,omitempty"`
	Location        *string `json:"location,omitempty"`
	Description     *string `json:"description,omitempty"`
	Attendees       []Guest `json:"attendees,omitempty"` // the complete new list; nil: unchanged
	Message         string  `json:"message,omitempty"`
}

// Arranged is the result of a call that changes a meeting: the change is durable, and a message
// about it is queued.
type Arranged struct {
	Event     Meeting `json:"event"`
	MessageID *int64  `json:"message_id"` // of that message; nil: there was nobody to notify, or nothing changed
}

// Calendar is the calendar of an inbox. It is immutable and safe for concurrent use.
type Calendar struct {
	apiClient    *Client
	inboxAddress string
}

// Calendar returns the calendar of the inbox at address. It makes no request.
func (c *Client) Calendar(address string) Calendar { return Calendar{c, address} }

func (c Calendar) buildPath(rest ...string) string {
	return inboxPath(c.inboxAddress, append([]string{"calendar"}, rest...)...)
}

// Schedule creates a meeting that the inbox organizes and invites the guests. It needs email:send.
func (c Calendar) Schedule(ctx context.Context, order MeetingOrder) (Arranged, error) {
	return fetchJSON[Arranged](ctx, c.apiClient, apiCall{method: "POST", path: c.buildPath("events"), in: order, requiredMember: "event"}.withName(order.IdempotencyKey))
}

// Update changes a meeting that the inbox organizes; for others it fails with 403. It needs
// email:send.
func (c Calendar) Update(ctx context.Context, id int64, change MeetingChange) (Arranged, error) {
	return fetchJSON[Arranged](ctx, c.apiClient, apiCall{method: "PATCH", path: c.buildPath("events", formatID(id)), in: change, requiredMember: "event"})
}

// Cancel cancels a meeting that the inbox organizes. message is a text for the guests and may be
// empty. name is an idempotency key: a repeated call returns the first response again, for 24
// hours. If it is empty, one is generated. Cancel needs email:send.
func (c Calendar) Cancel(ctx context.Context, id int64, message, name string) (Arranged, error) {
	in := struct {
		Message string `json:"message,omitempty"`
	}{message}
	return fetchJSON[Arranged](ctx, c.apiClient, apiCall{method: "POST", path: c.buildPath("events", formatID(id), "cancel"), in: in, requiredMember: "event"}.withName(name))
}

// Remove removes a meeting from this calendar. Nothing is sent, and no message restores the meeting
// for 30 days. It needs message:write.
func (c Calendar) Remove(ctx context.Context, id int64) error {
	return do(ctx, c.apiClient, apiCall{method: "DELETE", path: c.buildPath("events", formatID(id)), isRepeatable: true}, nil)
}

// Answer responds to an invitation: accepted, declined or tentative, with a comment for the
// organizer, which may be empty. name is as for Cancel. It needs email:send.
func (c Calendar) Answer(ctx context.Context, id int64, response, comment, name string) (Arranged, error) {
	in := struct {
		Response string `json:"response"`
		Comment  string `json:"comment,omitempty"`
	}{response, comment}
	return fetchJSON[Arranged](ctx, c.apiClient, apiCall{method: "POST", path: c.buildPath("events", formatID(id), "rsvp"), in: in, requiredMember: "event"}.withName(name))
}

// Meeting returns one meeting.
func (c Calendar) Meeting(ctx context.Context, id int64) (Meeting, error) {
	out, err := fetchJSON[struct{ Event Meeting }](ctx, c.apiClient, apiCall{method: "GET", path: c.buildPath("events", formatID(id)), requiredMember: "event"})
	return out.Event, err
}

// MeetingQuery restricts Meetings. The zero value selects all meetings that are not cancelled.
type MeetingQuery struct {
	From, To  time.Time // only meetings that overlap; zero: unlimited
	Cancelled bool      // also cancelled ones
}

// Meetings iterates over the meetings of an inbox, soonest first. Damaged ones follow the first
// page. It ends after an error.
func (c Calendar) Meetings(ctx context.Context, q MeetingQuery) iter.Seq2[Meeting, error] {
	v := url.Values{}
	setTime(v, "from", q.From)
	setTime(v, "to", q.To)
	if q.Cancelled {
		v.Set("include_cancelled", "true")
	}
	return listItems(ctx, c.apiClient, c.buildPath("events"), "events", func(name json.RawMessage) (m Meeting, err error) {
		m.Damaged = true
		return m, json.Unmarshal(name, &m.ID)
	}, v)
}

// Busy is a period that is occupied.
type Busy struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	EventID int64     `json:"event_id"`
	Status  string    `json:"status"`
}

// FreeBusy returns the occupied periods of a time range of at most 92 days.
func (c Calendar) FreeBusy(ctx context.Context, from, to time.Time) ([]Busy, error) {
	v := url.Values{}
	setTime(v, "from", from)
	setTime(v, "to", to)
	out, err := fetchJSON[struct{ Busy []Busy }](ctx, c.apiClient, apiCall{method: "GET", path: c.buildPath("freebusy"), queryValues: v, requiredMember: "busy"})
	return out.Busy, err
}

// CalendarFeed is the link under which calendar programs subscribe to a calendar. Everybody who has
// it can read meetings, attendees and responses.
type CalendarFeed struct {
	URL       string `json:"feed_url"`
	WebcalURL string `json:"webcal_url"`
	Subscribe struct {
		Google  string `json:"google"`
		Apple   string `json:"apple"`
		Outlook string `json:"outlook"`
	} `json:"subscribe_links"`
	CreatedAt     *time.Time `json:"created_at"`      // nil: created by a version that did not record it
	FetchCount    int64      `json:"fetch_count"`     // number of requests
	LastFetchedAt *time.Time `json:"last_fetched_at"` // nil: never
	LastClient    string     `json:"last_client"`
	Stale         bool       `json:"stale"` // the calendar has changed since then
}

// Feed returns the link. The first call creates it.
func (c Calendar) Feed(ctx context.Context) (CalendarFeed, error) {
	return fetchJSON[CalendarFeed](ctx, c.apiClient, apiCall{method: "GET", path: c.buildPath("feed"), requiredMember: "feed_url"})
}

// RotateFeed replaces the link. The old one stops working immediately. name is as for Cancel. It
// needs inbox:manage.
func (c Calendar) RotateFeed(ctx context.Context, name string) (CalendarFeed, error) {
	return fetchJSON[CalendarFeed](ctx, c.apiClient, apiCall{method: "POST", path: c.buildPath("feed", "rotate"), requiredMember: "feed_url"}.withName(name))
}

// HideFeed disables the link. It needs inbox:manage.
func (c Calendar) HideFeed(ctx context.Context) error {
	return do(ctx, c.apiClient, apiCall{method: "DELETE", path: c.buildPath("feed"), isRepeatable: true}, nil)
}

// OwnerCopies is the setting whether the account's owner gets a copy of each meeting that the inbox
// organizes.
type OwnerCopies struct {
	Enabled   bool   `json:"enabled"`
	Email     string `json:"email"`     // the sign-in address
	Available bool   `json:"available"` // Email is not an inbox of this service; otherwise nothing is sent
	Blocked   bool   `json:"blocked"`   // a copy was returned: nothing is sent until Enabled is set again
}

// OwnerCopies returns the setting. It needs an account key or a session.
func (c Calendar) OwnerCopies(ctx context.Context) (OwnerCopies, error) {
	return fetchJSON[OwnerCopies](ctx, c.apiClient, apiCall{method: "GET", path: c.buildPath("owner"), requiredMember: "enabled"})
}

// SetOwnerCopies changes the setting. It needs an account key with inbox:manage, or a session.
func (c Calendar) SetOwnerCopies(ctx context.Context, enabled bool) (OwnerCopies, error) {
	in := struct {
		Enabled bool `json:"enabled"`
	}{enabled}
	return fetchJSON[OwnerCopies](ctx, c.apiClient, apiCall{method: "PUT", path: c.buildPath("owner"), in: in, requiredMember: "enabled"})
}
