package delivery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

const (
	maxAddress = 254 // octets, RFC 5321 section 4.5.3.1.3
	tagMark    = "+b"
	macLength  = 12 // characters of base32: 60 bits, for guesses that cost an SMTP session each
)

// OwnersCopy is the recipient that a return path of an owner's copy names. Of the copy nothing is left
// when it comes back, so the path says all; no mail has so many recipients. Paths under way hold it:
// never change it.
const OwnersCopy = 36*36*36 - 1

// ReturnPath returns the envelope sender of one recipient's copy: the inbox's own address
// with a tag that names message and recipient, signed with secret so that nobody else can
// make one. Bounces reach the inbox without a table, and SPF is aligned with From. The local part
// may have more than the 64 octets that every server accepts, as those of many senders have. Only
// where the whole address would be too long it is the plain one, and a bounce is an ordinary message.
func ReturnPath(secret []byte, inbox string, message int64, recipient int) string {
	at := strings.LastIndexByte(inbox, '@')
	if at < 0 {
		return inbox
	}
	name := strconv.FormatInt(message, 36) + "-" + strconv.FormatInt(int64(recipient), 36)
	path := inbox[:at] + tagMark + name + "-" + tagMAC(secret, inbox, name) + inbox[at:]
	if len(path) > maxAddress {
		return inbox
	}
	return path
}

// ReadReturnPath reads what ReturnPath made out of the recipient of a bounce. False means
// that secret did not sign it. The address may have changed case on its way.
func ReadReturnPath(secret []byte, address string) (inbox string, message int64, recipient int, ok bool) {
	address = strings.ToLower(address)
	at := strings.LastIndexByte(address, '@')
	mark := strings.LastIndex(address[:max(at, 0)], tagMark)
	if mark < 1 {
		return "", 0, 0, false
	}
	inbox = address[:mark] + address[at:]
	tag := address[mark+len(tagMark) : at]
	end := strings.LastIndexByte(tag, '-')
	if end < 0 || !hmac.Equal([]byte(tag[end+1:]), []byte(tagMAC(secret, inbox, tag[:end]))) {
		return "", 0, 0, false
	}
	id, index, _ := strings.Cut(tag[:end], "-")
	message, err1 := strconv.ParseInt(id, 36, 64)
	n, err2 := strconv.ParseInt(index, 36, 32)
	return inbox, message, int(n), err1 == nil && err2 == nil
}

// tagMAC signs a tag for one inbox. The addresses of an inbox are one whatever their case.
func tagMAC(secret []byte, inbox, name string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("return path\x00" + strings.ToLower(inbox) + "\x00" + name))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil))[:macLength])
}
