package persist

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/fault"
	"inboxd/persist/disk"
)

// What must be read again but must not lie open on disk is sealed under a key file beside
// the database (mode 0600): private keys, and whatever else is secret and not only compared.
// A copy of db/ alone gives none of it away. The file is made at the first use; when it is
// lost, what was sealed is lost too, and is told by an error, never by another value.

const secretForm = "inboxd secret 1\n%x\n"

// sealing are the keys derived from the key file, nil until the first use.
type sealing struct {
	mu  sync.Mutex
	aes cipher.AEAD
	mac []byte
}

// Seal encrypts secret for one purpose; Unseal with another one refuses it.
func (s *Store) Seal(purpose string, secret []byte) ([]byte, error) {
	if err := s.unlock(); err != nil {
		return nil, err
	}
	nonce := make([]byte, s.sealing.aes.NonceSize(), s.sealing.aes.NonceSize()+len(secret)+s.sealing.aes.Overhead())
	_, _ = crand.Read(nonce) // never fails since Go 1.24
	return s.sealing.aes.Seal(nonce, nonce, secret, []byte(purpose)), nil
}

// Unseal gives back what was sealed for this purpose.
func (s *Store) Unseal(purpose string, sealed []byte) ([]byte, error) {
	if err := s.unlock(); err != nil {
		return nil, err
	}
	n := s.sealing.aes.NonceSize()
	if len(sealed) < n {
		return nil, errSealed(purpose, errors.New("too short"))
	}
	secret, err := s.sealing.aes.Open(nil, sealed[:n], sealed[n:], []byte(purpose))
	if err != nil {
		return nil, errSealed(purpose, err)
	}
	return secret, nil
}

func errSealed(purpose string, err error) error {
	return fault.Wrap(fault.Internal, "A sealed secret can't be read", fmt.Errorf("persist: %s: %s does not fit it: %w", purpose, disk.SecretName, err))
}

// MAC returns 32 bytes that only this folder can make of purpose and data.
func (s *Store) MAC(purpose string, data []byte) ([]byte, error) {
	if err := s.unlock(); err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, s.sealing.mac)
	h.Write(append([]byte(purpose), 0))
	h.Write(data)
	return h.Sum(nil), nil
}

// unlock reads the key file, or makes it in a folder that holds nothing sealed.
func (s *Store) unlock() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.sealing.mu.Lock()
	defer s.sealing.mu.Unlock()
	if s.sealing.aes != nil {
		return nil
	}
	secret, err := s.readSecret()
	if errors.Is(err, os.ErrNotExist) {
		secret, err = s.makeSecret()
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, "The service can't read its secrets, try again later", err)
	}
	return s.sealing.derive(secret)
}

func (k *sealing) derive(secret []byte) error {
	seal, err := hkdf.Key(sha256.New, secret, nil, "seal", 32)
	if err != nil {
		return err
	}
	if k.mac, err = hkdf.Key(sha256.New, secret, nil, "mac", 32); err != nil {
		return err
	}
	block, err := aes.NewCipher(seal)
	if err != nil {
		return err
	}
	k.aes, err = cipher.NewGCM(block)
	return err
}

func (s *Store) readSecret() ([]byte, error) {
	data, err := disk.ReadFile(s.folder.FS, s.folder.Path(disk.SecretName))
	if err != nil {
		return nil, err
	}
	lines := strings.SplitN(string(data), "\n", 3)
	if len(lines) == 3 {
		if secret, err := hex.DecodeString(lines[1]); err == nil && fmt.Sprintf(secretForm, secret) == string(data) && len(secret) == 32 {
			return secret, nil
		}
	}
	return nil, fmt.Errorf("the file %s in the data folder %s is damaged", disk.SecretName, s.folder.Dir)
}

func (s *Store) makeSecret() ([]byte, error) {
	for _, k := range [...]kind{kindDomain, kindWebhook} {
		key, _, err := s.first([]byte{byte(k)}, []byte{byte(k) + 1})
		if err != nil {
			return nil, err
		}
		if key != nil {
			return nil, fmt.Errorf("the data folder %s holds sealed keys but has lost its file %s: restore it from a backup", s.folder.Dir, disk.SecretName)
		}
	}
	secret := make([]byte, 32)
	_, _ = crand.Read(secret) // never fails since Go 1.24
	return secret, disk.WriteFile(s.folder.FS, s.folder.Dir, disk.SecretName, fmt.Appendf(nil, secretForm, secret), private)
}

// private gives a file mode 0600, whatever the umask says.
func private(f vfs.File) error {
	if f.Fd() == vfs.InvalidFd {
		return nil // in memory, for tests
	}
	return syscall.Fchmod(int(f.Fd()), 0o600)
}
