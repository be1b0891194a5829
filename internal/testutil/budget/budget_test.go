package budget

import (
	"testing"
	"time"
)

// failures is a test that only counts its failures.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.n++ }

// kept makes an allocation escape to the heap.
var kept []byte

// TestAtMost checks that work above a limit fails the test, and other work does not.
func TestAtMost(t *testing.T) {
	spin := func() {
		for range 20 {
			calibrationWork()
		}
	}
	plenty := Of{time.Hour, 1 << 40}
	for _, c := range []struct {
		name  string
		limit Of
		work  func()
		fails bool
	}{
		{"within both", plenty, spin, false},
		{"twenty times the yardstick where forty are allowed", Of{40 * referenceTime, 1 << 40}, spin, false},
		{"twenty times the yardstick where five are allowed", Of{5 * referenceTime, 1 << 40}, spin, true},
		{"too many bytes", Of{time.Hour, 1 << 20}, func() { kept = make([]byte, 8<<20) }, true},
	} {
		f := &failures{TB: t}
		if took := AtMost(f, c.limit, c.work); (f.n > 0) != c.fails {
			t.Errorf("%s: %+v, %d failures", c.name, took, f.n)
		}
	}
}

func BenchmarkKnown(b *testing.B) {
	for b.Loop() {
		calibrationWork()
	}
}
