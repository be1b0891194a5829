package http

import (
	"context"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/follow"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
)

// Inboxes is what the HTTP surface needs of the inboxes. Addresses are canonical and
// without tag. Errors are faults; NoInbox when nobody lives at the address.
type Inboxes interface {
	// Resident returns the published view if the inbox lives and is in memory, else nil.
	// It takes no lock and allocates nothing; address is not kept.
	Resident(address []byte) *inbox.View
	// View returns the published view, loading the inbox when it is not in memory.
	View(ctx context.Context, address string) (*inbox.View, error)
	// ViewFor is View for the account that owns the inbox. For any other it is NoInbox, by
	// the same work whether the inbox lives, is gone or never was.
	ViewFor(ctx context.Context, id account.ID, address string) (*inbox.View, error)
	// Do hands a command to the inbox and returns after its commit.
	Do(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
	// Send queues a letter and returns its message id once that is on disk. Refused names
	// the rule of the plan that is in the way, or the addresses that mail came back from.
	Send(ctx context.Context, address string, letter inbox.Letter) (int64, error)
	// SendOnce is Send for a request that may be repeated; tell makes what is told, now and
	// when it is repeated, of nothing but what it is given.
	SendOnce(ctx context.Context, address string, letter inbox.Letter, req once.Request, tell func(inbox.Outcome) []byte) (once.Result, error)
	// Content reads the document of a message; nil when it is gone.
	Content(ctx context.Context, address string, id int64) (*inbox.Content, error)
	// Raw reads the message as received; nil when it is gone.
	Raw(ctx context.Context, address string, id int64) ([]byte, error)
}

// Accounts is what the HTTP surface needs of the accounts.
type Accounts interface {
	Journals
	Webhooks
	// Authenticate resolves a session token or an API key: Unauthenticated when it is
	// unknown, revoked or expired. For a known one in memory it allocates nothing; token
	// is not kept.
	Authenticate(ctx context.Context, token []byte) (*account.Principal, error)
	SignUp(ctx context.Context, email, password string) (account.SignedIn, error)
	LogIn(ctx context.Context, email, password string) (account.SignedIn, error)
	LogOut(ctx context.Context, p *account.Principal) error
	// RequestReset mails a password-reset token if an account has the address, and returns
	// at once in every case.
	RequestReset(email string)
	// ResetPassword uses such a token: Refused when it opens nothing.
	ResetPassword(ctx context.Context, token, password string) error
	Usage(ctx context.Context, id account.ID) (account.Usage, error)

	IssueKey(ctx context.Context, id account.ID, label string, scopes account.Scope, days *int) (account.Issued, error)
	// IssueInboxKey makes the one key of an inbox: Refused while it holds one.
	IssueInboxKey(ctx context.Context, id account.ID, address string, scopes account.Scope, days *int) (account.Issued, error)
	// RevokeInboxKey ends that key: NotFound when there is none.
	RevokeInboxKey(ctx context.Context, id account.ID, address string) error
	// Keys pages through the inventory, oldest first; cursors are as for ListInboxes.
	Keys(ctx context.Context, id account.ID, cursor string, limit int) ([]account.Key, string, error)
	// HaveKeys tells which of the inboxes hold a key, expired or not.
	HaveKeys(ctx context.Context, id account.ID, addresses []string) ([]bool, error)
	RevokeKey(ctx context.Context, id account.ID, key int64) error

	// CreateInbox places the order by the account's plan and creates the inbox.
	CreateInbox(ctx context.Context, id account.ID, order inbox.Order) (*inbox.View, inbox.Placement, error)
	// CreateInboxOnce is CreateInbox for a request that may be repeated: the first one's
	// result is kept with the inbox, and every repeat gets it. tell makes what is told, of
	// nothing but what it is given.
	CreateInboxOnce(ctx context.Context, id account.ID, order inbox.Order, req once.Request, tell func(inbox.Placement, time.Time) []byte) (once.Result, error)
	// ListInboxes pages through the account's inboxes, newest first. An empty cursor
	// starts; the returned one is empty at the end.
	ListInboxes(ctx context.Context, id account.ID, cursor string, limit int) ([]*inbox.View, string, error)
	// UpdateInbox changes label and retention within the account's plan; ignored names
	// the fields that the plan does not cover, and note says why.
	UpdateInbox(ctx context.Context, id account.ID, address string, cmd inbox.Update) (ignored []string, note string, err error)
	DeleteInbox(ctx context.Context, id account.ID, address string) error

	// Suppressions pages through the addresses that mail came back from, behind after.
	Suppressions(ctx context.Context, id account.ID, after string, limit int) ([]account.Suppression, error)
	// DropSuppression allows mail to one again: NotFound when it is allowed.
	DropSuppression(ctx context.Context, id account.ID, email string) error
	Domains
}

// Journals is what the HTTP surface needs of the accounts' change journals. What they show is
// on disk: after any crash a number means the same event.
type Journals interface {
	// Events reads up to limit entries with numbers above after, of one inbox unless address
	// is empty.
	Events(ctx context.Context, id account.ID, after uint64, address string, limit int) (follow.Page, error)
	// JournalEnd returns the number of the newest entry, 0 when there was none yet.
	JournalEnd(ctx context.Context, id account.ID) (uint64, error)
	// Present is JournalEnd after every event that was committed before the call.
	Present(ctx context.Context, id account.ID) (uint64, error)
	// Listen adds a reader, who closes it.
	Listen(id account.ID, address string) *follow.Reader
}
