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

// MemoryBudget bounds the octets that requests hold while they depend on a peer: in total, and per
// account. Any goroutine may use it.
type MemoryBudget struct {
	maxTotal, maxPerAccount, spareBytes int64 // spare: for small charges, in addition to either limit

	mu        sync.Mutex           // guards what is below
	heldBytes int64                // in total
	of        map[account.ID]int64 // of each account that holds something
	freedCh   chan struct{}        // closed when something is released; nil: nobody waits
}

// NewBudget returns a budget of which each account may use half.
func NewBudget(all int64) *MemoryBudget {
	return &MemoryBudget{maxTotal: all, maxPerAccount: all / 2, spareBytes: all / 8, of: map[account.ID]int64{}}
}

// NewCharge returns a charge of zero octets.
func (b *MemoryBudget) NewCharge(id account.ID) *BudgetCharge {
	return &BudgetCharge{budget: b, accountID: id}
}

// BudgetCharge is what one request holds of a budget. Only one goroutine at a time may use it.
type BudgetCharge struct {
	budget    *MemoryBudget
	accountID account.ID
	heldBytes int64
}

// SetBytes changes the charge to n. It returns false, and changes nothing, if there is no room. A
// charge above an account's share fits only while the account holds nothing else.
func (c *BudgetCharge) SetBytes(n int64) bool {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.setCharge(c, n)
}

func (b *MemoryBudget) setCharge(c *BudgetCharge, n int64) bool {
	more, spare := n-c.heldBytes, int64(0)
	if n <= smallCharge {
		spare = b.spareBytes
	}
	others := b.of[c.accountID] - c.heldBytes // what the other requests of the account hold
	if more > 0 && (b.heldBytes+more > b.maxTotal+spare || others > 0 && others+n > b.maxPerAccount+spare) {
		return false
	}
	c.heldBytes = n
	b.heldBytes += more
	if b.of[c.accountID] += more; b.of[c.accountID] == 0 {
		delete(b.of, c.accountID)
	}
	if more < 0 && b.freedCh != nil {
		close(b.freedCh)
		b.freedCh = nil
	}
	return true
}

// AwaitRoom is Set, but waits at most so long for room. Only a charge of zero may wait: otherwise two
// could wait for each other forever.
func (c *BudgetCharge) AwaitRoom(n int64, most time.Duration) bool {
	over := time.NewTimer(most)
	defer over.Stop()
	for {
		freed := c.tryCharge(n)
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

// tryCharge returns nil, or a channel that is closed when a retry may succeed.
func (c *BudgetCharge) tryCharge(n int64) <-chan struct{} {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.setCharge(c, n) {
		return nil
	}
	if b.freedCh == nil {
		b.freedCh = make(chan struct{})
	}
	return b.freedCh
}

// HeldBytes returns how many octets are held now.
func (b *MemoryBudget) HeldBytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.heldBytes
}

// HoldUntilWritten keeps the charge until the body of the response is written or abandoned.
// fasthttp closes a body stream in both cases.
func (c *BudgetCharge) HoldUntilWritten(at *fasthttp.RequestCtx) {
	h := &heldBody{charge: c}
	body := at.Response.Body()
	h.Reset(body)
	if h.conn, _ = at.Conn().(*deadlineConn); h.conn != nil {
		h.conn.pieceBytes = len(body) / heldPieces
	}
	at.Response.SetBodyStream(h, len(body))
}

// heldBody is a body in memory that is being written.
type heldBody struct {
	bytes.Reader
	charge *BudgetCharge
	conn   *deadlineConn
}

// Close may be called more than once.
func (h *heldBody) Close() error {
	if h.conn != nil {
		h.conn.pieceBytes = 0
	}
	h.charge.SetBytes(0)
	return nil
}
