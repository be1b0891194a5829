package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/internal/testutil/dnstest"
	"inboxd/internal/testutil/testtools"
)

// hookCall is one POST that a receiver got.
type hookCall struct {
	at     time.Time
	header http.Header
	body   string
}

// hookReceiver receives webhooks.
type hookReceiver struct {
	*httptest.Server
	mu      sync.Mutex
	calls   []hookCall
	changed chan struct{} // closed at the next call
	answer  func(n int, w http.ResponseWriter)
}

// receiveHooks starts a receiver. answer gets the number of the call, starting at 1.
func receiveHooks(t testing.TB, addr string, answer func(n int, w http.ResponseWriter)) *hookReceiver {
	t.Helper()
	r := &hookReceiver{answer: answer, changed: make(chan struct{})}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewUnstartedServer(r)
	r.Server.Listener.Close()
	r.Server.Listener = ln
	r.Start()
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

func (r *hookReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.calls = append(r.calls, hookCall{time.Now(), req.Header, string(body)})
	n := len(r.calls)
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(n, w)
	}
}

// wait returns the calls when there are n.
func (r *hookReceiver) wait(t testing.TB, n int) []hookCall {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		calls, changed := r.calls, r.changed
		r.mu.Unlock()
		if len(calls) >= n {
			return calls
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d calls, want %d", len(calls), n)
		}
	}
}

// account makes a call with the session and requires the status.
func (u *user) account(t testing.TB, status int, method, path string, body any) map[string]any {
	t.Helper()
	a, err := u.server.call(method, "/api"+path, map[string]string{"Authorization": "Bearer " + u.session}, body)
	if err != nil || a.status != status {
		t.Fatalf("%s %s: %d %v %v, want %d", method, path, a.status, a.body, err, status)
	}
	return a.body
}

// subscribe creates a webhook and returns its path and its secret.
func (u *user) subscribe(t testing.TB, url, event string) (path, secret string) {
	t.Helper()
	a := u.account(t, 201, "POST", "/webhooks", map[string]any{"url": url, "event": event})
	return fmt.Sprint("/webhooks/", a["webhook"].(map[string]any)["id"]), a["secret"].(string)
}

// delivery returns the newest delivery when done accepts it.
func (u *user) delivery(t testing.TB, done func(map[string]any) bool) map[string]any {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all := u.account(t, 200, "GET", "/webhooks/deliveries", nil)["deliveries"].([]any)
		if len(all) > 0 && done(all[0].(map[string]any)) {
			return all[0].(map[string]any)
		}
		if time.Now().After(end) {
			t.Fatalf("the deliveries are %v", all)
		}
	}
}

func settled(d map[string]any) bool { return d["state"] != "retrying" }

var allowLoopback = []string{"--webhook-allow", "127.0.0.0/8"}

// TestWebhooks: a message is reported to a real receiver with everything that is promised
// (specification, Webhooks), and the log shows it.
func TestWebhooks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, append(allowLoopback, "--log-level", "debug")...)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "told")
	r := receiveHooks(t, "127.0.0.1:0", func(_ int, w http.ResponseWriter) { io.WriteString(w, "thanks") })
	path, secret := u.subscribe(t, r.URL+"/hook", "message.received")
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	got := r.wait(t, 1)[0]
	var body map[string]any
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || body["event"] != "message.received" || body["inbox"] != address || body["otp"] != "482913" || body["from"] != "no-reply@shop.test" || body["subject"] != "Your sign-in code" {
		t.Errorf("%v %s", err, got.body)
	}
	if got.header.Get("User-Agent") != "Service-Webhook/1.0" || got.header.Get("X-Service-Event") != "message.received" || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("header %v", got.header)
	}
	checkLegacy(t, got, secret)
	d := u.delivery(t, settled)
	if d["state"] != "succeeded" || d["status_code"] != 200.0 || d["attempt"] != 1.0 || d["event_id"] != got.header.Get("webhook-id") || d["inbox"] != address || d["url"] != r.URL+"/hook" || d["response"] != "thanks" || d["error"] != nil {
		t.Errorf("recorded as %v", d)
	}
	if w := u.account(t, 200, "GET", path, nil)["webhook"].(map[string]any); w["last_status_code"] != 200.0 || w["last_delivery_at"] != d["at"] {
		t.Errorf("listed as %v", w)
	}
	if a := u.account(t, 202, "POST", fmt.Sprintf("/webhooks/deliveries/%v/redeliver", d["id"]), nil); a["ok"] != true {
		t.Errorf("redelivered: %v", a)
	}
	again := r.wait(t, 2)[1]
	if again.body != got.body || again.header.Get("webhook-id") != got.header.Get("webhook-id") {
		t.Errorf("redelivered as %v", again)
	}
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if log := s.stderr.String(); strings.Count(log, "msg=webhook state=succeeded ") != 2 {
		t.Errorf("the log does not tell of both calls:\n%s", log)
	}
	for _, raw := range []string{secret, secret[6:]} {
		if strings.Contains(s.stderr.String(), raw) {
			t.Error("the log tells the secret")
		}
		filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			if data, _ := os.ReadFile(path); bytes.Contains(data, []byte(raw)) {
				t.Errorf("%s tells the secret", path)
			}
			return nil
		})
	}
}

// checkLegacy compares X-Service-Signature with the result of Python's hmac.
func checkLegacy(t testing.TB, got hookCall, secret string) {
	t.Helper()
	python := exec.Command(testtools.ProgramPath(t, "python3"), "-c", "import hmac,sys; print('sha256='+hmac.new(sys.argv[1].encode(), sys.stdin.buffer.read(), 'sha256').hexdigest())", secret)
	python.Stdin = strings.NewReader(got.body)
	out, err := python.CombinedOutput()
	if want := strings.TrimSpace(string(out)); err != nil || got.header.Get("X-Service-Signature") != want {
		t.Errorf("signed %s, Python makes %s, %v", got.header.Get("X-Service-Signature"), want, err)
	}
	h := hmac.New(sha256.New, []byte(secret))
	io.WriteString(h, got.body)
	if want := "sha256=" + hex.EncodeToString(h.Sum(nil)); got.header.Get("X-Service-Signature") != want {
		t.Errorf("signed %s, want %s", got.header.Get("X-Service-Signature"), want)
	}
}

// TestKilledBetweenAttempts: the next run makes the remaining attempt, with the same id and bytes.
// An event whose run was killed immediately is delivered, too.
func TestKilledBetweenAttempts(t *testing.T) {
	t.Parallel() // it waits most of the time
	dir := filepath.Join(t.TempDir(), "data")
	args := append(allowLoopback, "--webhook-schedule", "0s,1s,1s")
	s := launch(t, dir, args...)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "told")
	hang := make(chan struct{})
	r := receiveHooks(t, "127.0.0.1:0", func(n int, w http.ResponseWriter) {
		switch n {
		case 1:
			w.WriteHeader(500)
		case 2:
			<-hang // its run is killed meanwhile
		}
	})
	_, secret := u.subscribe(t, r.URL, "message.received")
	if err := s.mail(address, "111111"); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 2)
	s.kill()
	close(hang)
	s = launch(t, dir, args...)
	u.server = s
	began := time.Now()
	calls := r.wait(t, 3)
	if late := calls[2].at.Sub(began); late > 30*time.Second {
		t.Errorf("taken up after %v", late)
	}
	for _, c := range calls[1:3] {
		if c.body != calls[0].body || c.header.Get("webhook-id") != calls[0].header.Get("webhook-id") || c.header.Get("webhook-timestamp") < calls[0].header.Get("webhook-timestamp") {
			t.Errorf("told %v, and before %v", c, calls[0])
		}
		checkLegacy(t, c, secret)
	}
	if d := u.delivery(t, settled); d["state"] != "succeeded" {
		t.Errorf("recorded as %v", d)
	}
	for n := range 3 { // accepted messages are reported, whenever the process ends
		code := fmt.Sprint(222220 + n)
		if err := s.mail(address, code); err != nil {
			t.Fatal(err)
		}
		s.kill()
		s = launch(t, dir, args...)
		u.server = s
		reported := func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, c := range r.calls {
				if strings.Contains(c.body, code) {
					return true
				}
			}
			return false
		}
		for calls := len(r.wait(t, 1)); !reported(); calls++ {
			r.wait(t, calls+1)
		}
	}
}

// TestDeletedWebhooksAreSilent: deliveries waiting for a deleted webhook are not made.
func TestDeletedWebhooksAreSilent(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), append(allowLoopback, "--webhook-schedule", "0s,300ms,300ms")...)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "told")
	fail := func(_ int, w http.ResponseWriter) { w.WriteHeader(500) }
	dropped, kept := receiveHooks(t, "127.0.0.1:0", fail), receiveHooks(t, "127.0.0.1:0", fail)
	path, _ := u.subscribe(t, dropped.URL, "*")
	u.subscribe(t, kept.URL, "*")
	if err := s.mail(address, "111111"); err != nil {
		t.Fatal(err)
	}
	dropped.wait(t, 1)
	u.account(t, 200, "DELETE", path, nil)
	kept.wait(t, 3)
	if n := len(dropped.wait(t, 1)); n != 1 {
		t.Errorf("told %d times after it was deleted", n-1)
	}
}

// TestTheEleventhWebhook is refused by a real server, too, under parallel calls.
func TestTheEleventhWebhook(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), allowLoopback...)
	u := s.signUp(t, "me@example.test")
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for range 50 {
		all.Go(func() {
			a, err := s.call("POST", "/api/webhooks", map[string]string{"Authorization": "Bearer " + u.session}, map[string]any{"url": "http://127.0.0.1:9999/", "event": "*"})
			mu.Lock()
			defer mu.Unlock()
			if got[a.status]++; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got[201] != 10 || got[400] != 40 {
		t.Errorf("statuses %v", got)
	}
}

const notPublic = "The receiver's address is not public. The operator can allow it with --webhook-allow"

// TestForbiddenAddressesAreNeverCalled: with the default flags, whatever a host name resolves to at
// any time, and wherever a receiver redirects to.
func TestForbiddenAddressesAreNeverCalled(t *testing.T) {
	canary := receiveHooks(t, "127.0.0.1:0", nil)
	_, port, _ := net.SplitHostPort(canary.Listener.Addr().String())
	zone := dnstest.StartServer(t, "rebind.test. 0 IN A 8.8.8.8", "flip.test. 0 IN A 127.0.0.2")
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--dns", zone.Addr, "--webhook-allow", "127.0.0.2/32", "--webhook-schedule", "0s,50ms,50ms")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "told")
	refused := func(host string) {
		t.Helper()
		a, err := s.call("POST", "/api/webhooks", map[string]string{"Authorization": "Bearer " + u.session}, map[string]any{"url": "http://" + host + ":" + port, "event": "*"})
		if err != nil || a.status != 422 {
			t.Errorf("%s: %d %v %v", host, a.status, a.body, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0.0.0.0", "[::]", "2130706433", "0x7f.1", "127.1"} {
		refused(host)
	}
	path, _ := u.subscribe(t, "http://rebind.test:"+port, "*") // public when it is created
	for _, lie := range [][]string{
		{"rebind.test. 0 IN A 127.0.0.1"}, {"rebind.test. 0 IN AAAA ::1"}, {"rebind.test. 0 IN AAAA ::ffff:127.0.0.1"},
		{"rebind.test. 0 IN AAAA 64:ff9b::7f00:1"}, {"rebind.test. 0 IN A 0.0.0.0"}, {"rebind.test. 0 IN A 127.0.0.1", "rebind.test. 0 IN A 127.0.0.1"},
		{"rebind.test. 0 IN CNAME inner.test.", "inner.test. 0 IN A 127.0.0.1"},
	} {
		zone.SetRecords(t, lie...)
		if a := u.account(t, 200, "POST", path+"/test", nil); a["ok"] != false || a["error"] == nil || a["status_code"] != nil {
			t.Errorf("%v: %v", lie, a)
		}
	}
	zone.SetRecords(t, "rebind.test. 0 IN A 127.0.0.1", "flip.test. 0 IN A 127.0.0.2")
	if err := s.mail(address, "111111"); err != nil {
		t.Fatal(err)
	}
	if d := u.delivery(t, settled); d["state"] != "failed" || d["attempt"] != 3.0 || d["error"] != notPublic || d["status_code"] != nil {
		t.Errorf("recorded as %v", d)
	}
	u.account(t, 200, "DELETE", path, nil)

	// Allowed at first; it redirects to the canary, and then its name resolves to the canary.
	outer := receiveHooks(t, "127.0.0.2:"+port, func(_ int, w http.ResponseWriter) {
		zone.SetRecords(t, "flip.test. 0 IN A 127.0.0.1")
		w.Header().Set("Location", canary.URL)
		w.Header().Set("Connection", "close")
		w.WriteHeader(307)
	})
	u.subscribe(t, "http://flip.test:"+port, "*")
	if err := s.mail(address, "222222"); err != nil {
		t.Fatal(err)
	}
	outer.wait(t, 1)
	if d := u.delivery(t, func(d map[string]any) bool {
		return settled(d) && d["event_id"] == outer.wait(t, 1)[0].header.Get("webhook-id")
	}); d["state"] != "failed" || d["error"] != notPublic {
		t.Errorf("recorded as %v", d)
	}
	canary.mu.Lock()
	defer canary.mu.Unlock()
	if len(canary.calls) != 0 || len(outer.wait(t, 1)) != 1 {
		t.Errorf("the canary was called: %v; the other %d times", canary.calls, len(outer.wait(t, 1)))
	}
}

// TestFlagsOfWebhooksAreChecked: a wrong flag is reported at the start.
func TestFlagsOfWebhooksAreChecked(t *testing.T) {
	for _, c := range [][3]string{
		{"--webhook-schedule", "0s,soon", "--webhook-schedule: invalid list \"0s,soon\""},
		{"--webhook-schedule", "-1s", "invalid list \"-1s\""},
		{"--webhook-allow", "127.0.0.1", "--webhook-allow: invalid network \"127.0.0.1\" (use CIDR, such as 10.0.0.0/8)"},
	} {
		if _, err := tryLaunch(filepath.Join(t.TempDir(), "data"), c[0]+"="+c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s %s: %v", c[0], c[1], err)
		}
	}
}

// TestFailedAttemptsAreListed: the 500 and the 503 before a 200 each have a record, also when
// paged, and each of them can be delivered again.
func TestFailedAttemptsAreListed(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), append(allowLoopback, "--webhook-schedule", "0s,100ms,200ms")...)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "told")
	r := receiveHooks(t, "127.0.0.1:0", func(n int, w http.ResponseWriter) { w.WriteHeader([]int{500, 503, 200, 204}[n-1]) })
	u.subscribe(t, r.URL, "message.received")
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	last := u.delivery(t, settled)
	check := func(want ...float64) {
		t.Helper()
		var got []float64
		for before := ""; ; {
			page := u.account(t, 200, "GET", "/webhooks/deliveries?limit=1"+before, nil)["deliveries"].([]any)
			if len(page) == 0 {
				break
			}
			one := page[0].(map[string]any)
			if (one["state"] == "retrying") != (one["status_code"].(float64) >= 500) || one["event_id"] != last["event_id"] || one["attempt"] != float64(len(want)-len(got)) {
				t.Errorf("record %v", one)
			}
			got = append(got, one["status_code"].(float64))
			before = fmt.Sprintf("&before=%.0f", one["id"])
		}
		if !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
	}
	check(200, 503, 500)
	u.account(t, 202, "POST", fmt.Sprintf("/webhooks/deliveries/%.0f/redeliver", last["id"].(float64)-1), nil)
	u.delivery(t, func(d map[string]any) bool { return d["status_code"] == 204.0 })
	check(204, 200, 503, 500)
}
