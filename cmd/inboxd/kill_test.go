package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/testutil/iterations"
)

// TestKillUnderLoad kills the real process at random moments while messages arrive, are read and
// are deleted, and compares the result with what was acknowledged. KILLS is the number of kills.
func TestKillUnderLoad(t *testing.T) {
	const perRun = 25 // an inbox is read completely after each kill, and holds at most 10,000 messages
	k := &killing{t: t, dir: filepath.Join(t.TempDir(), "data")}
	k.code.Store(100_000)
	k.server = launch(t, k.dir)
	k.user = k.server.signUp(t, "me@example.test")
	for kill := range iterations.Times(t, "KILLS", 4) {
		if len(k.boxes) == 0 || kill%perRun == 0 {
			k.newBoxes()
		}
		k.underLoad(int64(20 + rand.IntN(400)))
		k.server = launch(t, k.dir)
		k.user.server = k.server
		for _, b := range k.boxes {
			b.check(t, k.user)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d mails and %d deletions acknowledged, %d polls", k.reported.Load(), k.gone.Load(), k.polls.Load())
	if k.reported.Load() == 0 || k.gone.Load() == 0 {
		t.Error("there was no load")
	}
}

// killing is a server that is killed repeatedly.
type killing struct {
	t      *testing.T
	dir    string
	server *server
	user   *user
	boxes  []*killedBox
	dying  atomic.Bool
	code   atomic.Int64 // the latest code sent

	reported, gone, polls atomic.Int64
}

// killedBox is what was acknowledged of an inbox, over all runs of the server.
type killedBox struct {
	address string
	newest  float64 // highest id that a poll returned; used by its only reader

	mu       sync.Mutex
	reported map[string]bool    // codes of acknowledged messages
	asked    map[string]bool    // codes of messages whose deletion was requested
	gone     map[string]bool    // codes of messages whose deletion was acknowledged
	ids      map[float64]string // code of the message with an id
}

func (k *killing) newBoxes() {
	k.boxes = nil
	for range 8 {
		address := k.user.inbox(k.t, fmt.Sprintf("box%d", k.code.Add(1)))
		k.boxes = append(k.boxes, &killedBox{address: address, reported: map[string]bool{}, asked: map[string]bool{}, gone: map[string]bool{}, ids: map[float64]string{}})
	}
}

// underLoad returns when so many messages were acknowledged and the server was killed.
func (k *killing) underLoad(goal int64) {
	k.dying.Store(false)
	goal += k.reported.Load()
	var load sync.WaitGroup
	for w, b := range k.boxes {
		load.Go(func() {
			for n := w; k.send(k.boxes[n%len(k.boxes)]); n++ {
			}
		})
		load.Go(func() {
			for k.read(b) {
			}
		})
	}
	for deadline := time.Now().Add(20 * time.Second); k.reported.Load() < goal && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	k.dying.Store(true)
	k.server.kill()
	load.Wait()
}

// broke reports whether something failed. That is allowed when the server is killed.
func (k *killing) broke(what string, err error) bool {
	if err != nil && !k.dying.Load() {
		k.t.Errorf("%s: %v", what, err)
	}
	return err != nil
}

// send sends a message, and reports whether more can follow.
func (k *killing) send(b *killedBox) bool {
	code := strconv.FormatInt(k.code.Add(1), 10)
	if k.broke("a mail", k.server.mail(b.address, code)) {
		return false
	}
	b.mu.Lock()
	b.reported[code] = true
	b.mu.Unlock()
	k.reported.Add(1)
	return true
}

// read polls, and deletes some of the messages returned before. It never deletes the newest, so no
// poll may return an older one than the previous poll, in this run of the server or the next.
func (k *killing) read(b *killedBox) bool {
	a, err := k.server.call("GET", "/api/v1/inboxes/"+b.address+"/latest?fields=id,otp_code", map[string]string{"X-API-Key": k.user.key}, nil)
	if k.broke("a poll", err) {
		return false
	}
	k.polls.Add(1)
	email, _ := a.body["email"].(map[string]any)
	id, _ := email["id"].(float64)
	if a.status != http.StatusOK || id < b.newest {
		k.t.Errorf("%s: a poll shows %d %v, the one before %v", b.address, a.status, a.body, b.newest)
		return false
	}
	before := b.newest
	if b.newest = id; id == before || before == 0 || int64(id)%3 > 0 {
		return true
	}
	return k.remove(b, before)
}

// remove deletes a message that was returned.
func (k *killing) remove(b *killedBox, id float64) bool {
	path := fmt.Sprintf("/api/v1/inboxes/%s/messages/%d", b.address, int64(id))
	a, err := k.server.call("GET", path, map[string]string{"X-API-Key": k.user.key}, nil)
	if k.broke("a read", err) {
		return false
	}
	email, _ := a.body["email"].(map[string]any)
	code, _ := email["otp_code"].(string)
	b.mu.Lock()
	b.asked[code] = true
	b.mu.Unlock()
	if a, err = k.server.call("DELETE", path, map[string]string{"X-API-Key": k.user.key}, nil); k.broke("a deletion", err) {
		return false
	}
	if a.status != http.StatusOK || code == "" {
		k.t.Errorf("deletion of %v, code %q: %d %v", id, code, a.status, a.body)
		return false
	}
	b.mu.Lock()
	b.gone[code] = true
	b.mu.Unlock()
	k.gone.Add(1)
	return true
}

// check compares an inbox with what was acknowledged.
func (b *killedBox) check(t *testing.T, u *user) {
	t.Helper()
	left := map[string]bool{}
	for code := range b.reported {
		left[code] = !b.asked[code]
	}
	found := checkLedger(t, u, b.address, left, b.ids)
	for code := range b.gone {
		if found[code] > 0 {
			t.Errorf("%s: the mail with code %s was deleted and is back", b.address, code)
		}
	}
}

// checkLedger reads the whole inbox and compares. Every acknowledged message is there once, every
// uncertain one at most once, and an id means the same message as in every run before.
func checkLedger(t *testing.T, u *user, address string, must map[string]bool, ids map[float64]string) (found map[string]int) {
	t.Helper()
	found = map[string]int{}
	before := ""
	for more := true; more; {
		page := u.do(t, http.StatusOK, "GET", "/inboxes/"+address+"/messages?limit=200"+before, nil)
		more = page["has_more"].(bool)
		for _, e := range page["emails"].([]any) {
			email := e.(map[string]any)
			c, _ := email["otp_code"].(string)
			id := email["id"].(float64)
			found[c]++
			if was, known := ids[id]; known && was != c {
				t.Errorf("%s: id %v meant %s and now %s", address, id, was, c)
			}
			ids[id] = c
			before = fmt.Sprintf("&before=%d", int(id))
		}
	}
	for c, there := range must {
		if found[c] > 1 || there && found[c] == 0 {
			t.Errorf("%s: the mail with code %s was acknowledged and is there %d times", address, c, found[c])
		}
	}
	return found
}
