package smtp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"inboxd/internal/base/address"
	"inboxd/smtp/lines/linestest"
)

// sessionStates are the commands that a client has sent before the fuzzed bytes.
var sessionStates = []string{
	"",
	"EHLO c.test\r\n",
	"EHLO c.test\r\nMAIL FROM:<a@b.test>\r\n",
	"EHLO c.test\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<m@inbox.test>\r\n",
	"EHLO c.test\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<m@inbox.test>\r\nDATA\r\n",
	"EHLO c.test\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<m@inbox.test>\r\nBDAT 100 LAST\r\n",
}

const (
	stateInData = 4
	stateInBDAT = 5
	chunkInBDAT = 100 // octets
)

func FuzzDialogue(f *testing.F) {
	for state := range sessionStates {
		for _, text := range []string{
			"RCPT TO:<m@inbox.test>\r\nDATA\r\nx\r\n.\r\n",
			"DATA\r\nx\n.\nMAIL FROM:<>\r\n.\r\n",
			"BDAT 3\r\nx\r\nBDAT 0 LAST\r\nQUIT\r\n",
			"BDAT 99999999999 LAST\r\nx",
			"x\r\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<n@inbox.test>\r\nBDAT 1 LAST\r\nx",
			"STARTTLS\r\nRSET\r\nNOOP\r\n\r\n\x00\r\n",
			"AUTH PLAIN\r\nVRFY x\r\nHELO\r\nLHLO x\r\nMAIL FROM:<x@y> SIZE=1 BODY=7BIT SMTPUTF8 AUTH=<>\r\n",
		} {
			f.Add(uint8(state), []byte(text))
		}
	}
	var log logBuffer
	inboxes := &house{}
	complaints := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	s := New(Options{MaxMessageBytes: 4096, Logger: complaints}, inboxes)
	s.startOnce.Do(s.startProtocol)
	f.Cleanup(s.giveUp)
	f.Fuzz(func(t *testing.T, state uint8, text []byte) {
		if bytes.Contains(bytes.ToLower(text), []byte("panic@")) {
			t.Skip("an address that is meant to panic")
		}
		before := sessionStates[int(state)%len(sessionStates)]
		converse(s, before+string(text))
		if said := log.String(); strings.Contains(said, "panic") {
			t.Fatal(said)
		}
		messages := inboxes.received()
		switch int(state) % len(sessionStates) {
		case stateInData:
			checkFirst(t, string(text), messages)
		case stateInBDAT:
			checkChunk(t, string(text), messages)
		}
		if n := possibleEnds(before + string(text)); len(messages) > n {
			t.Fatalf("%d mails out of %d ends", len(messages), n)
		}
		for _, m := range messages {
			checkMail(t, m)
		}
	})
}

// converse plays one connection to its end.
func converse(s *Server, text string) {
	ours, theirs := net.Pipe()
	go func() {
		io.WriteString(theirs, text) // fails if the server closes first
		theirs.Close()
	}()
	s.admitConnection(ours, false)
	go io.Copy(io.Discard, theirs)
	for s.openCount() > 0 {
		<-s.sessionEnded
	}
}

// possibleEnds counts the places that could end a message.
func possibleEnds(text string) int {
	return strings.Count(text, ".\r\n") + strings.Count(strings.ToUpper(text), "LAST")
}

// checkFirst compares what DATA stored with the result of the reference implementation.
func checkFirst(t *testing.T, text string, messages []mail) {
	body, _, end := linestest.ReferenceBody(text)
	switch {
	case !end && len(messages) > 0:
		t.Fatalf("stored without an end: %q", messages[0].raw)
	case end && len(body) <= 4096 && !isLooping([]byte(body)) && (len(messages) == 0 || messages[0].body() != body):
		t.Fatalf("stored %+q, want %q first", bodies(messages), body)
	}
}

// checkChunk does the same for one chunk that is a whole message.
func checkChunk(t *testing.T, text string, messages []mail) {
	if len(text) < chunkInBDAT {
		if len(messages) > 0 {
			t.Fatalf("stored half a chunk: %q", messages[0].raw)
		}
		return
	}
	want := linestest.ReferenceChunks(text[:chunkInBDAT])
	if !isLooping([]byte(want)) && (len(messages) == 0 || messages[0].body() != want) {
		t.Fatalf("stored %+q, want %q first", bodies(messages), want)
	}
}

func checkMail(t *testing.T, m mail) {
	plain := strings.ReplaceAll(m.raw, "\r\n", "")
	if strings.ContainsAny(plain, "\r\n\x00") || len(m.body()) > 4096+len("\r\n") {
		t.Fatalf("stored %q", m.raw)
	}
	if head := m.raw[:m.env.TraceLen]; !strings.HasSuffix(head, fmt.Sprintf("%s\r\n", testTraceDate(m))) {
		t.Fatalf("trace %q", head)
	}
	for _, rcpt := range m.env.RcptTo {
		if again, ok := address.CanonicalInbox(rcpt); !ok || again != rcpt || accepts[rcpt] != nil {
			t.Fatalf("stored for %q", rcpt)
		}
	}
}

func testTraceDate(m mail) string { return m.env.ReceivedAt.Format(traceDate) }

// askedFor is a house that records whether a recipient was named that only occurs in a chunk.
type askedFor struct {
	house
	inside atomic.Bool
}

func (h *askedFor) CheckRecipient(ctx context.Context, rcpt string) error {
	if rcpt == "inside@inbox.test" {
		h.inside.Store(true)
	}
	return h.house.CheckRecipient(ctx, rcpt)
}

// FuzzChunk spells BDAT in any way: no octet that may belong to its chunk is read as a command.
func FuzzChunk(f *testing.F) {
	for state := range stateInData {
		for _, line := range []string{
			"BDAT 61 LAST", "bdat 61", "BDAT\t61 LAST", "BDAT 61\tLAST", " BDAT 61 LAST", "BDAT61", "BDAT  61  LAST  ", "BDAT 61 LÄST",
			"BDAT +61", "BDAT 0061 LAST", "BDAT 61 62", "BDAT \u00a061", "\x00BDAT 61", "BDAT 99999999999999999999", "BDAT", "BDAT 61\r",
		} {
			f.Add(uint8(state), line)
		}
	}
	inboxes := &askedFor{}
	s := New(Options{MaxMessageBytes: 4096}, inboxes)
	s.startOnce.Do(s.startProtocol)
	f.Cleanup(s.giveUp)
	f.Fuzz(func(t *testing.T, state uint8, line string) {
		line, _, _ = strings.Cut(line, "\n")
		if firstWord(line) == "" {
			line = "BDAT" + line
		}
		if !strings.HasPrefix(strings.ToUpper(strings.TrimLeftFunc(line, func(r rune) bool { return r <= ' ' })), "BDAT") {
			t.Skip("nobody takes it for BDAT")
		}
		converse(s, sessionStates[int(state)%stateInData]+line+"\r\n"+chunkBehind(line)+"QUIT\r\n")
		if inboxes.received(); inboxes.inside.Load() {
			t.Fatalf("%q: its chunk was read as commands", line)
		}
	})
}

// chunkBehind returns the chunk that a lenient server would read after the line: commands, in any
// state.
func chunkBehind(line string) string {
	const inside = "RSET\r\nEHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<inside@inbox.test>\r\n"
	all := strings.Repeat(inside, 8192/len(inside)+1)
	digits := strings.TrimLeftFunc(line, func(r rune) bool { return r < '0' || r > '9' })
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	if size, err := strconv.ParseUint(digits, 10, 63); err == nil {
		return all[:min(size, uint64(len(all)))]
	}
	return all
}
