package smtp

import (
	"bytes"
	"strings"
	"testing"
)

// referenceBody is the line discipline in plain words: the message is what stands before
// the first CRLF.CRLF, the CRLF of the DATA command included in the search; lines are what
// CRLF divides; one leading dot of each goes; then what is left of CR, LF and NUL is
// repaired.
func referenceBody(wire string) (body string, rest string, end bool) {
	text, rest, end := strings.Cut("\r\n"+wire, "\r\n.\r\n")
	if !end {
		return "", "", false
	}
	lines := strings.Split(text, "\r\n")[1:]
	for i, line := range lines {
		lines[i] = repair(strings.TrimPrefix(line, ".")) + "\r\n"
	}
	return strings.Join(lines, ""), rest, true
}

// repair is applied to text without CRLF.
func repair(line string) string {
	return strings.NewReplacer("\r", " ", "\n", "\r\n", "\x00", " ").Replace(line)
}

// referenceChunks is the same for the joined chunks of BDAT.
func referenceChunks(wire string) string {
	lines := strings.Split(wire, "\r\n")
	for i := range lines {
		lines[i] = repair(lines[i])
	}
	body := strings.Join(lines, "\r\n")
	if body != "" && !strings.HasSuffix(body, "\r\n") {
		body += "\r\n"
	}
	return body
}

func TestLineDiscipline(t *testing.T) {
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
		d := discipline{dots: true}
		got, n, end := d.append(nil, []byte(c.wire))
		if !end || string(got) != c.body || c.wire[n:] != c.rest {
			t.Errorf("%q: body %q rest %q end %v, want %q and %q", c.wire, got, c.wire[n:], end, c.body, c.rest)
		}
	}
}

// lineEnds are joined in pairs around a dot, with one true end among many false ones.
var lineEnds = []string{
	"\r\n", "\n", "\r", "\r\r\n", "\n\n", "\r\r", "\n\r", "\r\n\x00", "\x00\r\n", "\r\x00\n", "\x00\n", "\r\x00",
}

// mixes returns every pair of lineEnds around a dot.
func mixes() []string {
	var all []string
	for _, before := range lineEnds {
		for _, after := range lineEnds {
			all = append(all, before+"."+after)
		}
	}
	return all
}

// A storm of special bytes must not cost more than plain text by more than a constant: a
// scan to the end of the buffer for each byte would take minutes here.
func TestLineDisciplineStorms(t *testing.T) {
	for _, unit := range []string{"\r", "\n", "\x00", "\r\x00", "\n\r", "\r\n..", ".", "a"} {
		src := bytes.Repeat([]byte(unit), 1<<20/len(unit))
		d := discipline{dots: true}
		if _, n, end := d.append(nil, src); n != len(src) || end {
			t.Errorf("%q: read %d of %d, end %v", unit, n, len(src), end)
		}
	}
}

func FuzzLineDiscipline(f *testing.F) {
	for _, mix := range mixes() {
		f.Add([]byte("a"+mix+"MAIL FROM:<b@c>\r\n.\r\nrest"), uint8(3))
	}
	f.Fuzz(func(t *testing.T, wire []byte, step uint8) {
		body, rest, want := referenceBody(string(wire))
		d := discipline{dots: true}
		got, n, end := inSteps(&d, wire, int(step))
		if end != want {
			t.Fatalf("%q: end %v, want %v", wire, end, want)
		}
		if end && (string(got) != body || string(wire[n:]) != rest) {
			t.Fatalf("%q: body %q rest %q, want %q and %q", wire, got, wire[n:], body, rest)
		}
		d = discipline{}
		got, n, end = inSteps(&d, wire, int(step))
		if got = d.finish(got); end || n != len(wire) || string(got) != referenceChunks(string(wire)) {
			t.Fatalf("%q: BDAT body %q, want %q", wire, got, referenceChunks(string(wire)))
		}
	})
}

// inSteps feeds wire in parts of step bytes, as a network would.
func inSteps(d *discipline, wire []byte, step int) (dst []byte, n int, end bool) {
	for step = max(step, 1); n < len(wire) && !end; {
		var k int
		dst, k, end = d.append(dst, wire[n:min(n+step, len(wire))])
		n += k
	}
	return dst, n, end
}

func BenchmarkLineDiscipline(b *testing.B) {
	msg := []byte(strings.Repeat(strings.Repeat("x", 70)+"\r\n", 28) + ".\r\n")
	var dst []byte
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		d := discipline{dots: true}
		dst, _, _ = d.append(dst[:0], msg)
	}
}
