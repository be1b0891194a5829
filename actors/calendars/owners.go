package calendars

import (
	"context"

	"inboxd/internal/base/address"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
)

// OwnerSettings reads and changes the setting of the owner's copies. It is immutable; any goroutine may
// use it.
type OwnerSettings struct {
	Inboxes InboxViewer
	// SignInEmail returns the sign-in address of an account, and whether messages may be sent there.
	SignInEmail func(ctx context.Context, id account.ID) (email string, usable bool, err error)
	// InboxExists reports whether messages to an address, in the form of an inbox address, go to an
	// inbox of this service.
	InboxExists func(address string) (bool, error)
}

// ReadOwner returns the current setting of an inbox.
func (o *OwnerSettings) ReadOwner(ctx context.Context, address string) (calendar.OwnerSetting, error) {
	view, err := o.Inboxes.InboxView(ctx, address)
	if err != nil {
		return calendar.OwnerSetting{}, err
	}
	return o.of(ctx, view)
}

// SetOwner switches the copies of an inbox on or off; they are sent only while Available is true.
// Switching on also removes a block. It returns the setting after its commit.
func (o *OwnerSettings) SetOwner(ctx context.Context, address string, enabled bool) (calendar.OwnerSetting, error) {
	if _, err := o.Inboxes.Do(ctx, address, inbox.SetOwnerCopies{Enabled: enabled}); err != nil {
		return calendar.OwnerSetting{}, err
	}
	return o.ReadOwner(ctx, address)
}

func (o *OwnerSettings) of(ctx context.Context, view *inbox.View) (set calendar.OwnerSetting, err error) {
	set.CopySetting = view.Calendar.CurrentSetting()
	email, usable, err := o.SignInEmail(ctx, view.Account)
	if err != nil {
		return set, err
	}
	set.Email = email
	if _, err := address.CanonicalRecipient(email); err != nil || !usable {
		return set, nil // no message can be sent there
	}
	lives := false
	if home, ok := address.CanonicalInbox(set.Email); ok {
		lives, err = o.InboxExists(home)
	}
	set.EmailAvailable = !lives && err == nil
	return set, err
}
