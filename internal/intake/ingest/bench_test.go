package ingest_test

import (
	"os"
	"path/filepath"
	"testing"

	"inboxd/internal/intake/ingest"
)

// BenchmarkReadOTPMail measures the cost of every received message: parsing, and searching for a
// code and a link.
func BenchmarkReadOTPMail(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "mail", "message", "testdata", "otp.eml"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		ingest.ParseMessage(envelope, raw)
	}
}
