package account

import (
	"time"

	"inboxd/internal/base/fault"
)

// Names that belong to one account alone, e-mail addresses that sign in and subdomains of the
// service, are decided by an owner each, in the partition of the name (ADR 0048). All there is to
// such a name is who holds it.

// Holding says who holds a name; the zero one: nobody.
type Holding struct {
	Account ID
	Claim   int64 // number of the account's claim; 0 of an e-mail address, which is claimed once
}

// NameCommand is an order to one name.
type NameCommand interface {
	holder(Holding) Holding
}

// Commands of a name. Each may be repeated.
type (
	// ClaimName gives the name to By, unless another account holds it. Instead, if it is not zero,
	// gives way: an account that never was opened, and never can be, see Void; or a claim that was
	// yielded, see YieldClaim. The holder's own claims only replace those with a lower number, so
	// that one that comes late does not bring back what was yielded.
	ClaimName struct{ By, Instead Holding }
	// FreeName ends what Of holds. What has become somebody else's stays.
	FreeName struct{ Of ID }
)

// Holder says who holds a name after cmd.
func Holder(holder Holding, cmd NameCommand) Holding { return cmd.holder(holder) }

func (c ClaimName) holder(now Holding) Holding {
	switch {
	case now == Holding{}, now == c.Instead:
		return c.By
	case now.Account == c.By.Account && now.Claim < c.By.Claim:
		return c.By
	}
	return now
}

func (c FreeName) holder(now Holding) Holding {
	if now.Account == c.Of {
		return Holding{}
	}
	return now
}

// Void makes sure that an account which does not exist is never opened: its e-mail address goes
// to another. Refused when it was opened. What it leaves stays for ever, so that an Open that was
// on its way for however long comes too late.
type Void struct{ ID ID }

type voided struct {
	ID ID
	At time.Time
}

func (c Void) decide(s *State, env Env) ([]Event, error) {
	switch {
	case !s.CreatedAt.IsZero():
		return nil, fault.New(fault.Refused, "This account exists already")
	case !s.ClosingAt.IsZero():
		return nil, nil
	}
	return []Event{voided{c.ID, env.Now}}, nil
}

// apply leaves an account that is closing and never was created.
func (e voided) apply(s *State)         { s.ID, s.ClosingAt = e.ID, e.At }
func (e voided) rows(s *State, r *Rows) { r.profile(s) }
