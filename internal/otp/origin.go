package otp

// Origin gives the host that a declared code says it is bound to, or "" when the value
// declares none: who fills Input.Declared must verify it first.
func Origin(value string) string {
	_, host, ok := declared(value)
	if !ok {
		return ""
	}
	return host
}
