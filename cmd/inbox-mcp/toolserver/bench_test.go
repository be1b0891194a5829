package toolserver

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// BenchmarkNew measures what a client waits for before it can request the tools.
func BenchmarkNew(b *testing.B) {
	s := newService()
	for b.Loop() {
		s.server()
	}
}

// BenchmarkCall measures what a call costs in addition to that of the API, from line to line.
func BenchmarkCall(b *testing.B) {
	service := newService()
	inboxes := []object{}
	for range 10 {
		inboxes = append(inboxes, object{"address": inboxOfTests, "label": "Calm Reef", "unread_count": 1, "message_count": 2, "last_message_at": "2026-11-23T10:00:00.000Z", "encrypted": false, "retention_hours": 24, "created_at": "2026-11-23T10:00:00.000Z", "has_key": false})
	}
	page, _ := json.Marshal(object{"inboxes": inboxes, "next_cursor": nil})
	service.scripted(200, page)
	in, feed := io.Pipe()
	read, out := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- service.server().ServeStdio(b.Context(), in, out) }()
	lines := bufio.NewReaderSize(read, 1<<20)
	ask := func(line string) {
		if _, err := io.WriteString(feed, line+"\n"); err != nil {
			b.Fatal(err)
		}
		if answer, err := lines.ReadString('\n'); err != nil || strings.Contains(answer, "rror") {
			b.Fatal(answer, err)
		}
	}
	ask(strings.ReplaceAll(hello, "REVISION", "2025-11-25"))
	b.ReportAllocs()
	for b.Loop() {
		ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_inboxes","arguments":{}}}`)
	}
	feed.Close()
	<-over
}
