package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"inboxd/internal/testutil/testtools"
)

func TestMainJob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	if u.latest(t, address, "") != nil {
		t.Error("a new inbox has mail")
	}
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	got := u.latest(t, address, "?wait=10&otp=true")
	if got["otp_code"] != "482913" || got["subject"] != "Your sign-in code" {
		t.Errorf("latest: %v", got)
	}
	waited := make(chan map[string]any)
	go func() { waited <- u.latest(t, address, "?after=1&wait=30") }()
	if err := s.mail("agent+tag@inbox.localhost", "550011"); err != nil {
		t.Fatal(err)
	}
	if got := <-waited; got["otp_code"] != "550011" || got["envelope_to"] != "agent+tag@inbox.localhost" {
		t.Errorf("long poll: %v", got)
	}

	s.kill()
	s = launch(t, dir)
	u.server = s
	if got := u.latest(t, address, ""); got["id"] != 2.0 || got["otp_code"] != "550011" {
		t.Errorf("after kill -9: %v", got)
	}
	if n := u.do(t, 200, "POST", "/inboxes/"+address+"/burn", nil)["deleted"]; n != 2.0 {
		t.Errorf("burnt %v", n)
	}
	if err := s.mail(address, "660022"); err != nil {
		t.Fatal(err)
	}
	if got := u.latest(t, address, ""); got["id"] != 3.0 {
		t.Errorf("ids are reused after a burn: %v", got["id"])
	}
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM: %s", code, s.stderr)
	}
	s = launch(t, dir)
	u.server = s
	u.do(t, 200, "DELETE", "/inboxes/"+address, nil)
	if err := s.mail(address, "1234"); err == nil || !strings.HasPrefix(err.Error(), "550") {
		t.Errorf("mail to a deleted inbox: %v", err)
	}
}

func TestSwaksDelivers(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	out, err := exec.Command(testtools.ProgramPath(t, "swaks"), "--server", s.smtp, "--from", "a@example.test", "--to", address,
		"--header", "Subject: Code 739 204", "--body", "Your login code: 739 204").CombinedOutput()
	if err != nil {
		t.Fatalf("swaks: %v\n%s", err, out)
	}
	if got := u.latest(t, address, ""); got["otp_code"] != "739204" {
		t.Errorf("latest: %v", got)
	}
}

func TestSecondStartOnAFolderFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	launch(t, dir)
	if s, err := tryLaunch(dir); err == nil {
		s.kill()
		t.Fatal("two servers on one folder")
	} else if !strings.Contains(err.Error(), "in use by another inboxd") {
		t.Error(err)
	}
}

func TestPortInUseIsASentence(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, err = tryLaunch(filepath.Join(t.TempDir(), "data"), "--http", ln.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "--http: cannot listen at "+ln.Addr().String()) {
		t.Error(err)
	}
}

func TestConfigFileAndEnvironment(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "inboxd.toml")
	if err := os.WriteFile(config, []byte("signup = \"closed\"\nmemory = \"64MiB\"\ntrusted-proxies = [\"10.0.0.0/8\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INBOXD_DOMAIN", "mail.test")
	s := launch(t, filepath.Join(dir, "data"), "--config", config)
	a, err := s.call("POST", "/api/auth/signup", nil, map[string]any{"email": "a@b.test", "password": "correct horse"})
	if err != nil || a.status != 403 {
		t.Errorf("sign-up is closed: %v %v", a, err)
	}
	out, err := command("admin", "--data", filepath.Join(dir, "data"), "account", "create", "op@b.test").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "op@b.test paid") {
		t.Errorf("admin account create: %v %s", err, out)
	}
	if err := os.WriteFile(config, []byte("singup = \"closed\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryLaunch(filepath.Join(dir, "other"), "--config", config); err == nil || !strings.Contains(err.Error(), `"singup"`) {
		t.Errorf("a typo in the config file: %v", err)
	}
}

func TestAdminAccounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	create := command("admin", "--data", dir, "account", "create", "op@b.test", "--plan", "free", "--password-stdin")
	create.Stdin = strings.NewReader("a long password\n")
	if out, err := create.CombinedOutput(); err != nil || strings.Contains(string(out), "password") {
		t.Errorf("%v %s", err, out)
	}
	if out, err := command("admin", "--data", dir, "account", "set-plan", "op@b.test", "paid").CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	out, err := command("admin", "--data", dir, "account", "list").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "op@b.test") || !strings.Contains(string(out), "paid") {
		t.Errorf("%v %s", err, out)
	}
	a, err := s.call("POST", "/api/auth/login", nil, map[string]any{"email": "op@b.test", "password": "a long password"})
	if err != nil || a.status != 200 {
		t.Errorf("%v %v", a, err)
	}
	if out, err := command("admin", "--data", dir, "account", "set-plan", "nobody@b.test", "paid").CombinedOutput(); err == nil || !strings.Contains(string(out), "No account has this e-mail address") {
		t.Errorf("%v %s", err, out)
	}
	for _, email := range []string{"f@b.test", "a@b.test", "e@b.test", "b@b.test"} {
		admin(t, dir, "account", "create", email)
	}
	list := strings.Join(strings.Fields(admin(t, dir, "account", "list")), " ")
	if !regexp.MustCompile(`op@b.test.* f@b.test.* a@b.test.* e@b.test.* b@b.test`).MatchString(list) {
		t.Errorf("not the oldest first: %s", list)
	}
	if info, err := os.Stat(filepath.Join(dir, "admin.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("admin socket %v %v", info, err)
	}
}

// TestDrainFinishesWhatIsInFlight keeps a long poll and a message open during a SIGTERM.
func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	polled := make(chan map[string]any)
	go func() { polled <- u.latest(t, address, "?wait=60") }()
	for end := time.Now().Add(20 * time.Second); s.metric(t, "inboxd_http_long_polls") == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the long poll does not wait")
		}
	}
	conn, err := net.Dial("tcp", s.smtp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	talk := dialogue(t, conn)
	talk("", "220")
	talk("EHLO me\r\n", "250")
	talk("MAIL FROM:<a@b.test>\r\n", "250")
	talk("RCPT TO:<"+address+">\r\n", "250")
	talk("DATA\r\n", "354")
	began := time.Now()
	stopped := make(chan int)
	go func() { stopped <- s.terminate(t) }()
	if got := <-polled; got != nil {
		t.Errorf("the long poll got %v", got)
	}
	talk("Subject: in time\r\n\r\nx\r\n.\r\n", "250")
	if code := <-stopped; code != 0 || time.Since(began) > 9*time.Second {
		t.Errorf("exit code %d after %v: %s", code, time.Since(began), s.stderr)
	}
}
