package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestKillsAndRepeatsMakeOneMail: callers that use idempotency keys retry each send after the
// server was killed. Whenever that was, a retry gets the same response and there is one message. A
// kill can cause a second copy of it, but with the same bytes.
func TestKillsAndRepeatsMakeOneMail(t *testing.T) {
	const kills, callers, each = 3, 8, 40
	far := receive(t, "127.0.0.1", "0", nil)
	dns := farZone(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := postal(t, dir, dns, far.port)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	sendNamed := func(s *server, name string) (int64, error) {
		a, err := s.call("POST", "/api/v1/inboxes/"+address+"/send", map[string]string{"X-API-Key": u.key, "Idempotency-Key": name},
			map[string]any{"to": "bob@far.test", "subject": name, "body": "x"})
		if err != nil {
			return 0, err
		}
		if a.status != 202 {
			t.Errorf("%s: %d %v", name, a.status, a.body)
			return 0, nil
		}
		return int64(a.body["message_id"].(float64)), nil
	}
	answered := map[string]int64{} // by key; 0: interrupted
	for round := range kills {
		var mu sync.Mutex
		var senders sync.WaitGroup
		for w := range callers {
			senders.Go(func() {
				for n := range each {
					name := fmt.Sprintf("send-%d-%d-%d", round, w, n)
					id, err := sendNamed(s, name)
					mu.Lock()
					answered[name] = id
					mu.Unlock()
					if err != nil {
						return
					}
				}
			})
		}
		for enough := false; !enough; time.Sleep(time.Millisecond) {
			mu.Lock()
			enough = len(answered) > round*callers*each/2+callers*(round+1)
			mu.Unlock()
		}
		s.kill()
		senders.Wait()
		s = postal(t, dir, dns, far.port)
	}
	u.server = s
	cut := 0
	ids := map[int64]string{}
	for name, first := range answered {
		var again [2]int64
		for i := range again {
			var err error
			if again[i], err = sendNamed(s, name); err != nil {
				t.Fatal(err)
			}
		}
		if again[0] != again[1] || first != 0 && first != again[0] {
			t.Errorf("%s was %d, and then %v", name, first, again)
		}
		if first == 0 {
			cut++
		}
		if other, twice := ids[again[0]]; twice {
			t.Errorf("%s and %s are both %d", name, other, again[0])
		}
		ids[again[0]] = name
		u.until(t, address, again[0], "sent")
	}
	forms := map[string]map[string]bool{}
	for _, c := range far.taken() {
		name := headerOf(c.raw, "Subject")
		if forms[name] == nil {
			forms[name] = map[string]bool{}
		}
		forms[name][c.raw] = true
	}
	for name := range answered {
		if len(forms[name]) != 1 {
			t.Errorf("%s came in %d forms", name, len(forms[name]))
		}
	}
	if cut == 0 {
		t.Error("no send was cut off: the test exercised nothing")
	}
	t.Logf("%d sends, %d cut off by %d kills", len(answered), cut, kills)
}
