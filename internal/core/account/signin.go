package account

import "time"

// SignedIn is the answer to a sign-up or login: the only time the token is seen.
type SignedIn struct {
	Token     string
	ExpiresAt time.Time
	Profile   Profile
}

// Issued is the answer to the issue of a key: the only time the token is seen.
type Issued struct {
	Token string
	Key   Key
}

// Usage is an account's profile beside what its plan allows and what it uses.
type Usage struct {
	Profile Profile
	Plan    Plan
	Inboxes int64 // live and reserved
	Keys    int64 // in the inventory, inboxes' own and expired ones too
	Sends   int64 // accepted today (UTC)

	Reserved map[string]Reservation // of Inboxes
}
