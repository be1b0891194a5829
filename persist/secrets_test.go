package persist

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

// TestEncrypt checks that an encrypted value can be read only in the same folder and for the same
// purpose, also by the next run. It is nowhere stored in plain text.
func TestEncrypt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	o := Options{MemTableBytes: 4 * mib, BallastBytes: 1, ReserveBytes: 1}
	s, err := Open(dir, o)
	must(t, err)
	secret := []byte("the private key of example.org")
	encrypted, err := s.EncryptSecret("dkim", secret)
	must(t, err)
	other, err := s.EncryptSecret("dkim", secret)
	must(t, err)
	mac, err := s.ComputeMAC("ownership", []byte("x"))
	must(t, err)
	must(t, s.CommitDomain(&domain.Rows{Name: "example.org", PutState: &domain.State{Name: "example.org", Keys: []domain.DKIMKey{{Selector: "s", Encrypted: encrypted}}}}))
	must(t, s.Close())
	if bytes.Contains(encrypted, secret[:8]) || bytes.Equal(encrypted, other) {
		t.Error("an encrypted secret can be read, or told to be the same as another")
	}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if data, _ := os.ReadFile(path); err != nil || bytes.Contains(data, secret[:8]) {
			t.Errorf("%s holds the secret (%v)", path, err)
		}
		return err
	}))
	if info, err := os.Stat(filepath.Join(dir, disk.SecretName)); err != nil || info.Mode() != 0o600 {
		t.Errorf("the key file: %v, %v", info, err)
	}

	s, err = Open(dir, o)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	if got, err := s.Decrypt("dkim", encrypted); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("the next run reads %q, %v", got, err)
	}
	if again, err := s.ComputeMAC("ownership", []byte("x")); err != nil || !bytes.Equal(again, mac) {
		t.Errorf("the next run makes another MAC, %v", err)
	}
	if another, err := s.ComputeMAC("ownershi", []byte("px")); err != nil || bytes.Equal(another, mac) {
		t.Errorf("purpose and data run together, %v", err)
	}
	flipped := append([]byte(nil), encrypted...)
	flipped[len(flipped)-1] ^= 1
	for name, err := range map[string]error{
		"another purpose": second(s.Decrypt("webhook", encrypted)), "a flipped bit": second(s.Decrypt("dkim", flipped)),
		"a cut": second(s.Decrypt("dkim", encrypted[:5])), "nothing": second(s.Decrypt("dkim", nil)),
	} {
		if err == nil {
			t.Errorf("%s is decrypted", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestLostKeyFile checks that encrypted data of any kind are never silently abandoned for a new
// key.
func TestLostKeyFile(t *testing.T) {
	for what, put := range map[string]func(s *Store, encrypted []byte) error{
		"a domain's keys": func(s *Store, encrypted []byte) error {
			return s.CommitDomain(&domain.Rows{Name: "example.org", PutState: &domain.State{Name: "example.org", Keys: []domain.DKIMKey{{Selector: "s", Encrypted: encrypted}}}})
		},
		"a link to a calendar": func(s *Store, encrypted []byte) error {
			return s.CommitInbox(&inbox.Rows{
				Address: goldenAddress, Profile: &inbox.Profile{Address: goldenAddress, HasCalendar: true},
				Calendar: &calendar.Book{Feed: &calendar.SubscriptionLink{TokenHash: goldenHash, EncryptedToken: encrypted}}, LinkRows: []inbox.LinkRow{{TokenHash: goldenHash}},
			})
		},
	} {
		t.Run(what, func(t *testing.T) { testLostKeyFile(t, put) })
	}
}

func testLostKeyFile(t *testing.T, put func(s *Store, encrypted []byte) error) {
	fs := vfs.NewMem()
	s, err := Open(folder, options(fs))
	must(t, err)
	encrypted, err := s.EncryptSecret("dkim", []byte("private"))
	must(t, err)
	must(t, put(s, encrypted))
	must(t, s.Close())
	path := fs.PathJoin(folder, disk.SecretName)
	whole, err := disk.ReadFile(fs, path)
	must(t, err)
	for name, damage := range map[string]func(){
		"lost": func() { must(t, fs.Remove(path)) },
		"cut":  func() { must(t, rewrite(fs, path, whole[:30])) },
	} {
		damage()
		s, err := Open(folder, options(fs))
		must(t, err)
		_, err = s.Decrypt("dkim", encrypted)
		if !fault.Is(err, fault.TemporarilyUnavailable) || !strings.Contains(err.Error(), disk.SecretName) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, s.Close())
	}
}
