package smtp

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDialogues runs the dialogues in testdata. Each line is one of
//
//	# comment
//	options tls maxbytes=100 maxrcpt=2 domain=x.test    before all others
//	C: text         the client sends text and CRLF
//	c: "text"       the client sends a Go string, without adding a line end
//	repeat 31 "text"
//	S: text         the next line from the server; a last * stands for anything
//	S: EOF          the server has closed the connection
//	TLS             the client performs a handshake
//	CLOSE           the client closes the connection
//	D: from=<a@b.test> to=m@inbox.test [tls] [utf8] "body"      the next message received
//
// A dialogue fails if a message is received that its D lines do not list.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, scene := range strings.Split(string(text), "\n===") {
				title, lines, _ := strings.Cut(scene, "\n")
				t.Run(strings.Trim(title, " ="), func(t *testing.T) { play(t, lines) })
			}
		})
	}
}

func play(t *testing.T, scene string) {
	lines := strings.Split(scene, "\n")
	opts := Options{}
	if rest, ok := strings.CutPrefix(lines[0], "options "); ok {
		opts = storyOptions(t, rest)
		lines[0] = ""
	}
	inboxes := &house{}
	s, addr := serve(t, opts, inboxes)
	c := dial(t, addr)
	var messages []mail
	for i, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "C:":
			c.write(rest + "\r\n")
		case "c:":
			c.write(unquote(t, rest))
		case "repeat":
			times, text, _ := strings.Cut(rest, " ")
			n, _ := strconv.Atoi(times)
			c.write(strings.Repeat(unquote(t, text), n))
		case "S:":
			if got := c.line(); !matches(got, rest) {
				t.Fatalf("line %d: got %q, want %q", i+1, got, rest)
			}
		case "TLS":
			if err := c.startTLS(); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		case "CLOSE":
			c.conn.Close()
			for s.openCount() > 0 { // a session that does not end makes the test hang
				<-s.sessionEnded
			}
		case "D:":
			if messages = append(messages, inboxes.received()...); len(messages) == 0 {
				t.Fatalf("line %d: no mail was received", i+1)
			}
			if got := describe(messages[0]); got != rest {
				t.Fatalf("line %d: received\n  %s\nwant\n  %s", i+1, got, rest)
			}
			messages = messages[1:]
		default:
			t.Fatalf("line %d: %q", i+1, line)
		}
	}
	for _, m := range append(messages, inboxes.received()...) {
		t.Errorf("received besides: %s", describe(m))
	}
}

func matches(got, want string) bool {
	if prefix, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(got, prefix)
	}
	return got == want
}

// describe formats a message like a D line.
func describe(m mail) string {
	flags := ""
	if m.env.TLS {
		flags += " tls"
	}
	if m.env.SMTPUTF8 {
		flags += " utf8"
	}
	return fmt.Sprintf("from=<%s> to=%s%s %q", m.env.MailFrom, strings.Join(m.env.RcptTo, ","), flags, m.body())
}

func storyOptions(t *testing.T, words string) (o Options) {
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "tls":
			o.TLSConfig = serverTLS()
		case "maxbytes":
			o.MaxMessageBytes = int64(n)
		case "domain":
			o.Domain = value
		case "maxrcpt":
			o.MaxRecipients = n
		default:
			t.Fatal("unknown option", word)
		}
	}
	return o
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	out, err := strconv.Unquote(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return out
}
