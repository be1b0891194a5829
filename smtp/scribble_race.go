//go:build race

package smtp

// scribble spoils a buffer that goes back to its pool, so that whoever still looks at a mail
// that was delivered finds nonsense in every test, and does not wait for another mail.
func scribble(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
