package persist

import (
	"inboxd/internal/account"
	"inboxd/internal/domain"
)

// The integer keys of these records are on disk: append only; never reorder or reuse.

type domainRecord struct {
	Account      []byte          `cbor:"1,keyasint,omitempty"` // absent: nobody
	Token        string          `cbor:"2,keyasint,omitempty"`
	Status       domain.Status   `cbor:"3,keyasint,omitempty"`
	Found        domain.Found    `cbor:"4,keyasint,omitempty"`
	Keys         []domainKeyPart `cbor:"5,keyasint,omitempty"`
	ClaimedAt    stamp           `cbor:"6,keyasint,omitempty"`
	VerifiedAt   stamp           `cbor:"7,keyasint,omitempty"`
	CheckedAt    stamp           `cbor:"8,keyasint,omitempty"`
	MissingSince stamp           `cbor:"9,keyasint,omitempty"`
	Inboxes      int64           `cbor:"10,keyasint,omitempty"`
}

type domainKeyPart struct {
	Selector  string           `cbor:"1,keyasint"`
	Algorithm domain.Algorithm `cbor:"2,keyasint"`
	Public    []byte           `cbor:"3,keyasint"`
	Sealed    []byte           `cbor:"4,keyasint"`
}

func (r *domainRecord) from(s *domain.State) {
	*r = domainRecord{
		Token: s.Token, Status: s.Status, Found: s.Found, Inboxes: s.Inboxes,
		Keys:      convert(s.Keys, func(k domain.Key) domainKeyPart { return domainKeyPart(k) }),
		ClaimedAt: stampOf(s.ClaimedAt), VerifiedAt: stampOf(s.VerifiedAt), CheckedAt: stampOf(s.CheckedAt), MissingSince: stampOf(s.MissingSince),
	}
	if s.Claimed() {
		r.Account = s.Account[:]
	}
}

func (r *domainRecord) state(name string) *domain.State {
	s := &domain.State{
		Name: name, Token: r.Token, Status: r.Status, Found: r.Found, Inboxes: r.Inboxes,
		Keys:      convert(r.Keys, func(k domainKeyPart) domain.Key { return domain.Key(k) }),
		ClaimedAt: r.ClaimedAt.time(), VerifiedAt: r.VerifiedAt.time(), CheckedAt: r.CheckedAt.time(), MissingSince: r.MissingSince.time(),
	}
	if len(r.Account) == len(account.ID{}) {
		s.Account = account.ID(r.Account)
	}
	return s
}
