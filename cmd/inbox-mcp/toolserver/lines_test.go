package toolserver

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"REVISION","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// conversation is a client that writes lines and reads lines.
type conversation struct {
	t    *testing.T
	feed io.Writer
	out  *bufio.Reader
}

func converse(t *testing.T, s *Server, revision string) *conversation {
	t.Helper()
	in, feed := io.Pipe()
	read, out := io.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- s.ServeStdio(t.Context(), in, out)
		out.Close()
	}()
	t.Cleanup(func() {
		go io.Copy(io.Discard, read) // responses that nobody waits for
		feed.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	c := &conversation{t, feed, bufio.NewReaderSize(read, 1<<20)}
	if revision != "" {
		if got := c.ask(strings.ReplaceAll(hello, "REVISION", revision)); !strings.Contains(got, `"protocolVersion":"`+revision+`"`) {
			t.Fatal(got)
		}
		c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return c
}

func (c *conversation) say(line string) {
	if _, err := io.WriteString(c.feed, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) listen() string {
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (c *conversation) ask(line string) string {
	c.say(line)
	return c.listen()
}

const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`

// TestStrangeLines: each gets the error that the protocol defines, and the next call works.
func TestStrangeLines(t *testing.T) {
	c := converse(t, filled().server(), "2025-11-25")
	for name, line := range map[string][2]string{
		"no JSON":             {`hello`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		"half of JSON":        {`{"jsonrpc":"2.0","id":1`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		"two on a line":       {ping + ping, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		"a number":            {`7`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		"a batch":             {`[` + ping + `]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		"an empty batch":      {`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		"another version":     {`{"jsonrpc":"1.0","id":5,"method":"ping"}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,`},
		"no method":           {`{"jsonrpc":"2.0","id":"x"}`, `{"jsonrpc":"2.0","id":"x","error":{"code":-32600,`},
		"a method that isn't": {`{"jsonrpc":"2.0","id":6,"method":"no/such"}`, `{"jsonrpc":"2.0","id":6,"error":{"code":-32601,`},
		"one not offered":     {`{"jsonrpc":"2.0","id":6,"method":"prompts/list"}`, `{"jsonrpc":"2.0","id":6,"error":{"code":-32601,`},
		"a tool that isn't":   {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"zz"}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,`},
		"a second greeting":   {strings.ReplaceAll(hello, "REVISION", "2025-11-25"), `{"jsonrpc":"2.0","id":"hello","error":{"code":-32600,`},
		"a revision of no one": {`{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			`{"jsonrpc":"2.0","id":8,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28",`},
		"more than 8 MiB":        {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 10_000_000) + `"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		"arguments in a list":    {`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_inboxes","arguments":[1]}}`, `{"jsonrpc":"2.0","id":4,`},
		"a notification of none": {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":404}}`, ""},
		"a notification unheard": {`{"jsonrpc":"2.0","method":"notifications/whatever"}`, ""},
		"an answer to nothing":   {`{"jsonrpc":"2.0","id":3,"result":{}}`, ""},
		"an empty line":          {"\r", ""},
		"text that is not UTF-8": {"\"\xff\xfe\"", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		"progress of nothing":    {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}`, ""},
	} {
		c.say(line[0])
		if line[1] != "" {
			if got := c.listen(); !strings.HasPrefix(got, line[1]) {
				t.Errorf("%s: %.300s", name, got)
			}
		}
		if got := c.ask(ping); got != `{"jsonrpc":"2.0","id":9,"result":{}}` {
			t.Fatalf("after %s: %.300s", name, got)
		}
	}
}

// TestAnIDIsFreeWithItsAnswer: a client that has read the response may reuse the id immediately.
func TestAnIDIsFreeWithItsAnswer(t *testing.T) {
	c := converse(t, filled().server(), "2025-11-25")
	for range 500 {
		if got := c.ask(ping); got != `{"jsonrpc":"2.0","id":9,"result":{}}` {
			t.Fatal(got)
		}
	}
}

// TestBatches are accepted in the revisions that have them: their responses are on one line.
func TestBatches(t *testing.T) {
	c := converse(t, filled().server(), "2025-03-26")
	got := c.ask(`[` + ping + `,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}},{"jsonrpc":"2.0","id":10,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"},{"id":11}]`)
	for _, part := range []string{`[{"jsonrpc":"2.0","id":9,"error":{"code":-32600,`, `{"jsonrpc":"2.0","id":9,"result":{}}`, `{"jsonrpc":"2.0","id":10,"result":{}}`, `{"jsonrpc":"2.0","id":11,"error"`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	if got := c.ask(`[{"id":1}]`); !strings.HasPrefix(got, `[{"jsonrpc":"2.0","id":1,"error"`) {
		t.Error(got)
	}
	if got := c.ask(ping); got != `{"jsonrpc":"2.0","id":9,"result":{}}` {
		t.Error(got)
	}
}

// TestTheWrongTime: a request before the initialization gets an error with a code, and the
// initialization works.
func TestTheWrongTime(t *testing.T) {
	c := converse(t, filled().server(), "")
	if got := c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,`) {
		t.Error(got)
	}
	if got := c.ask(strings.ReplaceAll(hello, "REVISION", "2031-01-01")); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
		t.Error(got)
	}
}

// TestTheEndOfInput: running calls get a response, waits as cancelled, before the connection ends.
func TestTheEndOfInput(t *testing.T) {
	service := filled()
	s := service.server()
	in := strings.NewReader(strings.ReplaceAll(hello, "REVISION", "2025-06-18") + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_inbox"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait_until_sent","arguments":{"address":"` + inboxOfTests + `","message_id":77}}}`)
	var out strings.Builder
	if err := s.ServeStdio(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"protocolVersion":"2025-06-18"`, "Created the inbox " + inboxOfTests, stoppingMessage} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
}
