package http

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"inboxd/http/meetings"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message/compose"
)

// These are the limits of a meeting's texts (specification, Calendar), in code points. The plan
// limits the number of guests; maxGuests only bounds how much is parsed.
const (
	maxTitle       = 300
	maxPlace       = 500
	maxDescription = 20_000
	maxComment     = 10_000
	maxGuestName   = 200
	maxGuests      = 1000
	maxMoment      = 64 // a time, or the name of a time zone
)

var (
	scheduleShape = bodyShape{
		{name: "title", valueKind: lineField, isRequired: true, maxLength: maxTitle},
		{name: "start", valueKind: lineField, isRequired: true, maxLength: maxMoment},
		{name: "end", valueKind: lineField, maxLength: maxMoment},
		{name: "duration_minutes", valueKind: integerField, minValue: 1},
		{name: "timezone", valueKind: lineField, maxLength: maxMoment},
		{name: "all_day", valueKind: booleanField},
		{name: "location", valueKind: lineField, maxLength: maxPlace},
		{name: "description", valueKind: textField, maxLength: maxDescription},
		{name: "attendees", valueKind: guestsField, isRequired: true, maxLength: maxGuests},
		{name: "message", valueKind: textField, maxLength: maxComment},
		{name: "in_reply_to", valueKind: lineField, maxLength: compose.MaxMessageID},
	}
	rescheduleShape = withoutRequired(scheduleShape[:10])
	respondShape    = bodyShape{
		{name: "response", valueKind: lineField, isRequired: true, maxLength: maxName},
		{name: "comment", valueKind: textField, maxLength: maxComment},
	}
	cancelShape = bodyShape{{name: "message", valueKind: textField, maxLength: maxComment}}
)

// withoutRequired returns the shape without required members.
func withoutRequired(s bodyShape) bodyShape {
	out := append(bodyShape(nil), s...)
	for i := range out {
		out[i].isRequired = false
	}
	return out
}

// MeetingArranger is what the handlers of meetings need besides views, which hold the meetings to read.
type MeetingArranger interface {
	// ArrangeMeeting carries out the order and notifies the guests. It returns the result after
	// both are committed.
	ArrangeMeeting(ctx context.Context, address string, o calendar.MeetingOrder) (calendar.ChangeResult, error)
	// ArrangeOnce is Arrange for a request with an idempotency key. encode makes the response, now
	// and for a repeat, and must use only its argument.
	ArrangeOnce(ctx context.Context, address string, o calendar.MeetingOrder, req idempotency.Request, encode func(calendar.ChangeResult) []byte) (idempotency.FirstResult, error)
	// RemoveMeeting removes a meeting from the calendar and sends nothing.
	RemoveMeeting(ctx context.Context, address string, id int64) error
}

// calendarHandlers has the calendar handlers: they show, arrange, change, cancel and respond to
// meetings.
type calendarHandlers struct {
	meetingPort MeetingArranger
	ruleStops   *atomic.Int64 // recurrence rules whose expansion reached a limit
}

func (d *calendarHandlers) listRoutes() []routeSpec {
	const (
		list = agentInbox + "/calendar/events"
		one  = list + "/{id}"
	)
	return []routeSpec{
		{methodGet, list, anyCredential, scopeRead, false, nil, d.listMeetings},
		{methodPost, list, anyCredential, account.ScopeSend, false, scheduleShape, ofCalendar(d.scheduleMeeting)},
		{methodGet, one, anyCredential, scopeRead, false, nil, ofCalendar(d.showMeeting)},
		{methodPatch, one, anyCredential, account.ScopeSend, false, rescheduleShape, ofCalendar(d.rescheduleMeeting)},
		{methodDelete, one, anyCredential, scopeWrite, false, nil, ofCalendar(d.removeMeeting)},
		{methodPost, one + "/rsvp", anyCredential, account.ScopeSend, false, respondShape, ofCalendar(d.respondToInvite)},
		{methodPost, one + "/cancel", anyCredential, account.ScopeSend, false, cancelShape, ofCalendar(d.cancelMeeting)},
		{methodGet, agentInbox + "/calendar/freebusy", anyCredential, scopeRead, false, nil, ofCalendar(d.freeBusy)},
	}
}

// ofCalendar wraps a handler that needs a calendar. An encrypted inbox has none. Its list of
// meetings is empty, so the list is not wrapped.
func ofCalendar(handler func(*apiRequest) error) func(*apiRequest) error {
	return func(r *apiRequest) error {
		if r.inboxView.Encrypted {
			return fault.New(fault.Refused, inbox.NoCalendar)
		}
		return handler(r)
	}
}

// readGuests parses an array whose entries are addresses, or objects with an address.
func (d bodyDecoder) readGuests(f *fieldRule) ([]calendar.Guest, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginArray {
		return nil, d.wrongType(f, kind)
	}
	d.ReadToken()
	out := []calendar.Guest{}
	for d.PeekKind() != jsontext.KindEndArray {
		one, err := d.readGuest(fmt.Sprintf("%s[%d]", f.name, len(out)))
		if err != nil {
			return nil, err
		}
		if out = append(out, one); len(out) > f.maxLength {
			return nil, f.checkCount(len(out))
		}
	}
	_, err := d.ReadToken()
	return out, malformedValue(f, err)
}

// readGuest parses one entry. path is its name in error messages.
func (d bodyDecoder) readGuest(path string) (g calendar.Guest, err error) {
	s := bodyShape{
		{name: "email", displayPath: path + ".email", valueKind: lineField, isRequired: true, maxLength: maxAddress},
		{name: "name", displayPath: path + ".name", valueKind: lineField, maxLength: maxGuestName},
		{name: "optional", displayPath: path + ".optional", valueKind: booleanField},
	}
	v := bodyValues{}
	switch kind := d.PeekKind(); kind {
	case jsontext.KindString:
		v["email"], err = d.readText(&s[0], maxAddress)
	case jsontext.KindBeginObject:
		if err = (bodyDecoder{d.Decoder, s}).readMembers(v); err == nil {
			err = s.checkRequired(v)
		}
	case jsontext.KindInvalid:
		return g, (&fieldRule{name: path}).malformedFault()
	default:
		return g, fault.InvalidField(path, "must be an e-mail address, or an object with an 'email' member")
	}
	return calendar.Guest{Email: v.stringOf("email"), Name: v.stringOf("name"), Optional: v.flagOr("optional", false)}, err
}

// meetingFields returns the meeting that a body describes.
func (v bodyValues) meetingFields() calendar.MeetingFields {
	f := calendar.MeetingFields{
		Title: v.textOf("title"), Start: v.textOf("start"), End: v.textOf("end"), Timezone: v.textOf("timezone"),
		Location: v.textOf("location"), Description: v.textOf("description"), Minutes: v.numberOf("duration_minutes"), AllDay: v.boolOf("all_day"),
	}
	if list, given := v["attendees"].([]calendar.Guest); given {
		f.Attendees = &list
	}
	return f
}

func (d *calendarHandlers) scheduleMeeting(r *apiRequest) error {
	answers, err := messageID(r.bodyValues.stringOf("in_reply_to"))
	if err != nil {
		return err
	}
	return d.arrangeMeeting(r, calendar.Schedule{MeetingFields: r.bodyValues.meetingFields(), Message: r.bodyValues.stringOf("message"), InReplyTo: answers})
}

func (d *calendarHandlers) rescheduleMeeting(r *apiRequest) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	return d.arrangeMeeting(r, calendar.Reschedule{ID: id, MeetingFields: r.bodyValues.meetingFields(), Message: r.bodyValues.stringOf("message")})
}

func (d *calendarHandlers) respondToInvite(r *apiRequest) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	return d.arrangeMeeting(r, calendar.Respond{ID: id, Response: r.bodyValues.stringOf("response"), Comment: r.bodyValues.stringOf("comment")})
}

func (d *calendarHandlers) cancelMeeting(r *apiRequest) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	return d.arrangeMeeting(r, calendar.Cancel{ID: id, Message: r.bodyValues.stringOf("message")})
}

// arrangeMeeting responds with the result of the order. 202 means that it is durable, together with its
// message.
func (d *calendarHandlers) arrangeMeeting(r *apiRequest, o calendar.MeetingOrder) error {
	req, err := r.idempotencyRequest()
	if err != nil {
		return err
	}
	rt := r.route
	encode := func(done calendar.ChangeResult) []byte {
		done.Meeting = rt.shownMeeting(done.Meeting)
		return meetings.MarshalArranged(done)
	}
	var encoded []byte
	if req.IsRepeatable() {
		var done idempotency.FirstResult
		done, err = d.meetingPort.ArrangeOnce(r.ctx, r.inboxAddress, o, req, encode)
		encoded = done.EncodedResponse
	} else {
		var done calendar.ChangeResult
		if done, err = d.meetingPort.ArrangeMeeting(r.ctx, r.inboxAddress, o); err == nil {
			encoded = encode(done)
		}
	}
	if err == nil {
		writeJSON(r.httpCtx, fasthttp.StatusAccepted, encoded)
	}
	return err
}

// meetingID returns the id in the path.
func (r *apiRequest) meetingID() (int64, error) {
	given := pathParameter(r.httpCtx, "id")
	id, ok := parseID(given)
	if !ok {
		return 0, fault.New(fault.NotFound, fmt.Sprintf("Meeting %s not found in inbox %s", given, r.inboxAddress))
	}
	return id, nil
}

// bookOf returns the calendar of an inbox. An inbox without meetings has none, so it returns an
// empty one.
func bookOf(v *inbox.View) *calendar.Book {
	if v.Calendar == nil {
		return new(calendar.Book)
	}
	return v.Calendar
}

// waitForTurn waits for a turn if rendering n meetings takes long: because of their number, the
// size of the calendar, or recurrence rules that must be expanded. Few requests do such work at
// once, so that polls find a free processor.
func (r *apiRequest) waitForTurn(b *calendar.Book, n int, expands bool) error {
	if n > quickMeetings || expands && b.HasRules() {
		return r.awaitTurn(costlyAnswer + 1)
	}
	return r.awaitTurn(b.Bytes)
}

func (d *calendarHandlers) showMeeting(r *apiRequest) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	book := bookOf(r.inboxView)
	m, err := book.FindFor(id, r.inboxAddress)
	if err != nil {
		return err
	}
	if err := r.reserveBytes(2 * m.RowBytes); err != nil {
		return err
	}
	if err := r.waitForTurn(book, 0, true); err != nil {
		return err
	}
	writeJSON(r.httpCtx, fasthttp.StatusOK, meetings.AppendMeeting(nil, r.route.shownMeeting(m), calendar.ConflictingMeetings(book, m, r.requestTime)))
	return nil
}

func (d *calendarHandlers) removeMeeting(r *apiRequest) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	return r.ok(d.meetingPort.RemoveMeeting(r.ctx, r.inboxAddress, id))
}

const (
	defaultMeetings = 100
	maxMeetings     = 1000
	maxListTail     = 80 // octets around the meetings in a list
	// quickMeetings can be rendered without a turn. One meeting takes 2 us of processor time.
	quickMeetings = 20
)

// listMeetings pages through the calendar, earliest first. A page of long meetings ends early.
func (d *calendarHandlers) listMeetings(r *apiRequest) error {
	q := r.queryReader()
	asked := calendar.MeetingQuery{
		From: q.readTime("from"), To: q.readTime("to"), IncludeCancelled: q.readFlag("include_cancelled"), Cursor: q.rawValue("cursor"),
		Limit: int(q.readNumber("limit", q.responseForm.meetingLimit, 1, maxMeetings)),
	}
	if q.firstErr != nil {
		return q.firstErr
	}
	book := bookOf(r.inboxView)
	if err := r.reserveBytes(min(book.Bytes, maxListBytes)); err != nil {
		return err
	}
	// Recurrence rules are expanded only for a time window.
	if err := r.waitForTurn(book, min(asked.Limit, len(book.Meetings)),
		!asked.From.IsZero() || !asked.To.IsZero()); err != nil {
		return err
	}
	page, err := calendar.ListMeetings(book, asked)
	if err != nil {
		return err
	}
	d.ruleStops.Add(int64(page.UnexpandedRules))
	b := make([]byte, 0, min(meetings.SizeOf(page.Meetings), maxListBytes)+maxListTail)
	b, n := meetings.AppendPage(append(b, `{"events":[`...), r.route.shownMeetings(page.Meetings), maxListBytes)
	if n < len(page.Meetings) {
		page.NextCursor = calendar.CursorBehind(page.Meetings[n-1])
	}
	b = appendStringOrNull(append(b, `],"next_cursor":`...), page.NextCursor)
	if asked.Cursor == "" && len(book.DamagedIDs) > 0 { // their times are unknown, so the first page has them
		b = appendList(append(b, `,"damaged":`...), book.DamagedIDs, func(b []byte, id int64) []byte { return strconv.AppendInt(b, id, 10) })
	}
	writeJSON(r.httpCtx, fasthttp.StatusOK, append(b, '}'))
	return nil
}

// freeBusy lists the occupied times in a window.
func (d *calendarHandlers) freeBusy(r *apiRequest) error {
	q := r.queryReader()
	from, to := q.readTime("from"), q.readTime("to")
	if q.firstErr != nil {
		return q.firstErr
	}
	book := bookOf(r.inboxView)
	if err := r.waitForTurn(book, 0, true); err != nil {
		return err
	}
	list, stops, err := calendar.FindBusySlots(book, from, to)
	if err != nil {
		return err
	}
	d.ruleStops.Add(int64(stops))
	b := appendList([]byte(`{"busy":`), list, func(b []byte, s calendar.BusySlot) []byte {
		b = appendTimeOrNull(append(b, `{"start":`...), s.Start)
		b = appendTimeOrNull(append(b, `,"end":`...), s.End)
		b = strconv.AppendInt(append(b, `,"event_id":`...), s.MeetingID, 10)
		return append(appendString(append(b, `,"status":`...), s.Status), '}')
	})
	writeJSON(r.httpCtx, fasthttp.StatusOK, append(b, '}'))
	return nil
}
