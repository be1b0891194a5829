package account

import (
	"time"

	"inboxd/internal/base/fault"
)

// Some names belong to one account alone: sign-in e-mail addresses and subdomains of the service.
// Each name has an owner, in the partition of the name, which decides who holds it (ADR 0048). The
// holder is the only state of such a name.

// Holding is the holder of a name; the zero value: nobody.
type Holding struct {
	Account ID
	Claim   int64 // number of the account's claim; 0 for an e-mail address, which is claimed once
}

// NameCommand is an order to one name.
type NameCommand interface {
	holder(Holding) Holding
}

// Commands of a name. Each may be repeated.
type (
	// ClaimName gives the name to By, unless another account holds it. Instead, if not zero, is a
	// holder that By may replace. It is an account that was never opened and never can be, see
	// Void, or a claim that was yielded, see YieldClaim. The holder's own claims only replace those
	// with a lower number, so a late command does not restore a yielded claim.
	ClaimName struct{ By, Instead Holding }
	// FreeName ends what Of holds. It does nothing if another account holds the name.
	FreeName struct{ Of ID }
)

// Holder returns the holder of a name after cmd.
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

// Void ensures that an account that does not exist is never opened, so that another may have its
// e-mail address. It is Refused if the account was opened. Its effect is permanent, so a delayed
// Open is refused however late it arrives.
type Void struct{ ID ID }

type voided struct {
	ID ID
	At time.Time
}

func (c Void) decide(s *State, env Env) ([]Event, error) {
	switch {
	case !s.CreatedAt.IsZero():
		return nil, fault.New(fault.Refused, "This account already exists")
	case !s.ClosingAt.IsZero():
		return nil, nil
	}
	return []Event{voided{c.ID, env.Now}}, nil
}

// apply leaves an account that is closing and was never created.
func (e voided) apply(s *State)         { s.ID, s.ClosingAt = e.ID, e.At }
func (e voided) rows(s *State, r *Rows) { r.profile(s) }
