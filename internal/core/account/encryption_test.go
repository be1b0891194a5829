package account_test

import (
	"strings"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// TestEncryption checks that an encrypted inbox needs a key, and that the key stays while one is
// live or being created.
func TestEncryption(t *testing.T) {
	s := account.NewState()
	now := start
	do := func(cmd account.Command) error {
		t.Helper()
		now = now.Add(time.Second)
		evs, err := account.Decide(s, cmd, account.Env{Now: now, Plans: account.DefaultPlans()})
		if err == nil {
			new(account.Rows).Apply(s, evs)
		}
		return err
	}
	must := func(cmd account.Command) {
		t.Helper()
		if err := do(cmd); err != nil {
			t.Fatalf("%+v: %v", cmd, err)
		}
	}
	refused := func(cmd account.Command, want string) {
		t.Helper()
		if err := do(cmd); !fault.Is(err, fault.Refused) || err.Error() != "refused: "+want {
			t.Errorf("%+v: %v", cmd, err)
		}
	}
	const first, second = "age1first", "age1second"
	must(account.Open{ID: me, Email: "me@example.test", PasswordHash: "phc", Plan: account.PlanFree})
	must(account.DropRecipient{})
	refused(account.ReserveInbox{Address: "a@x.test", At: now, Encrypted: true}, "This account has no encryption key yet. Set up encryption in the dashboard first")
	must(account.ReserveInbox{Address: "plain@x.test", At: now})
	must(account.SetRecipient{Recipient: first})
	set := now
	must(account.SetRecipient{Recipient: first})
	if s.Encryption != (account.EncryptionState{PublicKey: first, SetAt: set}) {
		t.Errorf("the same key again: %+v", s.Encryption)
	}
	for _, cmd := range []account.Command{account.DropRecipient{}, account.SetRecipient{Recipient: second}} {
		if err := do(cmd); !fault.Is(err, fault.InvalidRequest) || !strings.Contains(err.Error(), "'password' is required") {
			t.Errorf("%T without the password: %v", cmd, err)
		}
	}
	for _, cmd := range []account.Command{account.DropRecipient{PasswordHash: "old"}, account.SetRecipient{Recipient: second, PasswordHash: "old"}} {
		if err := do(cmd); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%T with a password that was replaced: %v", cmd, err)
		}
	}
	must(account.DropRecipient{PasswordHash: "phc"})
	must(account.SetRecipient{Recipient: first})

	at := now
	must(account.ReserveInbox{Address: "a@x.test", At: at, Encrypted: true})
	refused(account.DropRecipient{PasswordHash: "phc"}, "The public key is in use by 1 encrypted inbox. Delete them first")
	must(account.ConfirmInbox{Address: "a@x.test", At: at})
	must(account.ConfirmInbox{Address: "a@x.test", At: at})
	must(account.ReserveInbox{Address: "b@x.test", At: now, Encrypted: true})
	if s.EncryptedCount() != 2 || s.Encryption.EncryptedInboxes != 1 || s.LiveInboxes != 1 {
		t.Errorf("%d encrypted, %d of them live: %+v", s.EncryptedCount(), s.Encryption.EncryptedInboxes, s.Profile)
	}
	refused(account.DropRecipient{PasswordHash: "phc"}, "The public key is in use by 2 encrypted inboxes. Delete them first")
	must(account.SetRecipient{Recipient: second, PasswordHash: "phc"})
	if s.Encryption.PublicKey != second || !s.Encryption.SetAt.Equal(now) {
		t.Errorf("another key: %+v", s.Encryption)
	}
	must(account.ReleaseInbox{Address: "b@x.test"})
	must(account.ReleaseInbox{Address: "a@x.test", CreatedAt: at, WasListed: true, Encrypted: true})
	must(account.DropRecipient{PasswordHash: "phc"})
	if s.Encryption != (account.EncryptionState{}) {
		t.Errorf("what is left: %+v", s.Encryption)
	}
	must(account.SetRecipient{Recipient: first})
	must(account.Close{})
	if err := do(account.SetRecipient{Recipient: second}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a closing account: %v", err)
	}
}
