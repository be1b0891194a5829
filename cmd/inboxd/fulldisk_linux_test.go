package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"inboxd/internal/testutil/dnstest"
)

// TestFullDisk fills a small disk under the running server. New messages, a message already waiting
// for DNS, and new inboxes are refused within a second. Reading and deleting continue, the log
// stays short, and the server recovers by itself when there is space.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("a small disk can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	names := dnstest.StartServer(t)
	s := launch(t, filepath.Join(disk, "data"), "--dns", names.Addr)
	u := s.signUp(t, "me@example.test")
	address, key := u.inbox(t, "agent"), newAgeKey(t)
	u.setKey(t, key)
	vault := u.vault(t, "vault")
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}

	names.StopAnswering()
	waiting, sealing := make(chan error, 1), make(chan error, 1)
	go func() { waiting <- s.mailFrom("no-reply@silent.test", address, "333333") }()
	go func() { sealing <- s.mailFrom("no-reply@silent.test", vault, "333333") }()
	for !slices.Contains(names.TakeQuestions(), "silent.test TXT") {
		if len(waiting) > 0 {
			t.Fatalf("DNS was not asked: %v", <-waiting)
		}
		time.Sleep(time.Millisecond)
	}
	hog := filepath.Join(disk, "hog")
	fill(t, hog)
	began := time.Now()
	if err := <-waiting; err == nil || !strings.HasPrefix(err.Error(), "452") || time.Since(began) > 4*time.Second { // less than the 5 s of a silent server
		t.Errorf("the mail that waited for DNS: %v after %v", err, time.Since(began))
	}
	if err := <-sealing; err == nil || !strings.HasPrefix(err.Error(), "452") {
		t.Errorf("the mail that was to be sealed: %v", err)
	}
	names.SetHandler(nil)
	began = time.Now()
	for err := error(nil); err == nil || !strings.HasPrefix(err.Error(), "452"); {
		if err = s.mail(address, "111111"); err != nil && !strings.HasPrefix(err.Error(), "452") {
			t.Fatalf("a full disk is answered with %v", err)
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("no refusal within 10 s, but %v", err)
		}
	}
	began = time.Now()
	u.do(t, http.StatusInsufficientStorage, "POST", "/inboxes", map[string]any{"prefix": "second"})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("507 after %v", took)
	}
	if a, err := s.call("GET", "/readyz", nil, nil); err != nil || a.status == 200 {
		t.Errorf("readyz on a full disk: %v %v", a.status, err)
	}
	if u.latest(t, address, "") == nil {
		t.Error("reads do not go on")
	}
	u.do(t, 200, "DELETE", "/inboxes/"+address+"/messages/1", nil)
	if n := strings.Count(s.stderr.String(), "\n"); n > 40 {
		t.Errorf("%d log lines", n)
	}

	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	for s.mail(address, "222222") != nil {
		if time.Since(began) > 5*time.Second {
			t.Fatal("mail is not accepted again within 5 s of there being space")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got := u.latest(t, address, ""); got["otp_code"] != "222222" {
		t.Errorf("latest: %v", got)
	}
	if got := u.do(t, 200, "GET", "/inboxes/"+vault+"/messages", nil)["emails"].([]any); len(got) != 0 {
		t.Errorf("of the mail that was refused there is %v", got)
	}
	if err := s.mail(vault, "444444"); err != nil {
		t.Fatal(err)
	}
	if raw := key.open(t, envelopeOf(t, u.message(t, vault, 1))); !strings.Contains(string(raw), "444444") {
		t.Errorf("sealed: %q", raw)
	}
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr)
	}
}

// fill uses all free space.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	piece := make([]byte, 1<<20)
	for {
		if _, err := f.Write(piece); err != nil {
			return
		}
	}
}

// TestRepairOntoASmallDisk ends with one sentence and exit code 2, and leaves nothing that a start
// accepts.
func TestRepairOntoASmallDisk(t *testing.T) {
	disk, dir := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=200k"); err != nil {
		t.Skipf("a small disk can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := launch(t, dir)
	address := s.signUp(t, "me@example.test").inbox(t, "box")
	if err := s.mail(address, strings.Repeat("a large mail ", 30_000)); err != nil {
		t.Fatal(err)
	}
	if code := s.terminate(t); code != 0 {
		t.Fatal(code)
	}
	to := filepath.Join(disk, "to")
	out, code := run("check", dir, "--repair", to)
	if code != 2 || !strings.HasPrefix(out, "inboxd: the copy "+to+" cannot be written: its disk is full") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(to, "FORMAT")); err == nil {
		t.Error("the copy has FORMAT")
	}
}
