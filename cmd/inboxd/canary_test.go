package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	netsmtp "net/smtp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// canaries are words that occur only in a message, by the part of the message that contains them.
type canaries map[string]string

var canaryPlaces = []string{"subject", "name", "body", "html", "header", "filename", "file", "ics", "messageid", "cut", "sentsubject", "sentbody", "senthtml", "sentname", "sentfile", "largebody", "largefile"}

// newCanaries returns words that no other run has.
func newCanaries(t testing.TB) canaries {
	seed := rand.Uint64()
	t.Logf("the words are those of seed %d", seed)
	rand, c := rand.New(rand.NewPCG(seed, 0)), canaries{}
	for _, place := range canaryPlaces {
		word := make([]byte, 40)
		for i := range word {
			word[i] = byte('a' + rand.IntN(26))
		}
		c[place] = string(word)
	}
	return c
}

// spellings returns the encodings in which a word may be stored.
func spellings(word string) map[string][]byte {
	forms := map[string][]byte{"plain": []byte(word), "hex": []byte(hex.EncodeToString([]byte(word))), "HEX": []byte(strings.ToUpper(hex.EncodeToString([]byte(word))))}
	backwards := []byte(word)
	slices.Reverse(backwards)
	forms["reversed"] = backwards
	var little, big []byte
	for _, c := range []byte(word) {
		little, big = append(little, c, 0), append(big, 0, c)
	}
	forms["UTF-16LE"], forms["UTF-16BE"] = little, big
	for shift := range 3 { // the part of the encoding that does not depend on the bytes around it
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), word...))
		forms[fmt.Sprint("base64 ", shift)] = []byte(text[(shift*8+5)/6 : (shift+len(word))*8/6])
	}
	return forms
}

// spelt is one encoding of the word of one part.
type spelt struct {
	place, form string
	bytes       []byte
}

// in returns the parts whose words occur in data. It reads data once, because folders are large. It
// compares only where two bytes match the beginning of an encoding.
func (c canaries) in(data []byte) (found map[string]string) {
	found = map[string]string{}
	var begins [1 << 16][]spelt
	for place, word := range c {
		for form, text := range spellings(word) {
			at := int(text[0])<<8 | int(text[1])
			begins[at] = append(begins[at], spelt{place, form, text})
		}
	}
	for i := 0; i+1 < len(data); i++ {
		for _, s := range begins[int(data[i])<<8|int(data[i+1])] {
			if bytes.HasPrefix(data[i:], s.bytes) {
				found[s.place] = s.form
			}
		}
	}
	return found
}

// inFolder is in for the content of all files of a folder, and for their names.
func (c canaries) inFolder(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // files may disappear meanwhile; the socket has no content
		}
		data, _ := os.ReadFile(path) // empty for a file that has disappeared
		for place, form := range c.in(append(data, path...)) {
			found[place] = form + " in " + path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// mail returns a message with a word in every part.
func (c canaries) mail() []byte {
	return []byte("From: " + c["name"] + " <far@shop.test>\r\nTo: \"" + c["name"] + "\" <x@y.test>\r\nSubject: " + c["subject"] + "\r\nMessage-ID: <" + c["messageid"] + "@shop.test>\r\nX-Extra: " + c["header"] +
		"\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n--a\r\n\r\nYour code is 482913 " + c["body"] +
		" https://shop.test/" + c["body"] + "\r\n--a\r\nContent-Type: text/html\r\n\r\n<p>" + c["html"] + "</p>\r\n--a--\r\n--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=" + c["filename"] +
		".pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte("a file "+c["file"])) + "\r\n--b\r\nContent-Type: text/calendar; method=REQUEST\r\n\r\n" +
		strings.Join([]string{"BEGIN:VCALENDAR", "VERSION:2.0", "METHOD:REQUEST", "BEGIN:VEVENT", "UID:" + c["ics"], "DTSTAMP:20260101T000000Z", "DTSTART:20300410T100000Z", "SUMMARY:" + c["ics"],
			"ORGANIZER:mailto:far@shop.test", "ATTENDEE:mailto:vault@inbox.localhost", "END:VEVENT", "END:VCALENDAR", ""}, "\r\n") + "\r\n--b--\r\n")
}

// large returns a message that is stored in a blob file, as is its attachment. Its words are
// surrounded by incompressible bytes.
func (c canaries) large() []byte {
	noise := func() []byte {
		b := make([]byte, 200<<10)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
		return b
	}
	file := base64.StdEncoding.EncodeToString(slices.Concat(noise(), []byte(c["largefile"]), noise()))
	return []byte("Subject: large\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n" + c["largebody"] +
		"\r\n--b\r\nContent-Disposition: attachment; filename=x\r\nContent-Transfer-Encoding: base64\r\n\r\n" + file + "\r\n--b--\r\n")
}

// letter returns a message to send, with a word in every part.
func (c canaries) letter(to string) map[string]any {
	return map[string]any{"to": to, "subject": c["sentsubject"], "body": c["sentbody"], "html": "<p>" + c["senthtml"] + "</p>",
		"attachments": []any{map[string]any{"filename": c["sentname"] + ".txt", "content_b64": base64.StdEncoding.EncodeToString([]byte(c["sentfile"]))}}}
}

// cutOff disconnects during a message's DATA.
func (c canaries) cutOff(t testing.TB, s *server, rcpt string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.smtp)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "EHLO x\r\nMAIL FROM:<far@shop.test>\r\nRCPT TO:<%s>\r\nDATA\r\n", rcpt)
	buffer, said := make([]byte, 4096), ""
	for !strings.Contains(said, "\n354 ") {
		n, err := conn.Read(buffer)
		if said += string(buffer[:n]); err != nil {
			t.Fatalf("%v after %q", err, said)
		}
	}
	if _, err := io.WriteString(conn, "Subject: x\r\n\r\n"+strings.Repeat(c["cut"]+"\r\n", 20_000)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// canaryStory is everything that the test does with the messages of one inbox.
type canaryStory struct {
	*user
	canaries
	address  string
	far      *receiver
	describe atomic.Bool // the other server accepts messages
	reported bytes.Buffer
}

// answer records what a call returns.
func (s *canaryStory) answer(t testing.TB, path string, header map[string]string) {
	t.Helper()
	req, err := http.NewRequest("GET", "http://"+s.server.http+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_ = resp.Header.Write(&s.reported)
	if _, err := io.Copy(&s.reported, resp.Body); err != nil || resp.StatusCode >= 500 {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
}

// read makes every call that returns something about the inbox.
func (s *canaryStory) read(t testing.TB) {
	t.Helper()
	key, session := map[string]string{"X-API-Key": s.key}, map[string]string{"Authorization": "Bearer " + s.session}
	own := "/api/v1/inboxes/" + s.address
	for _, path := range []string{"", "/latest", "/latest?otp=true", "/messages?direction=all&include=html,headers,envelope", "/messages?q=shop", "/messages/1", "/messages/2", "/messages/1/raw", "/messages/1/attachments/1",
		"/messages/1/attachments/2", "/messages/2/raw", "/messages/2/attachments/1", "/messages/3", "/messages/3/raw", "/messages/3/attachments/1", "/events", "/calendar/events", "/calendar/feed", "/calendar/owner"} {
		s.answer(t, own+path, key)
	}
	for _, path := range []string{"/api/v1/messages?direction=all&include=html,headers", "/api/v1/events", "/api/v1/inboxes", "/metrics"} {
		s.answer(t, path, key)
	}
	for _, path := range []string{"/api/webhooks/deliveries", "/api/account"} {
		s.answer(t, path, session)
	}
}

// TestNothingOfSealedMailLiesInTheClear checks that words in the messages of an encrypted inbox,
// received, interrupted or sent, occur nowhere in any encoding: not in the data folder, the log,
// the metrics, responses or webhooks. It searches while the server runs, after many other messages,
// after a kill, after a stop, and in a backup. The same search finds the words of the same messages
// in an inbox that is not encrypted.
func TestNothingOfSealedMailLiesInTheClear(t *testing.T) {
	sealed := canarySearch(t, true)
	for where, found := range sealed {
		if len(found) > 0 {
			t.Errorf("%s: %v", where, found)
		}
	}
	clear := canarySearch(t, false)
	for where, least := range map[string]int{"the folder while it runs": 16, "the folder at the end": 7 /* tables are compressed */, "the folder after a kill": 16, "the backup": 16, "the answers": 16, "the webhooks": 1} {
		if len(clear[where]) < least {
			t.Errorf("the search finds in %s no more than %v", where, clear[where])
		}
	}
}

// canarySearch runs the test's actions and returns what was found where.
func canarySearch(t *testing.T, encrypted bool) map[string]map[string]string {
	t.Helper()
	story := &canaryStory{canaries: newCanaries(t)}
	story.far = receive(t, "127.0.0.1", "0", func(line string) string {
		if !story.describe.Load() && strings.HasPrefix(line, "RCPT TO:") {
			return "451 4.7.1 Greylisted, come back later"
		}
		return ""
	})
	hooks := receiveHooks(t, "127.0.0.1:0", nil)
	dir, found := filepath.Join(t.TempDir(), "data"), map[string]map[string]string{}
	var log strings.Builder
	accessLog := filepath.Join(t.TempDir(), "access.log")
	begin := func() *server {
		return postal(t, dir, farZone(t), story.far.port, "--webhook-allow", "127.0.0.0/8", "--log-level", "debug", "--retry-schedule", "100ms", "--access-log", accessLog)
	}
	order := func(args ...string) {
		t.Helper()
		out, err := command(args...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v %s", args, err, out)
		}
		log.Write(out)
	}
	look := func(where string) { found["the folder "+where] = story.inFolder(t, dir) }
	s := begin()
	u := s.signUp(t, "me@example.test")
	story.user = u
	story.address, story.user.server = "vault@inbox.localhost", s
	u.setKey(t, newAgeKey(t))
	u.account(t, 201, "POST", "/inboxes", map[string]any{"prefix": "vault", "encrypted": encrypted})
	u.subscribe(t, hooks.URL, "*")
	other := u.inbox(t, "other")

	if err := netsmtp.SendMail(s.smtp, nil, "far@shop.test", []string{story.address}, story.mail()); err != nil {
		t.Fatal(err)
	}
	conn := story.cutOff(t, s, story.address)
	a, err := s.call("POST", "/api/v1/inboxes/"+story.address+"/send", map[string]string{"X-API-Key": u.key, "Idempotency-Key": "once"}, story.letter("bob@far.test"))
	if err != nil || a.status != 202 {
		t.Fatalf("send: %v %v", a, err)
	}
	u.until(t, story.address, 2, "retrying")
	if err := netsmtp.SendMail(s.smtp, nil, "far@shop.test", []string{story.address}, story.large()); err != nil {
		t.Fatal(err)
	}
	story.read(t)
	order("admin", "queue", "list", "--data", dir)
	order("admin", "stats", "--json", "--data", dir)
	look("while it runs")
	conn.Close()
	story.describe.Store(true)
	u.until(t, story.address, 2, "sent")
	taken := <-story.far.arrived
	for len(taken.rcpt) == 0 { // of a deferred attempt: without recipients there is no message
		taken = <-story.far.arrived
	}
	if !strings.Contains(taken.raw, story.canaries["sentsubject"]) || !strings.Contains(taken.raw, "DKIM-Signature:") {
		t.Errorf("what arrived is not what was sent: %.300s", taken.raw)
	}
	hooks.wait(t, 2)
	much := []byte("Subject: much\r\n\r\n" + strings.Repeat(strings.Repeat("0123456789", 9)+"\r\n", 23_000))
	for range 10 { // 20 MB
		if err := netsmtp.SendMail(s.smtp, nil, "far@shop.test", []string{other}, much); err != nil {
			t.Fatal(err)
		}
	}
	story.read(t)
	look("after 20 MB more")
	backup := filepath.Join(t.TempDir(), "backup")
	order("admin", "backup", backup, "--data", dir)
	found["the backup"] = story.inFolder(t, backup)
	order("check", backup)
	s.kill()
	look("after a kill")
	log.WriteString(s.stderr.String())
	s = begin()
	u.server = s
	story.read(t)
	s.terminate(t)
	look("at the end")
	log.WriteString(s.stderr.String())
	accesses, err := os.ReadFile(accessLog)
	if err != nil || !bytes.Contains(accesses, []byte("/messages/3/raw")) {
		t.Errorf("the access log: %v %.300s", err, accesses)
	}
	log.Write(accesses)
	found["the log"], found["the answers"] = story.in([]byte(log.String())), story.in(story.reported.Bytes())
	var reported bytes.Buffer
	for _, call := range hooks.wait(t, 2) {
		reported.WriteString(call.body)
	}
	found["the webhooks"] = story.in(reported.Bytes())
	return found
}

// TestCanarySpellings checks that the search finds a word in every encoding and at every offset.
func TestCanarySpellings(t *testing.T) {
	word := newCanaries(t)["body"]
	c := canaries{"body": word}
	for shift := range 6 {
		before := strings.Repeat("#", shift)
		for name, data := range map[string]string{
			"plain": before + word, "base64": base64.StdEncoding.EncodeToString([]byte(before + word + "?")), "URL base64": base64.URLEncoding.EncodeToString([]byte(before + word + "?")),
			"hex": hex.EncodeToString([]byte(before + word)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(before + word))),
		} {
			if len(c.in([]byte(data))) == 0 {
				t.Errorf("%s behind %d others is not seen", name, shift)
			}
		}
	}
	if found := c.in([]byte(newCanaries(t)["body"])); len(found) != 0 {
		t.Errorf("another word: %v", found)
	}
}
