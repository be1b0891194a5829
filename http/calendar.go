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
	scheduleShape = shape{
		{name: "title", kind: line, required: true, max: maxTitle},
		{name: "start", kind: line, required: true, max: maxMoment},
		{name: "end", kind: line, max: maxMoment},
		{name: "duration_minutes", kind: integer, min: 1},
		{name: "timezone", kind: line, max: maxMoment},
		{name: "all_day", kind: boolean},
		{name: "location", kind: line, max: maxPlace},
		{name: "description", kind: text, max: maxDescription},
		{name: "attendees", kind: guests, required: true, max: maxGuests},
		{name: "message", kind: text, max: maxComment},
		{name: "in_reply_to", kind: line, max: compose.MaxMessageID},
	}
	rescheduleShape = optional(scheduleShape[:10])
	respondShape    = shape{
		{name: "response", kind: line, required: true, max: maxName},
		{name: "comment", kind: text, max: maxComment},
	}
	cancelShape = shape{{name: "message", kind: text, max: maxComment}}
)

// optional returns the shape without required members.
func optional(s shape) shape {
	out := append(shape(nil), s...)
	for i := range out {
		out[i].required = false
	}
	return out
}

// Meetings is what the handlers of meetings need besides views, which hold the meetings to read.
type Meetings interface {
	// Arrange carries out the order and notifies the guests. It returns the result after both are
	// committed.
	Arrange(ctx context.Context, address string, o calendar.Order) (calendar.Done, error)
	// ArrangeOnce is Arrange for a request with an idempotency key. tell makes the response, now
	// and for a repeat, and must use only its argument.
	ArrangeOnce(ctx context.Context, address string, o calendar.Order, req idempotency.Request, tell func(calendar.Done) []byte) (idempotency.Result, error)
	// RemoveMeeting removes a meeting from the calendar and sends nothing.
	RemoveMeeting(ctx context.Context, address string, id int64) error
}

// diary has the calendar handlers: they show, arrange, change, cancel and respond to meetings.
type diary struct {
	port  Meetings
	stops *atomic.Int64 // recurrence rules whose expansion reached a limit
}

func (d *diary) routes() (all []route) {
	for _, on := range []struct {
		calendar string
		who      credentials
	}{{agentInbox + "/calendar", anyone}, {perInbox + "/calendar", insiders}} {
		list := on.calendar + "/events"
		one := list + "/{id}"
		all = append(all,
			route{get, list, on.who, read, false, nil, d.listMeetings},
			route{post, list, on.who, account.ScopeSend, false, scheduleShape, ofCalendar(d.schedule)},
			route{get, one, on.who, read, false, nil, ofCalendar(d.showMeeting)},
			route{patch, one, on.who, account.ScopeSend, false, rescheduleShape, ofCalendar(d.reschedule)},
			route{remove, one, on.who, write, false, nil, ofCalendar(d.removeMeeting)},
			route{post, one + "/rsvp", on.who, account.ScopeSend, false, respondShape, ofCalendar(d.respond)},
			route{post, one + "/cancel", on.who, account.ScopeSend, false, cancelShape, ofCalendar(d.cancel)},
			route{get, on.calendar + "/freebusy", on.who, read, false, nil, ofCalendar(d.freeBusy)},
		)
	}
	return all
}

// ofCalendar wraps a handler that needs a calendar. An encrypted inbox has none. Its list of
// meetings is empty, so the list is not wrapped.
func ofCalendar(handler func(*request) error) func(*request) error {
	return func(r *request) error {
		if r.view.Encrypted {
			return fault.New(fault.Refused, inbox.NoCalendar)
		}
		return handler(r)
	}
}

// guests parses an array whose entries are addresses, or objects with an address.
func (d decoder) guests(f *field) ([]calendar.Guest, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginArray {
		return nil, d.other(f, kind)
	}
	d.ReadToken()
	out := []calendar.Guest{}
	for d.PeekKind() != jsontext.KindEndArray {
		one, err := d.guest(fmt.Sprintf("%s[%d]", f.name, len(out)))
		if err != nil {
			return nil, err
		}
		if out = append(out, one); len(out) > f.max {
			return nil, f.checkCount(len(out))
		}
	}
	_, err := d.ReadToken()
	return out, malformed(f, err)
}

// guest parses one entry. path is its name in error messages.
func (d decoder) guest(path string) (g calendar.Guest, err error) {
	s := shape{
		{name: "email", path: path + ".email", kind: line, required: true, max: maxAddress},
		{name: "name", path: path + ".name", kind: line, max: maxGuestName},
		{name: "optional", path: path + ".optional", kind: boolean},
	}
	v := values{}
	switch kind := d.PeekKind(); kind {
	case jsontext.KindString:
		v["email"], err = d.text(&s[0], maxAddress)
	case jsontext.KindBeginObject:
		if err = (decoder{d.Decoder, s}).members(v); err == nil {
			err = s.complete(v)
		}
	case jsontext.KindInvalid:
		return g, (&field{name: path}).malformed()
	default:
		return g, fault.Field(path, "must be an e-mail address, or an object with an 'email' member")
	}
	return calendar.Guest{Email: v.string("email"), Name: v.string("name"), Optional: v.flag("optional", false)}, err
}

// meeting returns the meeting that a body describes.
func (v values) meeting() calendar.Fields {
	f := calendar.Fields{
		Title: v.text("title"), Start: v.text("start"), End: v.text("end"), Timezone: v.text("timezone"),
		Location: v.text("location"), Description: v.text("description"), Minutes: v.number("duration_minutes"), AllDay: v.truth("all_day"),
	}
	if list, given := v["attendees"].([]calendar.Guest); given {
		f.Attendees = &list
	}
	return f
}

func (d *diary) schedule(r *request) error {
	answers, err := messageID(r.body.string("in_reply_to"))
	if err != nil {
		return err
	}
	return d.arrange(r, calendar.Schedule{Fields: r.body.meeting(), Message: r.body.string("message"), InReplyTo: answers})
}

func (d *diary) reschedule(r *request) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	return d.arrange(r, calendar.Reschedule{ID: id, Fields: r.body.meeting(), Message: r.body.string("message")})
}

func (d *diary) respond(r *request) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	return d.arrange(r, calendar.Respond{ID: id, Response: r.body.string("response"), Comment: r.body.string("comment")})
}

func (d *diary) cancel(r *request) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	return d.arrange(r, calendar.Cancel{ID: id, Message: r.body.string("message")})
}

// arrange responds with the result of the order. 202 means that it is durable, together with its
// message.
func (d *diary) arrange(r *request, o calendar.Order) error {
	req, err := r.once()
	if err != nil {
		return err
	}
	rt := r.route
	tell := func(done calendar.Done) []byte {
		done.Meeting = rt.shownMeeting(done.Meeting)
		return meetings.Arranged(done)
	}
	var told []byte
	if req.Repeatable() {
		var done idempotency.Result
		done, err = d.port.ArrangeOnce(r.ctx, r.address, o, req, tell)
		told = done.Told
	} else {
		var done calendar.Done
		if done, err = d.port.Arrange(r.ctx, r.address, o); err == nil {
			told = tell(done)
		}
	}
	if err == nil {
		writeJSON(r.http, fasthttp.StatusAccepted, told)
	}
	return err
}

// meetingID returns the id in the path.
func (r *request) meetingID() (int64, error) {
	given := parameter(r.http, "id")
	id, ok := number(given)
	if !ok {
		return 0, fault.New(fault.NotFound, fmt.Sprintf("Meeting %s not found in inbox %s", given, r.address))
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
func (r *request) waitForTurn(b *calendar.Book, n int, expands bool) error {
	if n > quickMeetings || expands && b.HasRules() {
		return r.costly(costlyAnswer + 1)
	}
	return r.costly(b.Bytes)
}

func (d *diary) showMeeting(r *request) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	book := bookOf(r.view)
	m, err := book.Find(id, r.address)
	if err != nil {
		return err
	}
	if err := r.reserve(2 * m.Bytes); err != nil {
		return err
	}
	if err := r.waitForTurn(book, 0, true); err != nil {
		return err
	}
	writeJSON(r.http, fasthttp.StatusOK, meetings.Single(nil, r.route.shownMeeting(m), calendar.Conflicts(book, m, r.now)))
	return nil
}

func (d *diary) removeMeeting(r *request) error {
	id, err := r.meetingID()
	if err != nil {
		return err
	}
	return r.ok(d.port.RemoveMeeting(r.ctx, r.address, id))
}

const (
	defaultMeetings = 100
	maxMeetings     = 1000
	maxListTail     = 80 // octets around the meetings in a list
	// quickMeetings can be rendered without a turn. One meeting takes 2 us of processor time.
	quickMeetings = 20
)

// listMeetings pages through the calendar, earliest first. A page of long meetings ends early.
func (d *diary) listMeetings(r *request) error {
	q := r.query()
	asked := calendar.Query{
		From: q.moment("from"), To: q.moment("to"), Cancelled: q.flag("include_cancelled"), Cursor: q.raw("cursor"),
		Limit: int(q.number("limit", q.form.meetings, 1, maxMeetings)),
	}
	if q.err != nil {
		return q.err
	}
	book := bookOf(r.view)
	if err := r.reserve(min(book.Bytes, maxListBytes)); err != nil {
		return err
	}
	// Recurrence rules are expanded only for a time window.
	if err := r.waitForTurn(book, min(asked.Limit, len(book.Meetings)),
		!asked.From.IsZero() || !asked.To.IsZero()); err != nil {
		return err
	}
	page, err := calendar.List(book, asked)
	if err != nil {
		return err
	}
	d.stops.Add(int64(page.Stops))
	b := make([]byte, 0, min(meetings.SizeOf(page.Meetings), maxListBytes)+maxListTail)
	b, n := meetings.AppendPage(append(b, `{"events":[`...), r.route.shownMeetings(page.Meetings), maxListBytes)
	if n < len(page.Meetings) {
		page.Next = calendar.CursorBehind(page.Meetings[n-1])
	}
	b = appendStringOrNull(append(b, `],"next_cursor":`...), page.Next)
	if asked.Cursor == "" && len(book.Damaged) > 0 { // their times are unknown, so the first page has them
		b = appendList(append(b, `,"damaged":`...), book.Damaged, func(b []byte, id int64) []byte { return strconv.AppendInt(b, id, 10) })
	}
	writeJSON(r.http, fasthttp.StatusOK, append(b, '}'))
	return nil
}

// freeBusy lists the occupied times in a window.
func (d *diary) freeBusy(r *request) error {
	q := r.query()
	from, to := q.moment("from"), q.moment("to")
	if q.err != nil {
		return q.err
	}
	book := bookOf(r.view)
	if err := r.waitForTurn(book, 0, true); err != nil {
		return err
	}
	list, stops, err := calendar.Busy(book, from, to)
	if err != nil {
		return err
	}
	d.stops.Add(int64(stops))
	b := appendList([]byte(`{"busy":`), list, func(b []byte, s calendar.Slot) []byte {
		b = appendTimeOrNull(append(b, `{"start":`...), s.Start)
		b = appendTimeOrNull(append(b, `,"end":`...), s.End)
		b = strconv.AppendInt(append(b, `,"event_id":`...), s.Meeting, 10)
		return append(appendString(append(b, `,"status":`...), s.Status), '}')
	})
	writeJSON(r.http, fasthttp.StatusOK, append(b, '}'))
	return nil
}
