package account

import (
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"

	"inboxd/internal/base/partition"
)

// TokenHash is the SHA-256 of a whole token. Only hashes are stored.
type TokenHash [sha256.Size]byte

// HashToken hashes a token as presented, whether or not it is well formed.
func HashToken(token []byte) TokenHash { return sha256.Sum256(token) }

// TokenKind is what a token is for (specification, Credentials). Stored: append only; never reorder.
type TokenKind uint8

// The kinds of credentials. A session is for people; both kinds of keys are for programs.
const (
	KindSession TokenKind = iota + 1
	KindAccountKey
	KindInboxKey
	KindReset  // only for a password reset
	KindVerify // grants no access; it verifies an e-mail address
)

var kindPrefixes = map[TokenKind]string{
	KindSession: "svc_sess_", KindAccountKey: "svc_live_", KindInboxKey: "svc_sk_", KindReset: "svc_reset_",
	KindVerify: "svc_verify_",
}

// WireName is the wire name of a key's kind.
func (k TokenKind) WireName() string {
	switch k {
	case KindAccountKey:
		return "account"
	case KindInboxKey:
		return "inbox"
	}
	return "session"
}

const (
	base62    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	bodyChars = 43 // 32 bytes in base62
	sumChars  = 6  // a CRC32 in base62
)

// MintToken makes a token of 32 random bytes. Its first 12 bits become the partition of the
// account, so a lookup finds the partition without an index. The checksum detects a typo or a
// leaked string without a lookup (specification, Keys: prefix, base62, checksum).
func MintToken(kind TokenKind, home partition.ID, random [32]byte) string {
	random[0] = byte(home >> 4)
	random[1] = byte(home<<4) | random[1]&0x0f
	body := toBase62(new(big.Int).SetBytes(random[:]), bodyChars)
	return kindPrefixes[kind] + body + checksum(body)
}

// ParseToken returns the kind and home partition of a well-formed token. False means that no such
// token was ever issued.
func ParseToken(token string) (TokenKind, partition.ID, bool) {
	for kind, prefix := range kindPrefixes {
		rest, ok := strings.CutPrefix(token, prefix)
		if !ok || len(rest) != bodyChars+sumChars {
			continue
		}
		body := rest[:bodyChars]
		n, ok := fromBase62(body)
		if !ok || n.BitLen() > 256 || checksum(body) != rest[bodyChars:] {
			return 0, 0, false
		}
		var raw [32]byte
		n.FillBytes(raw[:])
		return kind, partition.ID(raw[0])<<4 | partition.ID(raw[1]>>4), true
	}
	return 0, 0, false
}

// KeyPrefix is the beginning of a key that lists may show, enough to recognise it by.
func KeyPrefix(token string) string { return token[:min(len(token), 13)] }

func checksum(body string) string {
	return toBase62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))), sumChars)
}

func toBase62(n *big.Int, width int) string {
	out := make([]byte, width)
	base, digit := big.NewInt(62), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}

func fromBase62(s string) (*big.Int, bool) {
	n, base := new(big.Int), big.NewInt(62)
	for _, c := range []byte(s) {
		i := strings.IndexByte(base62, c)
		if i < 0 {
			return nil, false
		}
		n.Mul(n, base).Add(n, big.NewInt(int64(i)))
	}
	return n, true
}
