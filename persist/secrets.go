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
	"github.com/zeebo/xxh3"

	"inboxd/internal/base/fault"
	"inboxd/persist/disk"
)

// secretForm and secretSum are the two parts of the key file. The checksum is there because a
// changed digit makes another key. The first folders lack it.
const (
	secretForm = "inboxd secret 1\n%x\n"
	secretSum  = "sum %016x\n"
)

func secretFile(secret []byte) []byte {
	body := fmt.Appendf(nil, secretForm, secret)
	return fmt.Appendf(body, secretSum, xxh3.Hash(body))
}

// secretBox encrypts values that must be read again but must not be stored in plain text: private
// keys, and other secrets that are not only compared. Its key is in a file outside the database, so
// that a copy of db/ alone reveals nothing. The file is created at the first use. If it is lost,
// the encrypted values are lost, too, and reading them returns an error, never a wrong value.
//
// mu guards the keys derived from the file. They are nil until the first use and never change
// afterwards.
type secretBox struct {
	*storageEngine
	mu     sync.Mutex
	aesGCM cipher.AEAD
	macKey []byte
}

// EncryptSecret encrypts secret for one purpose; Decrypt refuses another purpose.
func (s *secretBox) EncryptSecret(purpose string, secret []byte) ([]byte, error) {
	if err := s.unlockKey(); err != nil {
		return nil, err
	}
	nonce := make([]byte, s.aesGCM.NonceSize(), s.aesGCM.NonceSize()+len(secret)+s.aesGCM.Overhead())
	_, _ = crand.Read(nonce) // never fails since Go 1.24
	return s.aesGCM.Seal(nonce, nonce, secret, []byte(purpose)), nil
}

// Decrypt returns what was encrypted for this purpose.
func (s *secretBox) Decrypt(purpose string, encrypted []byte) ([]byte, error) {
	if err := s.unlockKey(); err != nil {
		return nil, err
	}
	n, err := s.aesGCM.NonceSize(), errors.New("too short")
	var secret []byte
	if len(encrypted) >= n {
		secret, err = s.aesGCM.Open(nil, encrypted[:n], encrypted[n:], []byte(purpose))
	}
	if err != nil {
		err = fmt.Errorf("persist: %s: %s does not fit it: %w", purpose, disk.SecretName, err)
		return nil, fault.Wrap(fault.Internal, "An encrypted secret cannot be read", err)
	}
	return secret, nil
}

// ComputeMAC returns 32 bytes that only this folder can compute from purpose and data.
func (s *secretBox) ComputeMAC(purpose string, data []byte) ([]byte, error) {
	if err := s.unlockKey(); err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, s.macKey)
	h.Write(append([]byte(purpose), 0))
	h.Write(data)
	return h.Sum(nil), nil
}

// unlockKey reads the key file, or creates it in a folder that holds nothing encrypted.
func (s *secretBox) unlockKey() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aesGCM != nil {
		return nil
	}
	return s.runCall(func() error {
		secret, err := s.readSecret()
		if errors.Is(err, os.ErrNotExist) {
			secret, err = s.makeSecret()
		}
		if err != nil {
			return fault.Wrap(fault.TemporarilyUnavailable, "The service cannot read its secrets, try again later", err)
		}
		return s.deriveKeys(secret)
	})
}

func (s *secretBox) deriveKeys(secret []byte) error {
	// The labels apply to every existing folder: never change them.
	key, err := hkdf.Key(sha256.New, secret, nil, "seal", 32)
	if err != nil {
		return err
	}
	if s.macKey, err = hkdf.Key(sha256.New, secret, nil, "mac", 32); err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	s.aesGCM, err = cipher.NewGCM(block)
	return err
}

func (s *secretBox) readSecret() ([]byte, error) {
	data, err := disk.ReadFile(s.folder.FS, s.folder.FilePath(disk.SecretName))
	if err != nil {
		return nil, err
	}
	lines := strings.SplitN(string(data), "\n", 3)
	if len(lines) == 3 {
		secret, err := hex.DecodeString(lines[1])
		whole := string(secretFile(secret)) == string(data) || fmt.Sprintf(secretForm, secret) == string(data)
		if err == nil && whole && len(secret) == 32 {
			return secret, nil
		}
	}
	return nil, s.folder.DamageLog.NoteDamage(s.folder.FilePath(disk.SecretName), "its content is not what was written. Restore a backup of it")
}

// lostSecret returns an error if the folder needs the missing key file.
func (s *secretBox) lostSecret() error {
	for _, k := range [...]rowKind{kindDomain, kindLastCall, kindLink} {
		err := scanKeys(s.db, ofKind(k), func([]byte, []byte) error {
			return fmt.Errorf("the data folder %s holds encrypted keys but has lost its file %s: restore it from a backup", s.folder.Dir, disk.SecretName)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *secretBox) makeSecret() ([]byte, error) {
	if err := s.lostSecret(); err != nil {
		return nil, err
	}
	secret := make([]byte, 32)
	_, _ = crand.Read(secret) // never fails since Go 1.24
	return secret, disk.WriteFile(s.folder.FS, s.folder.Dir, disk.SecretName, secretFile(secret), makePrivate)
}

// makePrivate sets file mode 0600, regardless of the umask.
func makePrivate(f vfs.File) error {
	if f.Fd() == vfs.InvalidFd {
		return nil // in memory, for tests
	}
	return syscall.Fchmod(int(f.Fd()), 0o600)
}
