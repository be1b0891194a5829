package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	methodOf   = regexp.MustCompile(`METHOD:(\w+)`)
	sequenceOf = regexp.MustCompile(`SEQUENCE:(\d+)`)
)

// ownersMailbox is where the owner of an agent reads messages, on the same server as the guests'
// mailboxes.
type ownersMailbox struct {
	*receiver
	refuses atomic.Bool
}

func ownersServer(t *testing.T) *ownersMailbox {
	m := &ownersMailbox{}
	m.receiver = receive(t, "127.0.0.1", "0", func(line string) string {
		if m.refuses.Load() && strings.HasPrefix(line, "RCPT TO:<owner@") {
			return "550 5.1.1 No such user"
		}
		return ""
	})
	return m
}

// until waits for a copy, by METHOD and SEQUENCE.
func (m *ownersMailbox) until(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !slices.Contains(m.reported(t), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the owner got %v, and not %s", m.reported(t), want)
		}
	}
}

// once checks that one message arrived for each SEQUENCE. An attempt interrupted by a kill is
// repeated with the same bytes.
func (m *ownersMailbox) once(t *testing.T, want ...string) {
	t.Helper()
	forms := map[string]string{}
	for _, c := range m.taken() {
		if slices.Contains(c.rcpt, "owner@far.test") {
			n := sequenceOf.FindString(c.raw)
			if known, twice := forms[n]; twice && known != c.raw {
				t.Errorf("%s came in two forms:\n%s\n%s", n, known, c.raw)
			}
			forms[n] = c.raw
		}
	}
	got := m.reported(t)
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("the owner got %v, want %v", got, want)
	}
}

func (m *ownersMailbox) reported(t *testing.T) (reported []string) {
	t.Helper()
	for _, c := range m.taken() {
		if !slices.Contains(c.rcpt, "owner@far.test") {
			if strings.Contains(c.raw, "owner@far.test") {
				t.Errorf("a guest learns of the owner:\n%s", c.raw)
			}
			continue
		}
		if len(c.rcpt) != 1 || headerOf(c.raw, "Auto-Submitted") != "auto-generated" || !strings.Contains(c.from, "+b") || strings.Count(c.raw, "DKIM-Signature:") != 2 {
			t.Errorf("a copy from %q to %v:\n%s", c.from, c.rcpt, c.raw)
		}
		reported = append(reported, methodOf.FindStringSubmatch(c.raw)[1]+" "+sequenceOf.FindStringSubmatch(c.raw)[1])
	}
	return reported
}

// blocked waits until the setting is blocked.
func (u *user) blocked(t *testing.T, path string, want bool) {
	t.Helper()
	var set map[string]any
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if set = u.do(t, 200, "GET", path+"/owner", nil); set["blocked"] == want {
			return
		}
	}
	t.Fatalf("the setting is %v", set)
}

func meetingOf(answer map[string]any) string {
	return fmt.Sprint(answer["event"].(map[string]any)["id"])
}

// TestTheOwnerIsTold: what an agent arranges arrives in its owner's mailbox, once for each
// SEQUENCE, also after kill -9 right after the response. A refused copy ends the copies until they
// are turned on again. None of them appears among the agent's messages.
func TestTheOwnerIsTold(t *testing.T) {
	far := ownersServer(t)
	dns := farZone(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := postal(t, dir, dns, far.port)
	u := s.signUp(t, "owner@far.test")
	address := u.inbox(t, "agent")
	path := "/inboxes/" + address + "/calendar"
	if set := u.do(t, 200, "PUT", path+"/owner", map[string]any{"enabled": true}); set["email"] != "owner@far.test" || set["available"] != true || set["blocked"] != false {
		t.Fatalf("the setting is %v", set)
	}
	id := meetingOf(u.do(t, 202, "POST", path+"/events", map[string]any{"title": "Plan", "start": "2030-01-01T10:00:00Z", "attendees": []any{"guest@far.test"}}))
	change := func(n int) {
		t.Helper()
		u.do(t, 202, "PATCH", path+"/events/"+id, map[string]any{"title": fmt.Sprint("Plan ", n)})
	}
	want := []string{"REQUEST 1"}
	for n := 2; n < 6; n++ {
		far.until(t, want[n-2])
		change(n)
		want = append(want, fmt.Sprint("REQUEST ", n))
		s.kill()
		s = postal(t, dir, dns, far.port)
		u.server = s
	}
	far.until(t, want[4])
	far.once(t, want...)

	far.refuses.Store(true)
	change(6)
	u.blocked(t, path, true)
	far.refuses.Store(false)
	change(7)
	u.do(t, 200, "PUT", path+"/owner", map[string]any{"enabled": true})
	u.blocked(t, path, false)
	u.do(t, 202, "POST", path+"/events/"+id+"/cancel", nil)
	far.until(t, "CANCEL 7")
	far.once(t, append([]string{"CANCEL 7"}, want...)...)
	sent := u.do(t, 200, "GET", "/inboxes/"+address+"/messages?direction=all&limit=200", nil)["emails"].([]any)
	for _, m := range sent {
		if strings.Contains(fmt.Sprint(m), "owner@far.test") {
			t.Errorf("a copy is seen: %v", m)
		}
	}
	if len(sent) != 8 { // an invitation, six changes, a cancellation
		t.Errorf("%d mails are seen", len(sent))
	}
}

// TestCopiesOfAnswersAreMerged: the first response is copied immediately, and those of the same
// minute together with the next change that the agent makes. None of them counts as a send of the
// account.
func TestCopiesOfAnswersAreMerged(t *testing.T) {
	far := ownersServer(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := postal(t, dir, farZone(t), far.port)
	u := s.signUp(t, "owner@far.test")
	address, guest := u.inbox(t, "agent"), s.signUp(t, "other@far.test")
	invited := guest.inbox(t, "guest")
	path, theirs := "/inboxes/"+address+"/calendar", "/inboxes/"+invited+"/calendar/events/1/rsvp"
	u.do(t, 200, "PUT", path+"/owner", map[string]any{"enabled": true})
	event := path + "/events/" + meetingOf(u.do(t, 202, "POST", path+"/events", map[string]any{"title": "Plan", "start": "2030-01-01T10:00:00Z", "attendees": []any{invited}}))
	far.until(t, "REQUEST 1")
	if guest.latest(t, invited, "?wait=20") == nil {
		t.Fatal("the guest got no invitation")
	}
	for n, answer := range []string{"accepted", "declined", "tentative"} {
		guest.do(t, 202, "POST", theirs, map[string]any{"response": answer})
		for end := time.Now().Add(20 * time.Second); !strings.Contains(fmt.Sprint(u.do(t, 200, "GET", event, nil)), "status:"+answer); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s does not count", answer)
			}
		}
		if n == 0 {
			far.until(t, "REQUEST 2")
		}
	}
	u.do(t, 202, "PATCH", event, map[string]any{"title": "Plan 2"})
	far.until(t, "REQUEST 5")
	far.once(t, "REQUEST 1", "REQUEST 2", "REQUEST 5")
	// An invitation, a change, and a copy of each.
	if usage := fmt.Sprint(u.asSession(t, 200, "GET", "/api/account", nil)); !strings.Contains(usage, "sends_today:4") {
		t.Errorf("the account: %s", usage)
	}
}
