package account

import "time"

// SignedIn is the result of a sign-up or login, and the only time that the token is visible.
type SignedIn struct {
	Token     string
	ExpiresAt time.Time
	Profile   Profile
}

// Issued is the result of issuing a key, and the only time that the token is visible.
type Issued struct {
	Token string
	Key   Key
}

// Usage is an account's profile with what its plan allows and what it uses.
type Usage struct {
	Profile Profile
	Plan    Plan
	Inboxes int64 // live and reserved
	Keys    int64 // in the inventory, including inbox keys and expired ones
	Sends   int64 // accepted today (UTC)

	Reserved map[string]Reservation // included in Inboxes
}
