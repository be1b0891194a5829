package http

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/stackpool"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/webhook"
)

const (
	defaultEvents = 100
	maxEvents     = 500
	// maxEventsBytes ends a page early; the cursor then points after the events shown.
	maxEventsBytes = 4 << 20
)

var (
	headerAccept      = []byte("Accept")
	headerLastEventID = []byte("Last-Event-Id")
)

// Events is what the handlers of events need: the change journals of accounts. Events are durable
// before they are visible, so after a crash a number still means the same event.
type Events interface {
	// Events reads entries with numbers above after, up to a limit. It reads only entries of one
	// inbox unless address is empty.
	Events(ctx context.Context, id account.ID, after uint64, address string, limit changefeed.Limit) (changefeed.Page, error)
	// JournalEnd returns the number of the newest entry, or 0 if there is none.
	JournalEnd(ctx context.Context, id account.ID) (uint64, error)
	// Present is JournalEnd, but includes every event that was committed before the call.
	Present(ctx context.Context, id account.ID) (uint64, error)
	// Listen registers a reader. The caller must close it.
	Listen(id account.ID, address string) *changefeed.Reader
}

// events has the handlers by which clients follow events.
type events struct {
	port   Events
	server *Server
}

func (e *events) routes() []route {
	return []route{
		{get, "/api/v1/events", anyone, read, false, nil, e.show},
		{get, agentInbox + "/events", anyone, read, false, nil, e.show},
		{get, perInbox + "/events", insiders, read, false, nil, e.show},
	}
}

// follower reads the change journal of an account, or of the inbox in address. The goroutine of its
// request owns it.
type follower struct {
	account account.ID
	address string
	to      string // only events about messages to this envelope recipient; empty: all events
	after   uint64 // position: events up to this number were read
	asked   bool   // the client gave a start position
	stream  bool
	wait    time.Duration
	limit   int
}

// show responds with the events of the account or of one inbox: as a stream if the client asks for
// one, else immediately or by a long poll (specification, Events; ADR 0009).
func (e *events) show(r *request) error {
	f, err := e.follower(r)
	if err != nil {
		return err
	}
	if f.stream {
		return e.server.park(r, func(p *waiting) {
			e.stream(p, f)
			p.End()
		})
	}
	page, err := e.page(r, f, f.limit, maxEventsBytes)
	if err != nil {
		return err
	}
	if len(page.Entries) == 0 && !page.More && f.wait > 0 {
		f.after = page.Last
		return e.server.park(r, func(p *waiting) { e.poll(p, f) })
	}
	return f.write(r, page)
}

// follower parses the query. An inbox key can follow only its own inbox.
func (e *events) follower(r *request) (*follower, error) {
	if r.principal.Kind == account.KindInboxKey && r.address == "" {
		r.address = r.principal.Inbox
		if err := r.look(); err != nil {
			return nil, err
		}
	}
	q := r.query()
	f := &follower{
		account: r.principal.Account, address: r.address, to: q.recipient(r),
		wait:   time.Duration(q.number("wait", 0, 0, int64(maxWait/time.Second))) * time.Second,
		limit:  int(q.number("limit", defaultEvents, 1, maxEvents)),
		stream: accepts(&r.http.Request.Header, headerAccept, "text/event-stream"),
	}
	begin, name := q.raw("after"), "after"
	if id := r.http.Request.Header.PeekCanonical(headerLastEventID); f.stream && len(id) > 0 {
		begin, name = string(id), "Last-Event-ID"
	} else if f.stream && begin == "" {
		begin = "now"
	}
	if q.err != nil {
		return nil, q.err
	}
	return f, e.place(r, f, name, begin)
}

// place sets the start position: a cursor, the end, or the oldest stored event. A cursor beyond the
// end means the end. That occurs only after a backup was restored.
func (e *events) place(r *request, f *follower, name, begin string) error {
	if begin == "" {
		return nil
	}
	if begin == "now" {
		var err error
		f.after, err = e.port.Present(r.ctx, f.account)
		return err
	}
	var ok bool
	if f.after, ok = parseCursor(f.account, begin); !ok {
		return fault.Field(name, "is not a valid cursor of this account. Use 'next' of an earlier response or the id of an event, or start with after=now")
	}
	f.asked = true
	end, err := e.port.JournalEnd(r.ctx, f.account)
	f.after = min(f.after, end)
	return err
}

// page reads up to limit of the next events, and keeps those that match f. Their rows take up to
// most octets, unless a single one is larger. A small page is read without a charge. For more, the
// request is charged before reading, for the rows and the rendered response. If there is no room,
// the page ends early; it fails only if it would be empty.
func (e *events) page(r *request, f *follower, limit, most int) (changefeed.Page, error) {
	held := smallAnswer
	page, err := e.port.Events(r.ctx, f.account, f.after, f.address, changefeed.Limit{Entries: limit, Bytes: min(held, most)})
	for err == nil && page.Need > 0 && (held < most || len(page.Entries) == 0) {
		held = max(min(16*held, most), page.Size+page.Need)
		if !r.widen(2 * int64(held)) {
			if len(page.Entries) == 0 {
				err = errCrowded
			}
			break
		}
		var rest changefeed.Page
		rest, err = e.port.Events(r.ctx, f.account, page.Last, f.address, changefeed.Limit{Entries: limit - len(page.Entries), Bytes: held - page.Size})
		page.Add(rest)
	}
	if f.to != "" {
		page.Entries = slices.DeleteFunc(page.Entries, func(e changefeed.Entry) bool { return !e.IsTo(f.to) })
	}
	if len(page.Entries) == 0 {
		r.release()
	}
	return page, err
}

// maxEventsTail is an upper bound of what follows the events in the response.
const maxEventsTail = 256

// write responds to a poll with a page. Each event has the form of a webhook body.
func (f *follower) write(r *request, page changefeed.Page) error {
	b := append(make([]byte, 0, 64+256*len(page.Entries)), `{"events":[`...)
	for i := range page.Entries {
		end := len(b)
		if i > 0 {
			b = append(b, ',')
		}
		b = webhook.Append(b, &page.Entries[i].Public)
		if i > 0 && len(b) > maxEventsBytes-maxEventsTail {
			b, page.Last, page.More = b[:end], page.Entries[i-1].Seq, true
			break
		}
	}
	b = append(b, `],"next":"`...)
	b = append(appendCursor(b, f.account, page.Last), `","has_more":`...)
	b = strconv.AppendBool(b, page.More)
	if page.Gap && f.asked {
		b = append(b, `,"gap":true`...)
	}
	writeJSON(r.http, fasthttp.StatusOK, append(b, '}'))
	return nil
}

// poll waits for events and responds.
func (e *events) poll(p *waiting, f *follower) {
	page, err := e.await(p, f)
	p.respond(err, func(r *request) error { return f.write(r, page) })
}

// await returns the first page with events, or an empty one at the end of the wait.
func (e *events) await(p *waiting, f *follower) (page changefeed.Page, err error) {
	p.server.waiters.Add(1)
	defer p.server.waiters.Add(-1)
	reader := e.port.Listen(f.account, f.address)
	defer reader.Close()
	for until := time.Now().Add(f.wait); ; {
		signal := reader.Next()
		if page, err = e.read(p, f, f.limit, maxEventsBytes); err != nil || len(page.Entries) > 0 || page.More {
			return page, err
		}
		over, err := p.attend(f, reader, signal, until)
		if page.Last = f.after; over || err != nil {
			return page, err
		}
	}
}

// read reads a page and advances the follower.
func (e *events) read(p *waiting, f *follower, limit, most int) (page changefeed.Page, err error) {
	stackpool.Do(func() { // so that a waiting goroutine does not keep a stack of 16 KiB
		err = p.with(func(r *request) error {
			page, err = e.page(r, f, limit, most)
			return err
		})
	})
	f.after = max(f.after, page.Last)
	return page, err
}

// attend waits at the end of the journal until there is something to read or the deadline passes.
// It returns an error if the follower's inbox was deleted.
func (p *waiting) attend(f *follower, reader *changefeed.Reader, signal *changefeed.Signal, until time.Time) (bool, error) {
	var superseded <-chan struct{}
	if p.view != nil {
		superseded = p.view.Superseded()
	}
	over, err := p.pause(until, signal.C, superseded)
	select {
	case <-superseded:
		if err == nil {
			err = p.with((*request).look)
		}
	default:
	}
	f.after = max(f.after, reader.Passed(signal))
	return over, err
}
