//go:build failpoints

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/internal/testutil/iterations"
)

// TestFailpoints kills the server at each named failpoint while a client waits for a response, and
// compares the state afterwards with what the failpoint promises. FAILPOINT_KILLS is the number of
// kills, in whole rounds.
func TestFailpoints(t *testing.T) {
	cases := pointsOfCommands()
	cases = append(cases, pointsOfMail()...)
	cases = append(cases, pointsOfWebhooks()...)
	cases = append(cases, failpointCase{"half of a mail", "", halfAMail}, failpointCase{"backup", "backup-copied", halfABackup})
	for range iterations.GroupedRuns(t, moreKills, len(cases), len(cases)) {
		for _, c := range cases {
			t.Run(strings.TrimSuffix(c.name+" "+c.point, " "), func(t *testing.T) {
				h := newHalted(t)
				c.run(t, h, c.point)
			})
		}
		if t.Failed() {
			return
		}
	}
}

// moreKills explains how to run more.
const moreKills = "FAILPOINT_KILLS"

type failpointCase struct {
	name, point string
	run         func(t *testing.T, h *halted, point string)
}

// halted is a server that stops at a failpoint, together with its environment.
type halted struct {
	t       *testing.T
	u       *user
	address string
	dir     string
	far     *receiver
	start   func() *server
}

func newHalted(t *testing.T) *halted {
	h := &halted{t: t, dir: filepath.Join(t.TempDir(), "data"), far: receive(t, "127.0.0.1", "0", nil)}
	dns := farZone(t)
	h.start = func() *server { return postal(t, h.dir, dns, h.far.port, allowLoopback...) }
	h.u = h.start().signUp(t, "me@example.test")
	h.address = h.u.inbox(t, "agent")
	return h
}

// again kills the server and starts one that stops at the failpoint; "" for none.
func (h *halted) again(point string) {
	h.t.Helper()
	h.u.server.kill()
	h.t.Setenv("FAILPOINT", point)
	h.u.server = h.start()
}

// at runs an action, and kills the server that stops at the failpoint during it. The action must
// fail, or succeed if the response came before.
func (h *halted) at(point string, answered bool, do func() error) {
	h.t.Helper()
	h.again(point)
	done := make(chan error, 1)
	go func() { done <- do() }()
	h.there(point)
	if answered {
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	}
	h.again("")
	if answered {
		return
	}
	if err := <-done; err == nil {
		h.t.Errorf("what stopped at %s was answered", point)
	}
}

// there waits until something stops at the failpoint.
func (h *halted) there(point string) {
	h.t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(h.u.server.stderr.String(), "failpoint "+point); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("nothing came to %s: %s", point, h.u.server.stderr)
		}
	}
}

// asked makes a call of the API that must succeed. It returns an error if it was interrupted.
func (h *halted) asked(status int, method, path string, header map[string]string, body any) error {
	a, err := h.u.server.call(method, path, header, body)
	if err == nil && a.status != status {
		h.t.Errorf("%s %s: %d %v", method, path, a.status, a.body)
	}
	return err
}

func (h *halted) key() map[string]string { return map[string]string{"X-API-Key": h.u.key} }

func (h *halted) session() map[string]string {
	return map[string]string{"Authorization": "Bearer " + h.u.session}
}

// mailed delivers a message that is stored and acknowledged.
func (h *halted) mailed(code string) {
	h.t.Helper()
	if err := h.u.server.mail(h.address, code); err != nil {
		h.t.Fatal(err)
	}
}

// pointsOfCommands: a decided but uncommitted command leaves nothing. A committed one is durable,
// whether its sender was notified or not.
func pointsOfCommands() (cases []failpointCase) {
	for _, place := range []string{"decided", "committed", "published"} {
		kept, point := place != "decided", "inbox-"+place
		cases = append(cases,
			failpointCase{"a mail", point, func(t *testing.T, h *halted, point string) {
				h.at(point, false, func() error { return h.u.server.mail(h.address, "222222") })
				if got := h.u.latest(t, h.address, ""); (got != nil) != kept || kept && got["otp_code"] != "222222" {
					t.Errorf("latest: %v", got)
				}
				h.mailed("333333")
				if got := h.u.latest(t, h.address, ""); got["otp_code"] != "333333" {
					t.Errorf("the next mail: %v", got)
				}
			}},
			failpointCase{"a key", "account-" + place, func(t *testing.T, h *halted, point string) {
				h.at(point, false, func() error {
					return h.asked(201, "POST", "/api/keys", h.session(), map[string]any{"label": "late", "scopes": []any{"full"}})
				})
				if keys := fmt.Sprint(h.u.asSession(t, 200, "GET", "/api/keys", nil)); strings.Contains(keys, "label:late") != kept {
					t.Errorf("keys: %s", keys)
				}
			}},
			failpointCase{"a deletion", point, func(t *testing.T, h *halted, point string) {
				h.mailed("111111")
				h.at(point, false, func() error {
					return h.asked(200, "DELETE", "/api/v1/inboxes/"+h.address+"/messages/1", h.key(), nil)
				})
				if got := h.u.latest(t, h.address, ""); (got == nil) != kept {
					t.Errorf("latest: %v", got)
				}
				h.mailed("333333")
				if got := h.u.latest(t, h.address, ""); got["id"] != 2.0 {
					t.Errorf("the next mail: %v", got)
				}
			}},
			failpointCase{"a burn", point, func(t *testing.T, h *halted, point string) {
				h.mailed("111111")
				h.mailed("222222")
				h.at(point, false, func() error {
					return h.asked(200, "POST", "/api/v1/inboxes/"+h.address+"/burn", h.key(), map[string]any{})
				})
				want := 2
				if kept {
					want = 0
				}
				if got := h.u.do(t, 200, "GET", "/inboxes/"+h.address+"/messages", nil)["emails"].([]any); len(got) != want {
					t.Errorf("messages: %v", got)
				}
			}})
	}
	return cases
}

// pointsOfMail: an accepted message is delivered with the same bytes. It is delivered twice only if
// the other server had it but our disk did not record that.
func pointsOfMail() (cases []failpointCase) {
	for point, copies := range map[string]int{"attempt-started": 1, "handed-over": 2, "result-committed": 1} {
		cases = append(cases, failpointCase{"a send", point, func(t *testing.T, h *halted, point string) {
			h.at(point, true, func() error {
				return h.asked(202, "POST", "/api/v1/inboxes/"+h.address+"/send", h.key(), map[string]any{"to": "bob@far.test", "subject": "once", "body": "x"})
			})
			h.u.until(t, h.address, 1, "sent")
			got := h.far.taken()
			if len(got) != copies || got[0].raw != got[len(got)-1].raw {
				t.Errorf("the other side has %d: %v", len(got), got)
			}
		}})
	}
	return append(cases, failpointCase{"a send to two", "copy-committed", func(t *testing.T, h *halted, point string) {
		h.at(point, true, func() error {
			return h.asked(202, "POST", "/api/v1/inboxes/"+h.address+"/send", h.key(), map[string]any{"to": "bob@far.test", "cc": []string{"carol@far.test"}, "body": "x"})
		})
		h.u.until(t, h.address, 1, "sent")
		copies := map[string]int{}
		for _, c := range h.far.taken() {
			copies[c.rcpt[0]]++
		}
		if copies["bob@far.test"] != 1 || copies["carol@far.test"] < 1 || copies["carol@far.test"] > 2 {
			t.Errorf("the other side has %v", copies)
		}
	}})
}

// pointsOfWebhooks: an event is delivered at least once, with one id and one body, and exactly once
// if the delivery was recorded on disk. An interrupted call is repeated when its lease is over.
// Only runs with many kills wait for that, because TestKilledBetweenAttempts covers it, too.
func pointsOfWebhooks() (cases []failpointCase) {
	points := map[string]int{"call-recorded": 1}
	if os.Getenv(moreKills) != "" {
		points["call-taken"], points["call-posted"] = 1, 2
	}
	for point, calls := range points {
		cases = append(cases, failpointCase{"a webhook", point, func(t *testing.T, h *halted, point string) {
			r := receiveHooks(t, "127.0.0.1:0", nil)
			h.u.subscribe(t, r.URL, "message.received")
			h.at(point, true, func() error { return h.u.server.mail(h.address, "222222") })
			if d := h.u.delivery(t, settled); d["state"] != "succeeded" {
				t.Errorf("recorded as %v", d)
			}
			got := r.wait(t, calls)
			if len(got) != calls || got[0].body != got[calls-1].body || got[0].header.Get("webhook-id") != got[calls-1].header.Get("webhook-id") {
				t.Errorf("told %d times: %v", len(got), got)
			}
		}})
	}
	return cases
}

// halfAMail: nothing is stored of an incomplete message, and its id goes to the next one.
func halfAMail(t *testing.T, h *halted, _ string) {
	conn, err := net.Dial("tcp", h.u.server.smtp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	said := make(chan string, 1)
	go func() {
		b := make([]byte, 4096)
		all := ""
		for !strings.Contains(all, "354 ") {
			n, err := conn.Read(b)
			if all += string(b[:n]); err != nil {
				break
			}
		}
		said <- all
	}()
	fmt.Fprintf(conn, "EHLO a.test\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<%s>\r\nDATA\r\n", h.address)
	if all := <-said; !strings.Contains(all, "354 ") {
		t.Fatalf("before the mail: %s", all)
	}
	fmt.Fprintf(conn, "Subject: half\r\n\r\n%s", strings.Repeat("Your code is 111111.\r\n", 10_000))
	h.again("")
	if got := h.u.latest(t, h.address, ""); got != nil {
		t.Errorf("latest: %v", got)
	}
	h.mailed("333333")
	if got := h.u.latest(t, h.address, ""); got["otp_code"] != "333333" || got["id"] != 1.0 {
		t.Errorf("the next mail: %v", got)
	}
}

// halfABackup: what a kill leaves of a backup is not a valid data folder, and the next backup is
// complete.
func halfABackup(t *testing.T, h *halted, point string) {
	h.mailed("111111")
	half, whole := filepath.Join(filepath.Dir(h.dir), "half"), filepath.Join(filepath.Dir(h.dir), "whole")
	h.at(point, false, func() error {
		if out, code := run("admin", "--data", h.dir, "backup", half); code != 0 {
			return fmt.Errorf("exit %d: %s", code, out)
		}
		return nil
	})
	if out, code := run("check", half); code == 0 {
		t.Errorf("check of a half: exit %d, %s", code, out)
	}
	if _, err := tryLaunch(half); err == nil {
		t.Error("a server starts on half a backup")
	}
	for _, args := range [][]string{{"admin", "--data", h.dir, "backup", whole}, {"check", whole}} {
		if out, code := run(args...); code != 0 {
			t.Errorf("%v: exit %d, %s", args, code, out)
		}
	}
}
