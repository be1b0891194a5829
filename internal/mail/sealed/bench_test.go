package sealed

import (
	"bytes"
	"testing"
)

// BenchmarkMail measures what encryption adds to a message without files.
func BenchmarkMail(b *testing.B) {
	p := newPerson(b)
	raw := append([]byte("From: a@b.test\r\nSubject: x\r\n\r\n"), bytes.Repeat([]byte("0123456789abcdef\r\n"), 112)...)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.SealMessage(raw); err != nil {
			b.Fatal(err)
		}
	}
}
