package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// run runs inboxd and returns its output and its exit code.
func run(args ...string) (string, int) {
	cmd := command(args...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// TestBackupUnderLoad makes a backup while messages come in, and kills the server. The copy is
// complete. A server started on it has every message that was acknowledged before the backup was
// requested, and no id means another message than in the lost server.
func TestBackupUnderLoad(t *testing.T) {
	const senders = 4
	home := t.TempDir()
	dir, copied := filepath.Join(home, "data"), filepath.Join(home, "copy")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	addresses, reported, ids := make([]string, senders), make([]map[string]bool, senders), make([]map[float64]string, senders)
	for i := range addresses {
		addresses[i], reported[i], ids[i] = u.inbox(t, fmt.Sprintf("box%d", i)), map[string]bool{}, map[float64]string{}
	}
	var over atomic.Bool // messages no longer count
	var all atomic.Int64
	var load sync.WaitGroup
	for i := range senders {
		load.Go(func() {
			for n := 0; ; n++ {
				code := strconv.Itoa(100_000 + 10_000*i + n)
				if s.mail(addresses[i], code) != nil {
					return // killed
				}
				if !over.Load() {
					reported[i][code] = true
				}
				all.Add(1)
			}
		})
	}
	reach(t, &all, 100)
	over.Store(true)
	if out, code := run("admin", "--data", dir, "backup", copied); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	reach(t, &all, all.Load()+50)
	for i := range addresses { // the messages of the ids in the lost server
		checkLedger(t, u, addresses[i], nil, ids[i])
	}
	s.kill()
	load.Wait()
	if out, code := run("check", copied); code != 0 || !strings.Contains(out, fmt.Sprintf("1 accounts, %d inboxes", senders)) {
		t.Errorf("exit %d: %s", code, out)
	}
	restored := launch(t, copied)
	u.server = restored
	for i := range addresses {
		if err := restored.mail(addresses[i], "999999"); err != nil {
			t.Fatal(err)
		}
		reported[i]["999999"] = true
		checkLedger(t, u, addresses[i], reported[i], ids[i])
	}
}

// reach waits until a count is reached.
func reach(t *testing.T, count *atomic.Int64, goal int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); count.Load() < goal; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d", count.Load(), goal)
		}
	}
}

// TestCheckAndBackupSayWhy checks error sentences and exit codes for impossible requests and for
// damage.
func TestCheckAndBackupSayWhy(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "box")
	if err := s.mail(address, strings.Repeat("a large mail ", 30_000)); err != nil {
		t.Fatal(err)
	}
	u.subscribe(t, "https://hooks.example.test/", "message.received") // its secret is encrypted
	backup := []string{"admin", "--data", dir, "backup"}
	if err := os.Symlink(filepath.Join(home, "copy"), filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"check", dir}, 2, "in use by another inboxd"},
		{[]string{"check", filepath.Join(home, "nowhere")}, 2, "is not a data folder of inboxd"},
		{append(backup, filepath.Join(home, "copy")), 0, "backup " + home},
		{append(backup, filepath.Join(home, "copy")), 1, "already exists. Give the path of a new folder for the backup"},
		{append(backup, filepath.Join(dir, "copy")), 1, "is inside the data folder. Choose another folder"},
		{[]string{"check", filepath.Join(home, "copy")}, 0, "problems: 0"},
		{[]string{"check", filepath.Join(home, "copy"), "--repair", filepath.Join(home, "copy", "in")}, 2, "is inside the data folder. Choose another folder"},
		{[]string{"check", filepath.Join(home, "copy"), "--repair", filepath.Join(home, "link", "db", "in")}, 2, "is inside the data folder. Choose another folder"},
	} {
		if out, code := run(c.args...); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%v: exit %d, %s", c.args, code, out)
		}
	}
	if info, err := os.Stat(filepath.Join(home, "copy")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the copy is %v %v", info, err)
	}
	if code := s.terminate(t); code != 0 {
		t.Fatal(code)
	}
	blobs := must1(filepath.Glob(filepath.Join(dir, "blobs", "*")))(t)
	if len(blobs) == 0 {
		t.Fatal("there is no file of a large mail")
	}
	if err := os.Truncate(blobs[0], 1000); err != nil {
		t.Fatal(err)
	}
	if out, code := run("check", dir); code != 1 || !strings.Contains(out, blobs[0]) || !strings.Contains(out, "problems: 1") {
		t.Errorf("exit %d, %s", code, out)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"check", dir, "--repair", filepath.Join(home, "repaired")}, 1, "has lost the bytes or the parsed content of 1 messages"},
		{[]string{"check", filepath.Join(home, "repaired")}, 0, "a repair kept 1 messages without their bytes"},
	} {
		if out, code := run(c.args...); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%v: exit %d, %s", c.args, code, out)
		}
	}
	if err := os.Remove(filepath.Join(dir, "secret.key")); err != nil {
		t.Fatal(err)
	}
	if out, code := run("check", dir, "--repair", filepath.Join(home, "keyless")); code != 1 || !strings.HasSuffix(out, "copy secret.key of a backup into it with mode 600, then start the server with it as --data\n") {
		t.Errorf("without the key: exit %d, %s", code, out)
	}
	// The backup has hard links to the same files if the file system supports them.
	if out, code := run("check", filepath.Join(home, "copy")); code == 2 {
		t.Errorf("exit %d, %s", code, out)
	}
}

// must1 returns a value and fails the test on an error.
func must1[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
