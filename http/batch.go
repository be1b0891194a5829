package http

import (
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"inboxd/internal/inbox"
	"inboxd/internal/once"
)

const (
	maxBatch = 1000
	// batchAtOnce is how many creations of a batch are under way at once: their commits share syncs.
	batchAtOnce = 256
)

// creation is one entry of a batch, and what became of it.
type creation struct {
	body  jsontext.Value
	req   once.Request
	order inbox.Order
	told  []byte
	err   error
}

// createInboxes makes up to a thousand inboxes. Each has its own result, in order.
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

// creations reads the batch. A named one is refused when its name was used for another: entries that
// were made then have records under names of their own.
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

// plan says which creations may be under way at once, and which come one after the other behind them:
// all of them when there may not be places for all, so that the first ones get them, and those whose
// prefix stands before in the batch, so that the first one has it.
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
		var made once.Result
		made, c.err = f.inboxes.port.CreateInboxOnce(r.ctx, r.principal.Account, c.order, c.req, created)
		c.told = made.Told
		return
	}
	view, place, err := f.inboxes.port.CreateInbox(r.ctx, r.principal.Account, c.order)
	if c.err = err; err == nil {
		c.told = created(place, view.CreatedAt)
	}
}

// appendResult appends what a single creation would have answered.
func (r *request) appendResult(b []byte, c *creation) []byte {
	if c.err == nil {
		return append(append(append(b, `{"status":201,"inbox":`...), c.told...), '}')
	}
	status, detail := r.server.judge(r, c.err)
	b = strconv.AppendInt(append(b, `{"status":`...), int64(status), 10)
	return append(appendString(append(b, `,"detail":`...), detail), '}')
}
