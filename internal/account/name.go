package account

import (
	"time"

	"inboxd/internal/fault"
)

// Names that belong to one account alone, e-mail addresses that sign in and subdomains of the
// service, are decided by an owner each, in the partition of the name (ADR 0048). All there is to
// such a name is who holds it; the zero ID: nobody.

// NameCommand is an order to one name.
type NameCommand interface {
	holder(ID) ID
}

// Commands of a name. Each may be repeated.
type (
	// ClaimName gives the name to By, unless somebody else holds it. Instead, if it is not zero,
	// gives way: an account that never was opened, and never can be, see Void.
	ClaimName struct{ By, Instead ID }
	// FreeName ends what Of holds. What has become somebody else's stays.
	FreeName struct{ Of ID }
)

// Holder says who holds a name after cmd.
func Holder(holder ID, cmd NameCommand) ID { return cmd.holder(holder) }

func (c ClaimName) holder(now ID) ID {
	if now == (ID{}) || now == c.Instead {
		return c.By
	}
	return now
}

func (c FreeName) holder(now ID) ID {
	if now == c.Of {
		return ID{}
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
