package ingest_test

import (
	"runtime"
	"strings"
	"testing"

	"inboxd/internal/intake/ingest"
)

// maxAllocated limits the total allocations, and so the peak of the heap, for parsing the largest
// message that SMTP accepts.
const maxAllocated = 64 << 20

// raceEnabled is set if the race detector makes loops over bytes about twenty times slower.
var raceEnabled bool

// TestLargestMails parses messages of 25 MB of each expensive kind.
func TestLargestMails(t *testing.T) {
	size := 25 << 20
	if raceEnabled {
		size /= 10
	}
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	head := "Subject: Your code\r\nMIME-Version: 1.0\r\n"
	multi := head + "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nYour verification code is 482913\r\n--b\r\n"
	for name, mail := range map[string]string{
		"text":        head + "\r\n" + fill("Your verification code is 482913.\r\n"),
		"digits":      head + "\r\n" + fill("482913 "),
		"html":        head + "Content-Type: text/html\r\n\r\n" + fill("<p>Your code is <b>482913</b></p>\r\n"),
		"text, html":  multi + "Content-Type: text/html\r\n\r\n" + fill("<tr><td>4</td><td>8</td></tr>") + "\r\n--b--",
		"links":       head + "Content-Type: text/html\r\n\r\n" + fill("<a href='https://x.example/verify?token=482913'>a</a>"),
		"images":      head + "Content-Type: text/html\r\n\r\n" + fill("<img alt='code 482913'>"),
		"a file":      multi + "Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n" + fill("QUJDREVGR0hJSktM\r\n") + "\r\n--b--",
		"uuencode":    head + "\r\nbegin 644 x\r\n" + fill("#86)C\r\n") + "end\r\n",
		"quoted text": head + "\r\nThe code is 482913\r\n" + fill("> Your old code is 551234\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(mail)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := ingest.ParseMessage(envelope, raw)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > maxAllocated {
				t.Errorf("%d MB of mail took %d MB", len(raw)>>20, used>>20)
			} else {
				t.Logf("%.1f MB", float64(used)/(1<<20))
			}
			if m.Content.Doc.Subject != "Your code" {
				t.Errorf("subject %q", m.Content.Doc.Subject)
			}
		})
	}
}
