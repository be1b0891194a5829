package http

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/deep"
	"inboxd/internal/follow"
	"inboxd/internal/webhook"
)

const (
	defaultEvents = 100
	maxEvents     = 500
)

var (
	headerAccept      = []byte("Accept")
	headerLastEventID = []byte("Last-Event-Id")
	typeEventStream   = []byte("text/event-stream")
)

// follower is a reader of a change journal: of the account, or of the one inbox in address.
type follower struct {
	account account.ID
	address string
	after   uint64 // read so far
	asked   bool   // the client said where to begin
	stream  bool
	wait    time.Duration
	limit   int
}

// events answers with what happened, to the account or to one inbox: as a stream when the
// client asks for one, else at once or as a long poll (specification, Events; ADR 0009).
func (s *Server) events(r *request) error {
	f, err := s.follower(r)
	if err != nil {
		return err
	}
	if f.stream {
		return s.park(r, func(p *waiting) { p.stream(f) })
	}
	page, err := s.accounts.Events(r.ctx, f.account, f.after, f.address, f.limit)
	if err != nil {
		return err
	}
	if len(page.Entries) == 0 && !page.More && f.wait > 0 {
		f.after = page.Last
		return s.park(r, func(p *waiting) { p.poll(f) })
	}
	return f.write(r, page)
}

// follower reads what a request asks for. An inbox key follows its own inbox only.
func (s *Server) follower(r *request) (*follower, error) {
	if r.principal.Kind == account.KindInboxKey && r.address == "" {
		r.address = r.principal.Inbox
		if err := s.look(r); err != nil {
			return nil, err
		}
	}
	q := r.query()
	f := &follower{
		account: r.principal.Account, address: r.address,
		wait:   time.Duration(q.number("wait", 0, 0, int64(maxWait/time.Second))) * time.Second,
		limit:  int(q.number("limit", defaultEvents, 1, maxEvents)),
		stream: bytes.Contains(r.http.Request.Header.PeekCanonical(headerAccept), typeEventStream),
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
	return f, s.place(r, f, name, begin)
}

// place sets where a follower begins: at a cursor, at the end, or at the oldest event that
// is kept. A cursor beyond the end, which only a restored backup leaves behind, means the end.
func (s *Server) place(r *request, f *follower, name, begin string) error {
	if begin == "" {
		return nil
	}
	if begin == "now" {
		var err error
		f.after, err = s.accounts.Present(r.ctx, f.account)
		return err
	}
	var ok bool
	if f.after, ok = parseCursor(f.account, begin); !ok {
		return invalid("'%s' is not a cursor that this service gave to this account. Take one from 'next' or from the id of an event, or begin with after=now", name)
	}
	f.asked = true
	end, err := s.accounts.JournalEnd(r.ctx, f.account)
	f.after = min(f.after, end)
	return err
}

// write answers a poll with a page: each event is the body that a webhook gets.
func (f *follower) write(r *request, page follow.Page) error {
	b := append(make([]byte, 0, 64+256*len(page.Entries)), `{"events":[`...)
	for i := range page.Entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = webhook.Append(b, &page.Entries[i].Public)
	}
	b = append(b, `],"next":"`...)
	b = append(appendCursor(b, f.account, page.Last), '"')
	if page.Gap && f.asked {
		b = append(b, `,"gap":true`...)
	}
	writeJSON(r.http, fasthttp.StatusOK, append(b, '}'))
	return nil
}

// poll waits for events and answers.
func (p *waiting) poll(f *follower) {
	page, err := p.awaitEvents(f)
	p.respond(err, func(r *request) error { return f.write(r, page) })
}

// awaitEvents returns the first page that holds something, or an empty one at the end.
func (p *waiting) awaitEvents(f *follower) (page follow.Page, err error) {
	s := p.server
	s.waiters.Add(1)
	defer s.waiters.Add(-1)
	reader := s.accounts.Listen(f.account, f.address)
	defer reader.Close()
	for until := time.Now().Add(f.wait); ; {
		signal := reader.Next()
		if page, err = p.read(f, f.limit); err != nil || len(page.Entries) > 0 || page.More {
			return page, err
		}
		over, err := p.attend(f, reader, signal, until)
		if page.Last = f.after; over || err != nil {
			return page, err
		}
	}
}

// read reads on and moves the follower.
func (p *waiting) read(f *follower, limit int) (page follow.Page, err error) {
	deep.Do(func() { // one that waits would keep a stack of 16 KiB
		err = p.with(func(r *request) error {
			page, err = p.server.accounts.Events(r.ctx, f.account, f.after, f.address, limit)
			return err
		})
	})
	f.after = max(f.after, page.Last)
	return page, err
}

// attend waits at the journal's end until there is something to read or the time is over. A
// follower of one inbox ends with the inbox.
func (p *waiting) attend(f *follower, reader *follow.Reader, signal *follow.Signal, until time.Time) (bool, error) {
	var superseded <-chan struct{}
	if p.view != nil {
		superseded = p.view.Superseded()
	}
	over, err := p.pause(until, signal.C, superseded)
	select {
	case <-superseded:
		if err == nil {
			err = p.with(p.server.look)
		}
	default:
	}
	f.after = max(f.after, reader.Passed(signal))
	return over, err
}
