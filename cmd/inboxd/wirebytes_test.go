package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"inboxd/internal/testutil/testtools"
)

// TestWireBytesVerifyElsewhere sends letters of every shape to a server of our own, and verifies
// both signatures of what arrived with dkimpy and OpenDKIM.
func TestWireBytesVerifyElsewhere(t *testing.T) {
	const letters = 200
	far := receive(t, "127.0.0.1", "0", nil)
	dir := t.TempDir()
	s := postal(t, filepath.Join(dir, "data"), farZone(t), far.port)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range letters {
		u.send(t, address, anyLetter(random, i))
	}
	var paths []string
	for i := range letters {
		c := <-far.arrived
		checkWire(t, c.raw)
		paths = append(paths, filepath.Join(dir, fmt.Sprint(i)))
		if err := os.WriteFile(paths[i], []byte(c.raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	zone := filepath.Join(dir, "zone")
	if err := os.WriteFile(zone, publishedKeys(t, filepath.Join(dir, "data")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(testtools.ProgramPath(t, "python3"), append([]string{"-c", bothSignatures, zone}, paths...)...).CombinedOutput()
	if got := strings.Count(string(out), "True True\n"); err != nil || got != letters {
		t.Errorf("dkimpy verifies both signatures of %d of %d: %v\n%s", got, letters, err, out)
	}
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "Mode v\nSyslog no\nTestDNSData %s\n", zone), 0o600); err != nil {
		t.Fatal(err)
	}
	opendkim := testtools.ProgramPath(t, "opendkim")
	for _, path := range paths {
		out, err := exec.Command(opendkim, "-t", path, "-x", conf).CombinedOutput()
		if !bytes.Contains(out, []byte("succeeded")) || bytes.Contains(out, []byte("failed")) {
			raw, _ := os.ReadFile(path)
			t.Fatalf("opendkim: %v: %s\n%q", err, out, raw)
		}
	}
}

const bothSignatures = `
import sys, dkim
zone = dict(line.rstrip("\n").split(" ", 1) for line in open(sys.argv[1]))
ask = lambda name, timeout=5: zone[name.decode().rstrip(".")].encode()
for path in sys.argv[2:]:
    raw = open(path, "rb").read()
    print(*[dkim.DKIM(raw).verify(idx=i, dnsfunc=ask) for i in (0, 1)])
`

// publishedKeys returns the DKIM records as the operator sees them, one per line.
func publishedKeys(t *testing.T, data string) []byte {
	t.Helper()
	out, err := command("admin", "--data", data, "dkim", "show").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var zone []byte
	records := dns.NewZoneParser(bytes.NewReader(out), "", "")
	for rr, more := records.Next(); more; rr, more = records.Next() {
		if txt, ok := rr.(*dns.TXT); ok {
			zone = fmt.Appendf(zone, "%s %s\n", strings.TrimSuffix(rr.Header().Name, "."), strings.Join(txt.Txt, ""))
		}
	}
	if err := records.Err(); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return zone
}

// checkWire checks the limits of RFC 5321 section 4.5.3.1.6 and RFC 5322 section 2.3 for lines.
func checkWire(t *testing.T, raw string) {
	t.Helper()
	for line := range strings.SplitSeq(raw, "\r\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\n\x00") {
			t.Errorf("a line of %d octets: %.200q", len(line), line)
		}
	}
	if strings.Contains(strings.ToLower(raw), "hidden@far.test") {
		t.Errorf("a blind copy shows:\n%s", raw)
	}
}

// anyLetter returns a letter of one of many shapes.
func anyLetter(r *rand.Rand, i int) map[string]any {
	texts := []string{
		"", "x", "\n", "\n\n\n", ".", "..\n.\n...", "From here\nFrom there", strings.Repeat("long ", 400), strings.Repeat("x", 5000),
		strings.Repeat("ü", 3000), "日本語のメール\n" + strings.Repeat("漢字", 600), "trailing \t \nspaces  \n\n", "a\r\nb\nc", "🙂 =20 = =\n=", "\t", "-- \nsignature",
		strings.Repeat("line\n", 300), "e\u0301\u200d\u202e", "<>&\"'", strings.Repeat(".", 2000),
	}
	letter := map[string]any{"to": "bob@far.test", "subject": fmt.Sprintf("%d %s", i, []string{"", "Grüße", strings.Repeat("ä", 190), "=?utf-8?q?x?=", "  spaces  ", strings.Repeat("w ", 90)}[r.IntN(6)])}
	letter["body"] = texts[r.IntN(len(texts))] + texts[r.IntN(len(texts))]
	if r.IntN(3) == 0 {
		letter["html"] = "<p>" + texts[r.IntN(len(texts))] + "</p>"
	}
	if r.IntN(4) == 0 {
		letter["cc"], letter["bcc"] = []string{"carol@far.test"}, []string{"hidden@far.test"}
	}
	if r.IntN(4) == 0 {
		letter["in_reply_to"] = "<" + strings.Repeat("i", 1+r.IntN(239)) + "@far.test>"
	}
	var files []any
	for range r.IntN(3) {
		b := make([]byte, r.IntN(5000))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		files = append(files, map[string]any{"filename": []string{"a.txt", "Übung.pdf", "a b;c\".bin", strings.Repeat("n", 200)}[r.IntN(4)], "content_b64": base64.StdEncoding.EncodeToString(b)})
	}
	if files = slices.Clip(files); len(files) > 0 {
		letter["attachments"] = files
	}
	return letter
}
