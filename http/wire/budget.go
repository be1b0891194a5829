package wire

import (
	"bytes"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
)

// smallCharge is the limit of a small charge. A budget reserves a part for small charges, so that a
// few large ones cannot block everyday requests.
const smallCharge = 64 << 10

// Budget bounds the octets that requests hold while they depend on a peer: in total, and per
// account. Any goroutine may use it.
type Budget struct {
	all, each, spare int64 // spare: for small charges, in addition to either limit

	mu    sync.Mutex           // guards what is below
	held  int64                // in total
	of    map[account.ID]int64 // of each account that holds something
	freed chan struct{}        // closed when something is released; nil: nobody waits
}

// NewBudget returns a budget of which each account may use half.
func NewBudget(all int64) *Budget {
	return &Budget{all: all, each: all / 2, spare: all / 8, of: map[account.ID]int64{}}
}

// Charge returns a charge of zero octets.
func (b *Budget) Charge(id account.ID) *Charge { return &Charge{budget: b, account: id} }

// Charge is what one request holds of a budget. Only one goroutine at a time may use it.
type Charge struct {
	budget  *Budget
	account account.ID
	held    int64
}

// Set changes the charge to n. It returns false, and changes nothing, if there is no room. A charge
// above an account's share fits only while the account holds nothing else.
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
	others := b.of[c.account] - c.held // what the other requests of the account hold
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

// Await is Set, but waits at most so long for room. Only a charge of zero may wait: otherwise two
// could wait for each other forever.
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

// try returns nil, or a channel that is closed when a retry may succeed.
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

// Held returns how many octets are held now.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Hold keeps the charge until the body of the response is written or abandoned. fasthttp closes a
// body stream in both cases.
func (c *Charge) Hold(at *fasthttp.RequestCtx) {
	h := &held{charge: c}
	body := at.Response.Body()
	h.Reset(body)
	if h.conn, _ = at.Conn().(*conn); h.conn != nil {
		h.conn.piece = len(body) / heldPieces
	}
	at.Response.SetBodyStream(h, len(body))
}

// held is a body in memory that is being written.
type held struct {
	bytes.Reader
	charge *Charge
	conn   *conn
}

// Close may be called more than once.
func (h *held) Close() error {
	if h.conn != nil {
		h.conn.piece = 0
	}
	h.charge.Set(0)
	return nil
}
