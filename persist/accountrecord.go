package persist

import (
	"inboxd/internal/account"
	"inboxd/internal/once"
)

// The integer keys of these records are on disk: append only; never reorder or reuse.

type accountRecord struct {
	Email        string           `cbor:"1,keyasint,omitempty"`
	PasswordHash string           `cbor:"2,keyasint,omitempty"`
	Plan         account.PlanName `cbor:"3,keyasint,omitempty"`
	CreatedAt    stamp            `cbor:"4,keyasint,omitempty"`
	Inboxes      int64            `cbor:"5,keyasint,omitempty"`
	LastKey      int64            `cbor:"6,keyasint,omitempty"`
	AccountKeys  int64            `cbor:"7,keyasint,omitempty"`
	InboxKeys    int64            `cbor:"8,keyasint,omitempty"`
	ClosingAt    stamp            `cbor:"9,keyasint,omitempty"`
	LastWebhook  int64            `cbor:"20,keyasint,omitempty"`
}

func (r *accountRecord) from(p *account.Profile) {
	*r = accountRecord{
		p.Email, p.PasswordHash, p.Plan, stampOf(p.CreatedAt), p.Inboxes, p.LastKey,
		p.AccountKeys, p.InboxKeys, stampOf(p.ClosingAt), p.LastWebhook,
	}
}

func (r *accountRecord) profile(id account.ID) account.Profile {
	return account.Profile{
		ID: id, Email: r.Email, PasswordHash: r.PasswordHash, Plan: r.Plan,
		CreatedAt: r.CreatedAt.time(), Inboxes: r.Inboxes, LastKey: r.LastKey,
		AccountKeys: r.AccountKeys, InboxKeys: r.InboxKeys, ClosingAt: r.ClosingAt.time(), LastWebhook: r.LastWebhook,
	}
}

type keyRecord struct {
	Hash       account.Hash  `cbor:"1,keyasint"`
	Kind       account.Kind  `cbor:"2,keyasint"`
	Label      string        `cbor:"3,keyasint,omitempty"`
	Scopes     account.Scope `cbor:"4,keyasint,omitempty"`
	Prefix     string        `cbor:"5,keyasint,omitempty"`
	Inbox      string        `cbor:"6,keyasint,omitempty"`
	CreatedAt  stamp         `cbor:"7,keyasint,omitempty"`
	ExpiresAt  stamp         `cbor:"8,keyasint,omitempty"`
	LastUsedAt stamp         `cbor:"9,keyasint,omitempty"`
}

func (r *keyRecord) from(k *account.Key) {
	*r = keyRecord{
		k.Hash, k.Kind, k.Label, k.Scopes, k.Prefix, k.Inbox,
		stampOf(k.CreatedAt), stampOf(k.ExpiresAt), stampOf(k.LastUsedAt),
	}
}

func (r *keyRecord) key(id int64) *account.Key {
	return &account.Key{
		ID: id, Hash: r.Hash, Kind: r.Kind, Label: r.Label, Scopes: r.Scopes, Prefix: r.Prefix, Inbox: r.Inbox,
		CreatedAt: r.CreatedAt.time(), ExpiresAt: r.ExpiresAt.time(), LastUsedAt: r.LastUsedAt.time(),
	}
}

type sessionRecord struct {
	CreatedAt stamp `cbor:"1,keyasint,omitempty"`
	ExpiresAt stamp `cbor:"2,keyasint,omitempty"`
}

type reservedRecord struct {
	At             stamp    `cbor:"1,keyasint,omitempty"`
	Label          string   `cbor:"2,keyasint,omitempty"`
	RetentionHours int      `cbor:"3,keyasint,omitempty"`
	Once           *onceKey `cbor:"4,keyasint,omitempty"`
}

func (r *reservedRecord) from(v *account.Reservation) {
	*r = reservedRecord{At: stampOf(v.At), Label: v.Label, RetentionHours: v.RetentionHours}
	if v.Once != (once.Key{}) {
		r.Once = (*onceKey)(&v.Once)
	}
}

func (r *reservedRecord) reservation() account.Reservation {
	v := account.Reservation{At: r.At.time(), Label: r.Label, RetentionHours: r.RetentionHours}
	if r.Once != nil {
		v.Once = once.Key(*r.Once)
	}
	return v
}

type resetRecord struct {
	ExpiresAt stamp `cbor:"1,keyasint,omitempty"`
}
