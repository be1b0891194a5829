package wire

import (
	"bytes"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
)

// smallCharge is what counts as little: a budget keeps a part of itself for such charges, so
// that a few large ones keep nobody from everyday requests.
const smallCharge = 64 << 10

// Budget bounds the octets that requests hold while they depend on a peer: all together, and
// those of each account. Any goroutine may use it.
type Budget struct {
	all, each, spare int64 // spare: for small charges, beyond either

	mu    sync.Mutex           // guards what is below
	held  int64                // of all
	of    map[account.ID]int64 // of each that holds something
	freed chan struct{}        // closed when something is given back; nil: nobody waits
}

// NewBudget makes one of which each account may have a half.
func NewBudget(all int64) *Budget {
	return &Budget{all: all, each: all / 2, spare: all / 8, of: map[account.ID]int64{}}
}

// Charge returns a charge of nothing.
func (b *Budget) Charge(id account.ID) *Charge { return &Charge{budget: b, account: id} }

// Charge is what one request holds of a budget. One goroutine at a time has it.
type Charge struct {
	budget  *Budget
	account account.ID
	held    int64
}

// Set makes the charge n; false when there is no room for more, and it stays as it was. What is larger than
// an account's share has room only while the account holds nothing else.
func (c *Charge) Set(n int64) bool {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set(c, n)
}

func (b *Budget) set(c *Charge, n int64) bool {
	more, spare := n-c.held, int64(0)
	if n <= smallCharge {
		spare = b.spare
	}
	others := b.of[c.account] - c.held // what else the account holds
	if more > 0 && (b.held+more > b.all+spare || others > 0 && others+n > b.each+spare) {
		return false
	}
	c.held = n
	b.held += more
	if b.of[c.account] += more; b.of[c.account] == 0 {
		delete(b.of, c.account)
	}
	if more < 0 && b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
	return true
}

// Await is Set, but waits for room. Only a charge of nothing may wait, or two would wait for
// each other.
func (c *Charge) Await(n int64, most time.Duration) bool {
	over := time.NewTimer(most)
	defer over.Stop()
	for {
		freed := c.try(n)
		if freed == nil {
			return true
		}
		select {
		case <-freed:
		case <-over.C:
			return false
		}
	}
}

// try returns nil, or what is closed when it is worth to try again.
func (c *Charge) try(n int64) <-chan struct{} {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.set(c, n) {
		return nil
	}
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	return b.freed
}

// Held is how many octets are held now.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Hold leaves the charge with the body of the response until that is written, or will never
// be: fasthttp closes a body stream in every case.
func (c *Charge) Hold(at *fasthttp.RequestCtx) {
	h := &held{charge: c}
	body := at.Response.Body()
	h.Reset(body)
	if h.conn, _ = at.Conn().(*conn); h.conn != nil {
		h.conn.piece = len(body) / heldPieces
	}
	at.Response.SetBodyStream(h, len(body))
}

// held is a body in memory, on its way.
type held struct {
	bytes.Reader
	charge *Charge
	conn   *conn
}

// Close may come more than once.
func (h *held) Close() error {
	if h.conn != nil {
		h.conn.piece = 0
	}
	h.charge.Set(0)
	return nil
}
