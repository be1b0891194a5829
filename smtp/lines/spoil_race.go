//go:build race

package lines

// Spoil overwrites a buffer that goes back to its pool. Code that still reads a received message
// then finds garbage in every test, not only when the buffer is reused.
func Spoil(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
