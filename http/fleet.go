package http

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// fleets has the calls for accounts with many inboxes: creation in batches, one list of the
// messages of all inboxes, and deletion of old messages (specification, Fleets; ADR 0056).
type fleets struct {
	inboxes  *inboxes
	messages *messages
	accounts Auth
}

func (f *fleets) routes() []route {
	return []route{
		{post, agentInboxes + "/batch", creators, manage, false, batchShape, f.createInboxes},
		{get, "/api/v1/messages", creators, read, false, nil, f.listMessages},
		{remove, agentInbox + "/messages", anyone, write, false, nil, f.deleteMessages},
	}
}

// across is a query for messages over all inboxes of an account.
type across struct {
	listing
	match  wanted // otp, from, verified and subject
	boxes  boxes
	behind place
	cut    bool // more candidates exist than were kept
}

func (r *request) across() (across, error) {
	q := r.query()
	a := across{
		listing: listing{
			limit: int(q.number("limit", defaultInboxes, 1, maxInboxes)), before: math.MaxInt64,
			to: q.recipient(r), since: q.moment("since"), unread: q.flag("unread"), search: q.text("q"),
			direction: q.direction(), fields: q.selection(listFields),
		},
		match: wanted{otp: q.flag("otp"), from: q.sender("from"), proven: q.flag("verified"), subject: q.text("subject")},
		boxes: boxes{label: q.text("label")}, behind: q.place("cursor"),
	}
	return a, q.err
}

// candidate is a message that a list may contain.
type candidate struct {
	place
	meta *inbox.Message
	view *inbox.View
}

// listMessages lists the newest messages of all inboxes.
func (f *fleets) listMessages(r *request) error {
	a, err := r.across()
	if err != nil {
		return err
	}
	if a.fields&contentFields != 0 || a.search != "" {
		if err := r.charged(min(int64(a.limit)*listBodyBytes, maxListBytes) + maxContentBytes); err != nil {
			return err
		}
	}
	if r.done, err = r.server.turns.Take(r.ctx, r.principal.Account); err != nil {
		return err
	}
	found, lost, err := f.candidates(r, &a)
	if err != nil {
		return err
	}
	b, damaged, next, err := f.appendAcross([]byte(`{"emails":[`), r, &a, found)
	if err != nil {
		return err
	}
	b = append(b, `],"next_cursor":`...)
	if next == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, next)
	}
	for _, address := range lost {
		damaged = append(damaged, candidate{place: place{address: address}})
	}
	if len(damaged) > 0 {
		b = appendList(append(b, `,"damaged":`...), damaged, appendDamaged)
	}
	writeJSON(r.http, fasthttp.StatusOK, append(b, '}'))
	return nil
}

// appendDamaged appends a damaged message, or a whole inbox if there is no id.
func appendDamaged(b []byte, c candidate) []byte {
	b = appendString(append(b, `{"inbox":`...), c.address)
	if c.id != 0 {
		b = strconv.AppendInt(append(b, `,"id":`...), c.id, 10)
	}
	return append(b, '}')
}

// candidates returns the messages that match by the facts in memory, newest first. It returns at
// least as many as the list shows; all of them if texts are searched. lost are the inboxes that
// cannot be read.
func (f *fleets) candidates(r *request, a *across) (found []candidate, lost []string, err error) {
	most := 4 * maxInboxes
	if a.search != "" {
		most = math.MaxInt
	}
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := f.inboxes.port.ListInboxes(r.ctx, r.principal.Account, cursor, maxInboxes, a.boxes.take)
		if err != nil {
			return nil, nil, err
		}
		cursor, lost = page.Next, append(lost, page.Damaged...)
		for _, v := range page.Views {
			if found = a.appendOf(found, r, v); len(found) > most {
				found, a.cut = newestOf(found, a.limit+1), true
			}
		}
	}
	return newestOf(found, len(found)), lost, nil
}

func (a *across) appendOf(found []candidate, r *request, v *inbox.View) []candidate {
	r.view = v
	for _, m := range v.Messages {
		at := place{m.ReceivedAt.UnixMilli(), v.Address, m.ID}
		if m.Expired(r.now) || a.behind.compare(at) >= 0 || !a.takes(m) {
			continue
		}
		if m.Damaged || a.match.all(r, m) {
			found = append(found, candidate{at, m, v})
		}
	}
	return found
}

func newestOf(found []candidate, n int) []candidate {
	slices.SortFunc(found, func(a, b candidate) int { return a.place.compare(b.place) })
	return found[:min(n, len(found))]
}

// appendAcross appends the messages with their inboxes. It returns the cursor of the next page,
// empty if there is none.
func (f *fleets) appendAcross(b []byte, r *request, a *across, found []candidate) (_ []byte, damaged []candidate, next string, err error) {
	shown := 0
	for i, c := range found {
		r.view, r.address = c.view, c.address
		e := messageJSON{meta: c.meta, bodyMax: listBodyBytes}
		here, err := f.messages.found(r, &e, a.search)
		if err == nil && !here {
			continue
		}
		if shown+len(damaged) == a.limit || len(b) >= maxListBytes {
			return b, damaged, found[i-1].cursor(), nil
		}
		if err == nil {
			here, err = f.messages.fill(r, &e, a.fields)
		}
		switch {
		case fault.Is(err, fault.Damaged):
			damaged = append(damaged, c)
		case err != nil:
			return b, nil, "", err
		case here:
			if shown++; shown > 1 {
				b = append(b, ',')
			}
			b = appendString(append(b, `{"inbox":`...), c.address)
			rest := len(b)
			b = appendMessage(b, &e, a.fields)
			b[rest] = ',' // the message's members follow in the same object
		}
	}
	if a.cut { // some of the kept candidates were deleted in the meantime
		next = found[len(found)-1].cursor()
	}
	return b, damaged, next, nil
}

// deleteMessages deletes old messages of an inbox, or of one tag of it.
func (f *fleets) deleteMessages(r *request) error {
	q := r.query()
	before, older := q.raw("before"), q.raw("older_than")
	cmd := inbox.DeleteOlder{Before: q.number("before", 0, 1, math.MaxInt64), To: r.tagged}
	if hours := q.number("older_than", 0, 1, maxOlder); hours > 0 {
		cmd.Until = r.now.Add(-time.Duration(hours) * time.Hour)
	}
	if (before == "") == (older == "") {
		q.bad("before", "or 'older_than' is required, but not both")
	}
	if q.err != nil {
		return q.err
	}
	gone, err := f.messages.port.Do(r.ctx, r.address, cmd)
	return r.json(fasthttp.StatusOK, struct {
		OK      bool `json:"ok"`
		Deleted int  `json:"deleted"`
	}{true, gone.Count}, err)
}

// maxOlder is ten years, in hours.
const maxOlder = 87_600

const (
	maxBatch = 1000
	// batchAtOnce is how many creations of a batch run concurrently, so that their commits share
	// disk syncs.
	batchAtOnce = 256
)

// creation is one entry of a batch with its result.
type creation struct {
	body  jsontext.Value
	req   idempotency.Request
	order inbox.Order
	told  []byte
	err   error
}

// createInboxes creates up to maxBatch inboxes. Each entry has its own result, in the order of the
// request.
func (f *fleets) createInboxes(r *request) error {
	all, err := f.creations(r)
	if err != nil {
		return err
	}
	together, after, err := f.plan(r, all)
	if err != nil {
		return err
	}
	var makers sync.WaitGroup
	work := make(chan *creation)
	for range min(batchAtOnce, len(together)) {
		makers.Go(func() {
			for c := range work {
				f.create(r, c)
			}
		})
	}
	for _, c := range together {
		work <- c
	}
	close(work)
	makers.Wait()
	for _, c := range after {
		f.create(r, c)
	}
	b := []byte(`{"results":[`)
	for i, c := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendResult(b, c)
	}
	writeJSON(r.http, fasthttp.StatusOK, append(b, "]}"...))
	return nil
}

// creations parses the batch. With an idempotency key, the whole batch is refused if the key was
// used for a different one: each created entry has a record under a key derived from it.
func (f *fleets) creations(r *request) ([]*creation, error) {
	named, err := r.once()
	if err != nil {
		return nil, err
	}
	list, _ := r.body["inboxes"].([]jsontext.Value)
	all := make([]*creation, len(list))
	for i, body := range list {
		c := &creation{body: body, req: named.Part(i)}
		if v, err := decode(body, orderShape); err != nil {
			c.err = err
		} else {
			c.order = v.order()
		}
		if c.req.Repeatable() {
			if err := f.inboxes.port.CheckRequest(r.ctx, r.principal.Account, c.req); err != nil {
				return nil, err
			}
		}
		all[i] = c
	}
	return all, nil
}

// plan decides which creations may run concurrently, and which must follow one after the other. If
// there may not be enough places, all run in sequence, so that the first ones get them. A prefix
// that occurred before in the batch also runs in sequence, so that its first entry gets it.
func (f *fleets) plan(r *request, all []*creation) (together, after []*creation, err error) {
	usage, err := f.accounts.Usage(r.ctx, r.principal.Account)
	if err != nil {
		return nil, nil, err
	}
	scarce := usage.Inboxes+int64(len(all)) > usage.Plan.MaxInboxes
	prefixes := map[string]bool{}
	for _, c := range all {
		prefix := ""
		if c.order.Prefix != nil {
			prefix = *c.order.Prefix
		}
		switch {
		case c.err != nil:
		case scarce, prefix != "" && prefixes[prefix]:
			after = append(after, c)
		default:
			together = append(together, c)
		}
		prefixes[prefix] = true
	}
	return together, after, nil
}

func (f *fleets) create(r *request, c *creation) {
	if c.req.Repeatable() {
		var made idempotency.Result
		made, c.err = f.inboxes.port.CreateInboxOnce(r.ctx, r.principal.Account, c.order, c.req, created)
		c.told = made.Told
		return
	}
	view, place, err := f.inboxes.port.CreateInbox(r.ctx, r.principal.Account, c.order)
	if c.err = err; err == nil {
		c.told = created(place, view.CreatedAt)
	}
}

// appendResult appends what the response to a single creation would be.
func (r *request) appendResult(b []byte, c *creation) []byte {
	if c.err == nil {
		return append(append(append(b, `{"status":201,"inbox":`...), c.told...), '}')
	}
	status, detail := r.server.judge(r, c.err)
	b = strconv.AppendInt(append(b, `{"status":`...), int64(status), 10)
	return append(appendString(append(b, `,"detail":`...), detail), '}')
}
