package delivery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxAddress = 254 // octets, RFC 5321 section 4.5.3.1.3
	tagMark    = "+b"
)

// OwnersCopy is the recipient that a return path of an owner's copy names. Of the copy nothing is left
// when it comes back, so the path says all; no mail has so many recipients. Paths under way hold it:
// never change it.
const OwnersCopy = 36*36*36 - 1

// tagForm is a form of the tag, <message><separator><recipient><separator><MAC>, and what its MAC is for.
// Messages under way hold tags: never change one, add another.
type tagForm struct {
	separator, purpose string
	macLength          int // characters of base32
}

var (
	// ownTag is of one recipient's copy. 40 bits are enough for guesses that cost an SMTP session each, and leave 48
	// of the 64 octets that every server accepts (RFC 5321 section 4.5.3.1.1) to the name of the inbox.
	ownTag = tagForm{"=", "return path of one recipient", 8}
	// sharedTag named the first of the recipients who shared a copy, each of whom knew it. Messages that were
	// under way when each recipient got a copy of his own come back to it (ADR 0104).
	sharedTag = tagForm{"-", "return path", 12}
)

// Returned is what a return path names.
type Returned struct {
	Inbox     string
	Message   int64
	Recipient int  // its place among those of the message, or OwnersCopy
	Shared    bool // every recipient of a copy knew the path: it says nothing about Recipient
}

// ReturnPath returns the envelope sender of one recipient's copy: the inbox's own address
// with a tag that names message and recipient, signed with secret so that nobody else can
// make one. Bounces reach the inbox without a table, and SPF is aligned with From. The local part of
// an inbox with a long name may have more than the 64 octets that every server accepts. Only
// where the whole address would be too long it is the plain one, and a bounce is an ordinary message.
func ReturnPath(secret []byte, inbox string, message int64, recipient int) string {
	at := strings.LastIndexByte(inbox, '@')
	if at < 0 {
		return inbox
	}
	name := strconv.FormatInt(message, 36) + ownTag.separator + strconv.FormatInt(int64(recipient), 36)
	path := inbox[:at] + tagMark + name + ownTag.separator + ownTag.mac(secret, inbox, name) + inbox[at:]
	if len(path) > maxAddress {
		return inbox
	}
	return path
}

// ReadReturnPath reads what ReturnPath made out of the recipient of a bounce. False means
// that secret did not sign it. The address may have changed case on its way.
func ReadReturnPath(secret []byte, address string) (Returned, bool) {
	inbox, tag := splitTag(address)
	for _, form := range []tagForm{ownTag, sharedTag} {
		name, mac, ok := form.split(tag)
		if !ok || !hmac.Equal([]byte(mac), []byte(form.mac(secret, inbox, name))) {
			continue
		}
		id, index, _ := strings.Cut(name, form.separator)
		message, err1 := strconv.ParseInt(id, 36, 64)
		n, err2 := strconv.ParseInt(index, 36, 32)
		return Returned{inbox, message, int(n), form == sharedTag}, err1 == nil && err2 == nil
	}
	return Returned{}, false
}

// LooksLikeReturnPath reports an address whose tag has a form of ours, whoever signed it. Nobody
// else is given such an address.
func LooksLikeReturnPath(address string) bool {
	_, tag := splitTag(address)
	return anyTag.MatchString(tag)
}

// anyTag finds both forms.
var anyTag = regexp.MustCompile(`^[0-9a-z]+(=[0-9a-z]{1,3}=[a-z2-7]{8}|-[0-9a-z]{1,3}-[a-z2-7]{12})$`)

// splitTag takes a tag of ours off an address; "" when there is none.
func splitTag(address string) (inbox, tag string) {
	address = strings.ToLower(address)
	at := strings.LastIndexByte(address, '@')
	mark := strings.LastIndex(address[:max(at, 0)], tagMark)
	if mark < 1 {
		return "", ""
	}
	return address[:mark] + address[at:], address[mark+len(tagMark) : at]
}

// split takes a tag of the form apart, without looking at what its MAC is.
func (f tagForm) split(tag string) (name, mac string, ok bool) {
	end := strings.LastIndex(tag, f.separator)
	if end < 0 || len(tag)-end-1 != f.macLength {
		return "", "", false
	}
	return tag[:end], tag[end+1:], true
}

// mac signs the name in a tag for one inbox. The addresses of an inbox are one whatever their case.
func (f tagForm) mac(secret []byte, inbox, name string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(f.purpose + "\x00" + strings.ToLower(inbox) + "\x00" + name))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil))[:f.macLength])
}
