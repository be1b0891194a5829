package account

import (
	"time"

	"inboxd/internal/base/fault"
)

// Some names belong to one account alone: sign-in e-mail addresses and subdomains of the service.
// Each name has an owner, in the partition of the name, which decides who holds it (ADR 0048). The
// holder is the only state of such a name.

// NameHolder is the holder of a name; the zero value: nobody.
type NameHolder struct {
	Account     ID
	ClaimNumber int64 // number of the account's claim; 0 for an e-mail address, which is claimed once
}

// NameCommand is an order to one name.
type NameCommand interface {
	holderAfter(NameHolder) NameHolder
}

// Commands of a name. Each may be repeated.
type (
	// ClaimName gives the name to By, unless another account holds it. Instead, if not zero, is a
	// holder that By may replace. It is an account that was never opened and never can be, see
	// BarOpening, or a claim that was yielded, see YieldClaim. The holder's own claims only replace
	// those with a lower number, so a late command does not restore a yielded claim.
	ClaimName struct{ By, ReplacedHolder NameHolder }
	// FreeName ends what Of holds. It does nothing if another account holds the name.
	FreeName struct{ Of ID }
)

// HolderAfter returns the holder of a name after cmd.
func HolderAfter(holder NameHolder, cmd NameCommand) NameHolder { return cmd.holderAfter(holder) }

func (c ClaimName) holderAfter(now NameHolder) NameHolder {
	switch {
	case now == NameHolder{}, now == c.ReplacedHolder:
		return c.By
	case now.Account == c.By.Account && now.ClaimNumber < c.By.ClaimNumber:
		return c.By
	}
	return now
}

func (c FreeName) holderAfter(now NameHolder) NameHolder {
	if now.Account == c.Of {
		return NameHolder{}
	}
	return now
}

// BarOpening ensures that an account that does not exist is never opened, so that another may have its
// e-mail address. It is Refused if the account was opened. Its effect is permanent, so a delayed
// Open is refused however late it arrives.
type BarOpening struct{ ID ID }

type openingBarred struct {
	ID ID
	At time.Time
}

func (c BarOpening) decideEvents(s *State, env Env) ([]Event, error) {
	switch {
	case !s.CreatedAt.IsZero():
		return nil, fault.Refuse(fault.CodeAlreadyExists, "This account already exists")
	case !s.ClosingAt.IsZero():
		return nil, nil
	}
	return []Event{openingBarred{c.ID, env.Now}}, nil
}

// applyTo leaves an account that is closing and was never created.
func (e openingBarred) applyTo(s *State)              { s.ID, s.ClosingAt = e.ID, e.At }
func (e openingBarred) collectRows(s *State, r *Rows) { r.writeProfile(s) }
