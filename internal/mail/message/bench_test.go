package message

import (
	"os"
	"testing"
)

// BenchmarkParseOTPMail measures the path of every received message: parsing, and the visible text
// for code detection.
func BenchmarkParseOTPMail(b *testing.B) {
	raw, err := os.ReadFile("testdata/otp.eml")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(raw)
	}
}

func BenchmarkVisibleText(b *testing.B) {
	raw, err := os.ReadFile("testdata/otp.eml")
	if err != nil {
		b.Fatal(err)
	}
	text := Parse(raw).HTML
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		viewOf(text)
	}
}
