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

// OwnersCopy is the recipient number in the return path of an owner's copy. Nothing about the copy
// is stored when it is returned, so the path must identify it. No message has so many recipients.
// Messages in transit carry the number: never change it.
const OwnersCopy = 36*36*36 - 1

// tagForm is a form of the tag, <message><separator><recipient><separator><MAC>, and the purpose of
// its MAC. Messages in transit carry tags: never change a form, add another.
type tagForm struct {
	separator, purpose string
	macLength          int // characters of base32
}

var (
	// ownTag identifies one recipient's copy. 40 bits are enough against guesses that cost an SMTP
	// session each. They leave 48 of the 64 octets that every server accepts (RFC 5321 section
	// 4.5.3.1.1) to the name of the inbox.
	ownTag = tagForm{"=", "return path of one recipient", 8}
	// sharedTag named the first of the recipients that shared a copy; each of them knew the tag.
	// Copies sent before each recipient got a copy of its own still return to it (ADR 0104).
	sharedTag = tagForm{"-", "return path", 12}
)

// ReturnTarget is what a return path identifies.
type ReturnTarget struct {
	Inbox          string
	MessageID      int64
	RecipientIndex int  // index in the message's recipients, or OwnersCopy
	IsShared       bool // all recipients of the copy knew the path, so it does not prove Recipient
}

// ReturnPath returns the envelope sender of one recipient's copy: the inbox's own address with a
// tag that names message and recipient. The tag is signed with secret, so nobody else can make one.
// Bounces reach the inbox without a lookup table, and SPF is aligned with From. With a long inbox
// name, the local part may exceed the 64 octets that every server accepts. If the whole address
// would be too long, the plain address is returned and a bounce is an ordinary message.
func ReturnPath(secret []byte, inbox string, message int64, recipient int) string {
	at := strings.LastIndexByte(inbox, '@')
	if at < 0 {
		return inbox
	}
	name := strconv.FormatInt(message, 36) + ownTag.separator + strconv.FormatInt(int64(recipient), 36)
	path := inbox[:at] + tagMark + name + ownTag.separator + ownTag.signName(secret, inbox, name) + inbox[at:]
	if len(path) > maxAddress {
		return inbox
	}
	return path
}

// ReadReturnPath parses the recipient of a bounce that ReturnPath made. False means that secret did
// not sign it. The case of the address may have changed on its way.
func ReadReturnPath(secret []byte, address string) (ReturnTarget, bool) {
	inbox, tag := splitTag(address)
	for _, form := range []tagForm{ownTag, sharedTag} {
		name, mac, ok := form.splitTag(tag)
		if !ok || !hmac.Equal([]byte(mac), []byte(form.signName(secret, inbox, name))) {
			continue
		}
		id, index, _ := strings.Cut(name, form.separator)
		message, err1 := strconv.ParseInt(id, 36, 64)
		n, err2 := strconv.ParseInt(index, 36, 32)
		return ReturnTarget{inbox, message, int(n), form == sharedTag}, err1 == nil && err2 == nil
	}
	return ReturnTarget{}, false
}

// LooksLikeReturnPath reports whether the address has a tag in one of our forms, whoever signed it.
// Such addresses are never assigned to anybody.
func LooksLikeReturnPath(address string) bool {
	_, tag := splitTag(address)
	return anyTag.MatchString(tag)
}

// anyTag matches both forms.
var anyTag = regexp.MustCompile(`^[0-9a-z]+(=[0-9a-z]{1,3}=[a-z2-7]{8}|-[0-9a-z]{1,3}-[a-z2-7]{12})$`)

// splitTag removes our tag from an address. It returns "" if the tag is missing.
func splitTag(address string) (inbox, tag string) {
	address = strings.ToLower(address)
	at := strings.LastIndexByte(address, '@')
	mark := strings.LastIndex(address[:max(at, 0)], tagMark)
	if mark < 1 {
		return "", ""
	}
	return address[:mark] + address[at:], address[mark+len(tagMark) : at]
}

// splitTag splits a tag of this form without verifying its MAC.
func (f tagForm) splitTag(tag string) (name, mac string, ok bool) {
	end := strings.LastIndex(tag, f.separator)
	if end < 0 || len(tag)-end-1 != f.macLength {
		return "", "", false
	}
	return tag[:end], tag[end+1:], true
}

// signName signs the name in a tag for one inbox. The case of the inbox address does not matter.
func (f tagForm) signName(secret []byte, inbox, name string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(f.purpose + "\x00" + strings.ToLower(inbox) + "\x00" + name))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil))[:f.macLength])
}
