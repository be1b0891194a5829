package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	netsmtp "net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ageKey is a key pair created by Debian's age-keygen.
type ageKey struct{ file, public, private string }

func newAgeKey(t testing.TB) ageKey {
	t.Helper()
	k := ageKey{file: filepath.Join(t.TempDir(), "key.txt")}
	if out, err := exec.Command("age-keygen", "-o", k.file).CombinedOutput(); err != nil {
		t.Fatalf("age is missing, make deps installs it: %v %s", err, out)
	}
	public, err := exec.Command("age-keygen", "-y", k.file).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(k.file)
	if err != nil {
		t.Fatal(err)
	}
	k.public = strings.TrimSpace(string(public))
	k.private = string(text[strings.Index(string(text), "AGE-SECRET-KEY-"):])
	k.private, _, _ = strings.Cut(k.private, "\n")
	return k
}

// open decrypts an envelope with Debian's age.
func (k ageKey) open(t testing.TB, envelope []byte) []byte {
	t.Helper()
	age := exec.Command("age", "-d", "-i", k.file)
	age.Stdin = bytes.NewReader(envelope)
	var said bytes.Buffer
	age.Stderr = &said
	plain, err := age.Output()
	if err != nil {
		t.Fatalf("age: %v %s (%d bytes: %.40q)", err, said.String(), len(envelope), envelope)
	}
	return plain
}

// openAll decrypts envelopes with typage.
func (k ageKey) openAll(t testing.TB, envelopes [][]byte) (opened [][]byte) {
	t.Helper()
	in, err := json.Marshal(map[string]any{"identity": k.private, "envelopes": envelopes})
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", filepath.Join("testdata", "npm", "open.mjs"))
	node.Stdin = bytes.NewReader(in)
	var said bytes.Buffer
	node.Stderr = &said
	out, err := node.Output()
	if err == nil {
		err = json.Unmarshal(out, &opened)
	}
	if err != nil || len(opened) != len(envelopes) {
		t.Fatalf("typage opened %d of %d envelopes: %v %s", len(opened), len(envelopes), err, said.String())
	}
	return opened
}

// vault creates an encrypted inbox; the account has a key.
func (u *user) vault(t testing.TB, prefix string) string {
	t.Helper()
	return u.account(t, 201, "POST", "/inboxes", map[string]any{"prefix": prefix, "encrypted": true})["address"].(string)
}

func (u *user) setKey(t testing.TB, k ageKey) {
	t.Helper()
	u.account(t, 200, "PUT", "/account/encryption", map[string]any{"public_key": k.public, "password": "correct horse"})
}

// get returns the body of a response of the agent API.
func (u *user) get(t testing.TB, path string) (body []byte, contentType string) {
	t.Helper()
	req, err := http.NewRequest("GET", "http://"+u.server.http+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", u.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %d %v %.200s", path, resp.StatusCode, err, body)
	}
	return body, resp.Header.Get("Content-Type")
}

func envelopeOf(t testing.TB, email map[string]any) []byte {
	t.Helper()
	text, _ := email["envelope"].(string)
	envelope, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(envelope) == 0 {
		t.Fatalf("no envelope: %v %v", err, email)
	}
	return envelope
}

// mimeMails are messages of the corpora, if they are installed, and some of our own.
func mimeMails(t testing.TB) (mailCount [][]byte) {
	t.Helper()
	mailCount = [][]byte{
		[]byte("From: a@b.test\r\nSubject: small\r\n\r\nhello\r\n"),
		[]byte("Subject: no sender, no end"),
		[]byte("From: a@b.test\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n--b\r\nContent-Disposition: attachment; filename=a.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
			base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0, 1, 2, 255}, 100_000)) + "\r\n--b\r\nContent-Disposition: attachment; filename=b.txt\r\n\r\nsecond\r\n--b--\r\n"),
	}
	dir := os.Getenv("INBOX_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "mime", "*.eml"))
	for i, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 && len(raw) < 1<<20 { // a third is sufficient
			mailCount = append(mailCount, raw)
		}
	}
	return mailCount
}

// TestAgeOpensWhatWasReceived checks that Debian's age and typage decrypt each envelope, message
// and attachment to the content of the same message in an unencrypted inbox, which is unchanged.
func TestAgeOpensWhatWasReceived(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--log-level", "error")
	u, key := s.signUp(t, "me@example.test"), newAgeKey(t)
	u.setKey(t, key)
	vault, plain := u.vault(t, "vault"), u.inbox(t, "plain")
	for _, raw := range mimeMails(t) {
		if err := netsmtp.SendMail(s.smtp, nil, "far@shop.test", []string{vault, plain}, raw); err != nil {
			t.Logf("refused: %v", err) // for all recipients, as required
		}
	}
	var envelopes, want [][]byte
	expect := func(envelope, clear []byte) { envelopes, want = append(envelopes, envelope), append(want, clear) }
	last := int64(u.latest(t, plain, "")["id"].(float64))
	for id := int64(1); id <= last; id++ {
		sealed, clear := u.message(t, vault, id), u.message(t, plain, id)
		path := func(address, rest string) string { return fmt.Sprintf("/inboxes/%s/messages/%d%s", address, id, rest) }
		if sealed["size_bytes"] != clear["size_bytes"] || sealed["encrypted"] != true || clear["encrypted"] != false || sealed["from"].(map[string]any)["email"] != clear["from"].(map[string]any)["email"] {
			t.Errorf("message %d: %v\nand %v", id, sealed, clear)
		}
		raw, _ := u.get(t, path(plain, "/raw"))
		whole, mediaType := u.get(t, path(vault, "/raw"))
		if expect(whole, raw); mediaType != "application/age" {
			t.Errorf("message %d is %s", id, mediaType)
		}
		expect(envelopeOf(t, sealed), raw)
		sealedFiles, files := sealed["attachments"].([]any), clear["attachments"].([]any)
		if len(sealedFiles) != len(files) {
			t.Fatalf("message %d: %v, want %v", id, sealedFiles, files)
		}
		for i := range files {
			is, was := sealedFiles[i].(map[string]any), files[i].(map[string]any)
			if is["size_bytes"] != was["size_bytes"] || is["truncated"] != was["truncated"] || is["is_encrypted"] != true || is["filename"] != fmt.Sprintf("encrypted-%v.age", was["id"]) {
				t.Errorf("message %d: %v, of %v", id, is, was)
			}
			if was["truncated"] == true {
				continue
			}
			file, _ := u.get(t, path(plain, fmt.Sprint("/attachments/", was["id"])))
			envelope, mediaType := u.get(t, path(vault, fmt.Sprint("/attachments/", was["id"])))
			if expect(envelope, file); mediaType != "application/age" {
				t.Errorf("a file of message %d is %s", id, mediaType)
			}
		}
	}
	for i, opened := range key.openAll(t, envelopes) {
		if !bytes.Equal(opened, want[i]) {
			t.Errorf("typage: envelope %d holds %d bytes, want %d", i, len(opened), len(want[i]))
		}
		if i%4 < 2 && !bytes.Equal(key.open(t, envelopes[i]), want[i]) { // one process each
			t.Errorf("age: envelope %d holds others than the %d bytes", i, len(want[i]))
		}
	}
	if len(envelopes) < 8 {
		t.Errorf("%d envelopes were looked at", len(envelopes))
	}
}

// TestKeysOfEncryption checks that a message is encrypted with the key that its account has when it
// ends, and for each recipient with its own key.
func TestKeysOfEncryption(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	ada, bob := s.signUp(t, "ada@example.test"), s.signUp(t, "bob@example.test")
	first, second, bobs := newAgeKey(t), newAgeKey(t), newAgeKey(t)
	ada.setKey(t, first)
	bob.setKey(t, bobs)
	adas, bobsInbox, clear := ada.vault(t, "ada"), bob.vault(t, "bob"), bob.inbox(t, "clear")
	all := []string{adas, bobsInbox, clear}
	mail := func(text string) {
		t.Helper()
		if err := netsmtp.SendMail(s.smtp, nil, "far@shop.test", all, []byte("Subject: "+text+"\r\n\r\n"+text+"\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	mail("one")
	// The key changes during a message: a message that ends after the response is encrypted with
	// the new key.
	c, err := netsmtp.Dial(s.smtp)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Mail("far@shop.test"); err != nil {
		t.Fatal(err)
	}
	for _, rcpt := range all {
		if err := c.Rcpt(rcpt); err != nil {
			t.Fatal(err)
		}
	}
	data, err := c.Data()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(data, "Subject: two\r\n\r\ntwo\r\n")
	ada.setKey(t, second)
	if err := data.Close(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct {
		user *user
		key  ageKey
		to   string
		id   int64
	}{
		"one":  {ada, first, adas, 1},
		"two":  {ada, second, adas, 2},
		"one ": {bob, bobs, bobsInbox, 1},
		"two ": {bob, bobs, bobsInbox, 2},
	} {
		raw := want.key.open(t, envelopeOf(t, want.user.message(t, want.to, want.id)))
		if !strings.HasSuffix(string(raw), "\r\n\r\n"+strings.TrimSpace(text)+"\r\n") {
			t.Errorf("%s of %s: %q", text, want.to, raw)
		}
	}
	ada.account(t, 422, "PUT", "/account/encryption", map[string]any{"public_key": first.public})
	ada.account(t, 403, "PUT", "/account/encryption", map[string]any{"public_key": first.public, "password": "another horse"})
	ada.account(t, 422, "DELETE", "/account/encryption", nil)
	if m := bob.message(t, clear, 2); m["subject"] != "two" || m["body"] != "two\n" {
		t.Errorf("in the clear: %v", m)
	}
	password := map[string]any{"password": "correct horse"}
	ada.account(t, 400, "DELETE", "/account/encryption", password)
	ada.do(t, 200, "DELETE", "/inboxes/"+adas, nil)
	if a := ada.do(t, 400, "POST", "/inboxes", map[string]any{"prefix": "ada"}); !strings.Contains(fmt.Sprint(a["detail"]), "belonged to an encrypted inbox") {
		t.Errorf("the address in the clear: %v", a)
	}
	ada.account(t, 200, "DELETE", "/account/encryption", password)
	if got := ada.account(t, 200, "GET", "/account", nil)["account"].(map[string]any)["encryption"].(map[string]any); got["enabled"] != false || got["encrypted_inboxes"] != 0.0 {
		t.Errorf("at the end: %v", got)
	}
}

// TestNoCoreDumps checks that core dumps are disabled: they would contain messages in plain text.
func TestNoCoreDumps(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", s.cmd.Process.Pid))
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(limits)) {
		if rest, core := strings.CutPrefix(line, "Max core file size"); core && strings.Join(strings.Fields(rest), " ") != "0 0 bytes" {
			t.Error(line)
		}
	}
}
