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

// EventReader is what the handlers of events need: the change journals of accounts. Events are durable
// before they are visible, so after a crash a number still means the same event.
type EventReader interface {
	// ReadEvents reads entries with numbers above after, up to a limit. It reads only entries of one
	// inbox unless address is empty.
	ReadEvents(ctx context.Context, id account.ID, after uint64, address string, limit changefeed.ReadLimit) (changefeed.JournalPage, error)
	// JournalEnd returns the number of the newest entry, or 0 if there is none.
	JournalEnd(ctx context.Context, id account.ID) (uint64, error)
	// CurrentEnd is JournalEnd, but includes every event that was committed before the call.
	CurrentEnd(ctx context.Context, id account.ID) (uint64, error)
	// AddListener registers a reader. The caller must close it.
	AddListener(id account.ID, address string) *changefeed.JournalReader
}

// eventHandlers has the handlers by which clients follow events.
type eventHandlers struct {
	eventReader EventReader
	server      *Server
}

func (e *eventHandlers) listRoutes() []routeSpec {
	return []routeSpec{
		{methodGet, "/api/v1/events", anyCredential, scopeRead, false, nil, e.showEvents},
		{methodGet, agentInbox + "/events", anyCredential, scopeRead, false, nil, e.showEvents},
	}
}

// journalFollower reads the change journal of an account, or of the inbox in address. The goroutine
// of its request owns it.
type journalFollower struct {
	account     account.ID
	address     string
	to          string // only events about messages to this envelope recipient; empty: all events
	afterNumber uint64 // position: events up to this number were read
	hasStart    bool   // the client gave a start position
	wantsStream bool
	maxWaiting  time.Duration
	maxEvents   int
}

// showEvents responds with the events of the account or of one inbox: as a stream if the client
// asks for one, else immediately or by a long poll (specification, Events; ADR 0009).
func (e *eventHandlers) showEvents(r *apiRequest) error {
	f, err := e.newFollower(r)
	if err != nil {
		return err
	}
	if f.wantsStream {
		return e.server.parkRequest(r, func(p *parkedRequest) {
			e.streamEvents(p, f)
			p.CloseConn()
		})
	}
	page, err := e.readPage(r, f, f.maxEvents, maxEventsBytes)
	if err != nil {
		return err
	}
	if len(page.Entries) == 0 && !page.HasMore && f.maxWaiting > 0 {
		f.afterNumber = page.LastPosition
		return e.server.parkRequest(r, func(p *parkedRequest) { e.pollEvents(p, f) })
	}
	return f.writePage(r, page)
}

// newFollower parses the query. An inbox key can follow only its own inbox.
func (e *eventHandlers) newFollower(r *apiRequest) (*journalFollower, error) {
	if r.principal.Kind == account.KindInboxKey && r.inboxAddress == "" {
		r.inboxAddress = r.principal.Inbox
		if err := r.refreshView(); err != nil {
			return nil, err
		}
	}
	q := r.queryReader()
	f := &journalFollower{
		account: r.principal.Account, address: r.inboxAddress, to: q.readRecipient(r),
		maxWaiting:  time.Duration(q.readNumber("wait", 0, 0, int64(maxWait/time.Second))) * time.Second,
		maxEvents:   int(q.readNumber("limit", defaultEvents, 1, maxEvents)),
		wantsStream: acceptsValue(&r.httpCtx.Request.Header, headerAccept, "text/event-stream"),
	}
	begin, name := q.rawValue("after"), "after"
	if id := r.httpCtx.Request.Header.PeekCanonical(headerLastEventID); f.wantsStream && len(id) > 0 {
		begin, name = string(id), "Last-Event-ID"
	} else if f.wantsStream && begin == "" {
		begin = "now"
	}
	if q.firstErr != nil {
		return nil, q.firstErr
	}
	return f, e.placeFollower(r, f, name, begin)
}

// placeFollower sets the start position: a cursor, the end, or the oldest stored event. A cursor
// beyond the end means the end. That occurs only after a backup was restored.
func (e *eventHandlers) placeFollower(r *apiRequest, f *journalFollower, name, begin string) error {
	if begin == "" {
		return nil
	}
	if begin == "now" {
		var err error
		f.afterNumber, err = e.eventReader.CurrentEnd(r.ctx, f.account)
		return err
	}
	var ok bool
	if f.afterNumber, ok = parseCursor(f.account, begin); !ok {
		return fault.InvalidField(name, "is not a valid cursor of this account. Use 'next' of an earlier response or the id of an event, or start with after=now")
	}
	f.hasStart = true
	end, err := e.eventReader.JournalEnd(r.ctx, f.account)
	f.afterNumber = min(f.afterNumber, end)
	return err
}

// readPage reads up to limit of the next events, and keeps those that match f. Their rows take up to
// most octets, unless a single one is larger. A small page is read without a charge. For more, the
// request is charged before reading, for the rows and the rendered response. If there is no room,
// the page ends early; it fails only if it would be empty.
func (e *eventHandlers) readPage(r *apiRequest, f *journalFollower, limit, most int) (changefeed.JournalPage, error) {
	held := smallAnswer
	page, err := e.eventReader.ReadEvents(r.ctx, f.account, f.afterNumber, f.address, changefeed.ReadLimit{MaxEntries: limit, MaxBytes: min(held, most)})
	for err == nil && page.NeededBytes > 0 && (held < most || len(page.Entries) == 0) {
		held = max(min(16*held, most), page.RowBytes+page.NeededBytes)
		if !r.widenCharge(2 * int64(held)) {
			if len(page.Entries) == 0 {
				err = errCrowded
			}
			break
		}
		var rest changefeed.JournalPage
		rest, err = e.eventReader.ReadEvents(r.ctx, f.account, page.LastPosition, f.address, changefeed.ReadLimit{MaxEntries: limit - len(page.Entries), MaxBytes: held - page.RowBytes})
		page.AppendPage(rest)
	}
	if f.to != "" {
		page.Entries = slices.DeleteFunc(page.Entries, func(e changefeed.JournalEntry) bool { return !e.IsTo(f.to) })
	}
	if len(page.Entries) == 0 {
		r.releaseTurn()
	}
	return page, err
}

// maxEventsTail is an upper bound of what follows the events in the response.
const maxEventsTail = 256

// writePage responds to a poll with a page. Each event has the form of a webhook body.
func (f *journalFollower) writePage(r *apiRequest, page changefeed.JournalPage) error {
	b := append(make([]byte, 0, 64+256*len(page.Entries)), `{"events":[`...)
	for i := range page.Entries {
		end := len(b)
		if i > 0 {
			b = append(b, ',')
		}
		b = webhook.AppendPayload(b, &page.Entries[i].PublicEvent)
		if i > 0 && len(b) > maxEventsBytes-maxEventsTail {
			b, page.LastPosition, page.HasMore = b[:end], page.Entries[i-1].Seq, true
			break
		}
	}
	b = append(b, `],"next":"`...)
	b = append(appendCursor(b, f.account, page.LastPosition), `","has_more":`...)
	b = strconv.AppendBool(b, page.HasMore)
	if page.HasGap && f.hasStart {
		b = append(b, `,"gap":true`...)
	}
	writeJSON(r.httpCtx, fasthttp.StatusOK, append(b, '}'))
	return nil
}

// pollEvents waits for events and responds.
func (e *eventHandlers) pollEvents(p *parkedRequest, f *journalFollower) {
	page, err := e.awaitPage(p, f)
	p.respondWith(err, func(r *apiRequest) error { return f.writePage(r, page) })
}

// awaitPage returns the first page with events, or an empty one at the end of the wait.
func (e *eventHandlers) awaitPage(p *parkedRequest, f *journalFollower) (page changefeed.JournalPage, err error) {
	p.server.waitingPolls.Add(1)
	defer p.server.waitingPolls.Add(-1)
	reader := e.eventReader.AddListener(f.account, f.address)
	defer reader.Close()
	for until := time.Now().Add(f.maxWaiting); ; {
		signal := reader.NextSignal()
		if page, err = e.readOn(p, f, f.maxEvents, maxEventsBytes); err != nil || len(page.Entries) > 0 || page.HasMore {
			return page, err
		}
		over, err := p.awaitEvents(f, reader, signal, until)
		if page.LastPosition = f.afterNumber; over || err != nil {
			return page, err
		}
	}
}

// readOn reads a page and advances the follower.
func (e *eventHandlers) readOn(p *parkedRequest, f *journalFollower, limit, most int) (page changefeed.JournalPage, err error) {
	stackpool.Do(func() { // so that a waiting goroutine does not keep a stack of 16 KiB
		err = p.withContext(func(r *apiRequest) error {
			page, err = e.readPage(r, f, limit, most)
			return err
		})
	})
	f.afterNumber = max(f.afterNumber, page.LastPosition)
	return page, err
}

// awaitEvents waits at the end of the journal until there is something to read or the deadline passes.
// It returns an error if the follower's inbox was deleted.
func (p *parkedRequest) awaitEvents(f *journalFollower, reader *changefeed.JournalReader, signal *changefeed.WakeSignal, until time.Time) (bool, error) {
	var superseded <-chan struct{}
	if p.inboxView != nil {
		superseded = p.inboxView.SupersededSignal()
	}
	over, err := p.pauseUntil(until, signal.C, superseded)
	select {
	case <-superseded:
		if err == nil {
			err = p.withContext((*apiRequest).refreshView)
		}
	default:
	}
	f.afterNumber = max(f.afterNumber, reader.PassedPosition(signal))
	return over, err
}
