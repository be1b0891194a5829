package lines

import (
	"bytes"
	"strings"
	"testing"

	"inboxd/smtp/lines/linestest"
)

func TestDiscipline(t *testing.T) {
	for _, c := range []struct{ wire, body, rest string }{
		{".\r\nQUIT", "", "QUIT"},
		{"a\r\n.\r\n", "a\r\n", ""},
		{"a\r\r\n.\r\nx", "a \r\n", "x"},
		{"..a\r\n.b\r\n...\r\n.\r\n", ".a\r\nb\r\n..\r\n", ""},
		{"a\n.\nb\r\n.\r\n", "a\r\n.\r\nb\r\n", ""},
		{"a\rb\x00c\r\n.\r\n", "a b c\r\n", ""},
		{"a\r\n.\r\r\n.\r\n", "a\r\n \r\n", ""},
		{"\r\n.\r\n", "\r\n", ""},
	} {
		d := DataDecoder{DotStuffed: true}
		got, n, end := d.AppendBody(nil, []byte(c.wire))
		if !end || string(got) != c.body || c.wire[n:] != c.rest {
			t.Errorf("%q: body %q rest %q end %v, want %q and %q", c.wire, got, c.wire[n:], end, c.body, c.rest)
		}
	}
}

// Many special bytes cost at most a constant factor more than plain text. A scan to the end of the
// buffer for each byte would take minutes here.
func TestDisciplineStorms(t *testing.T) {
	for _, unit := range []string{"\r", "\n", "\x00", "\r\x00", "\n\r", "\r\n..", ".", "a"} {
		src := bytes.Repeat([]byte(unit), 1<<20/len(unit))
		d := DataDecoder{DotStuffed: true}
		if _, n, end := d.AppendBody(nil, src); n != len(src) || end {
			t.Errorf("%q: read %d of %d, end %v", unit, n, len(src), end)
		}
	}
}

func FuzzDiscipline(f *testing.F) {
	for _, mix := range linestest.MixedLineEnds() {
		f.Add([]byte("a"+mix+"MAIL FROM:<b@c>\r\n.\r\nrest"), uint8(3))
	}
	f.Fuzz(func(t *testing.T, wire []byte, step uint8) {
		body, rest, want := linestest.ReferenceBody(string(wire))
		d := DataDecoder{DotStuffed: true}
		got, n, end := inSteps(&d, wire, int(step))
		if end != want {
			t.Fatalf("%q: end %v, want %v", wire, end, want)
		}
		if end && (string(got) != body || string(wire[n:]) != rest) {
			t.Fatalf("%q: body %q rest %q, want %q and %q", wire, got, wire[n:], body, rest)
		}
		d = DataDecoder{}
		got, n, end = inSteps(&d, wire, int(step))
		if got = d.FinishBody(got); end || n != len(wire) || string(got) != linestest.ReferenceChunks(string(wire)) {
			t.Fatalf("%q: BDAT body %q, want %q", wire, got, linestest.ReferenceChunks(string(wire)))
		}
	})
}

// inSteps passes wire in parts of step bytes, as a network would.
func inSteps(d *DataDecoder, wire []byte, step int) (dst []byte, n int, end bool) {
	for step = max(step, 1); n < len(wire) && !end; {
		var k int
		dst, k, end = d.AppendBody(dst, wire[n:min(n+step, len(wire))])
		n += k
	}
	return dst, n, end
}

func BenchmarkDiscipline(b *testing.B) {
	msg := []byte(strings.Repeat(strings.Repeat("x", 70)+"\r\n", 28) + ".\r\n")
	var dst []byte
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		d := DataDecoder{DotStuffed: true}
		dst, _, _ = d.AppendBody(dst[:0], msg)
	}
}
