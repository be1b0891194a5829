package account

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"inboxd/internal/base/fault"
)

// argon2id at 19 MiB and two passes takes about 50 ms of one core (OWASP's second choice of
// parameters). hashSlots limits concurrent hashes, so that sign-ups never use more than 40 MB or
// delay the delivery of messages.
const (
	argonMemoryKiB = 19 * 1024
	argonPasses    = 2
	saltBytes      = 16
	tagBytes       = 32
)

var hashSlots = make(chan struct{}, 2)

// CheckPassword enforces 10 to 128 characters (specification, Sign-up and sessions).
func CheckPassword(password string) error { return CheckPasswordIn("password", password) }

// CheckPasswordIn is CheckPassword for a JSON member with another name.
func CheckPasswordIn(field, password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < 10:
		return fault.InvalidField(field, "is too short (%d characters). The minimum is 10 characters", n)
	case n > 128:
		return fault.InvalidField(field, "is too long (%d characters). The limit is 128 characters", n)
	}
	return nil
}

// BadSignIn is the fault of a failed login. It does not say which part was wrong.
func BadSignIn() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeWrongPassword, Detail: "The e-mail address or the password is wrong"}
}

// BadPassword is the fault of a wrong password within a session.
func BadPassword() error {
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeWrongPassword, Detail: "The password is wrong"}
}

// HashPassword returns the PHC string of an argon2id hash. It takes about 50 ms and waits for one
// of two slots; never call it inside an actor.
func HashPassword(password string, salt [saltBytes]byte) string {
	tag := deriveKey(password, salt[:], argonMemoryKiB, argonPasses)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, argonMemoryKiB, argonPasses,
		b64.EncodeToString(salt[:]), b64.EncodeToString(tag))
}

// nobodysHash is compared against if the account is unknown, so that a wrong e-mail address takes
// as long as a wrong password.
var nobodysHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// PasswordMatches compares in constant time. An empty phc stands for an account that does not exist
// and never matches.
func PasswordMatches(phc, password string) bool {
	known := phc != ""
	if !known {
		phc = nobodysHash
	}
	memory, passes, salt, want, err := parsePHC(phc)
	if err != nil {
		return false
	}
	got := deriveKey(password, salt, memory, passes)
	return subtle.ConstantTimeCompare(got, want) == 1 && known
}

func deriveKey(password string, salt []byte, memory, passes uint32) []byte {
	hashSlots <- struct{}{}
	defer func() { <-hashSlots }()
	return argon2.IDKey([]byte(password), salt, passes, memory, 1, tagBytes)
}

func parsePHC(phc string) (memory, passes uint32, salt, tag []byte, err error) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return 0, 0, nil, nil, errors.New("account: not an argon2id hash")
	}
	if _, err = fmt.Sscanf(parts[3], "m=%d,t=%d", &memory, &passes); err != nil {
		return 0, 0, nil, nil, err
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return 0, 0, nil, nil, err
	}
	tag, err = base64.RawStdEncoding.DecodeString(parts[5])
	return memory, passes, salt, tag, err
}
