package account

import "time"

// SignedIn is the result of a sign-up or login, and the only time that the token is visible.
type SignedIn struct {
	Token     string
	ExpiresAt time.Time
	Profile   Profile
}

// IssuedKey is the result of issuing a key, and the only time that the token is visible.
type IssuedKey struct {
	Token string
	Key   APIKey
}

// QuotaUsage is an account's profile with what its plan allows and what it uses.
type QuotaUsage struct {
	Profile    Profile
	Plan       Plan
	InboxCount int64 // live and reserved
	KeyCount   int64 // in the inventory, including inbox keys and expired ones
	SendsToday int64 // accepted today (UTC)

	ReservedInboxes map[string]InboxReservation // included in Inboxes
}
