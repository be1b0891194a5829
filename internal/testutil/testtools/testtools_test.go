package testtools

import (
	"flag"
	"testing"
)

// witness records how a test ended.
type witness struct {
	testing.TB
	ended string
}

func (*witness) Helper() {}

func (w *witness) end(how string) {
	if w.ended == "" {
		w.ended = how
	}
}

func (w *witness) Skipf(string, ...any)  { w.end("skipped") }
func (w *witness) Fatalf(string, ...any) { w.end("failed") }

// TestMissing checks that a missing program is a failure, except for the quick tests, which run on
// a machine without it.
func TestMissing(t *testing.T) {
	short := flag.Lookup("test.short")
	before := short.Value.String()
	defer func() { _ = short.Value.Set(before) }()
	for set, want := range map[string]string{"true": "skipped", "false": "failed"} {
		_ = short.Value.Set(set)
		program, file := &witness{}, &witness{}
		ProgramPath(program, "a-program-that-nobody-has")
		FilePath(file, "/usr/share/a-file-that-nobody-has")
		if program.ended != want || file.ended != want {
			t.Errorf("short %s: %s, %s", set, program.ended, file.ended)
		}
	}
}
