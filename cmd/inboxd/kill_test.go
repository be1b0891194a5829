package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestKillUnderLoad kills the real process at random moments while mail comes in, and
// holds what is there afterwards against what was acknowledged. KILLS sets how often.
func TestKillUnderLoad(t *testing.T) {
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	const inboxes, senders = 8, 8
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	addresses := make([]string, inboxes)
	for i := range addresses {
		addresses[i] = u.inbox(t, fmt.Sprintf("box%d", i))
	}
	told := make([]map[string]bool, inboxes) // codes acknowledged, by inbox
	ids := make([]map[float64]string, inboxes)
	for i := range told {
		told[i], ids[i] = map[string]bool{}, map[float64]string{}
	}
	var code atomic.Int64
	code.Store(100_000)
	for kill := range kills {
		var mu sync.Mutex
		var load sync.WaitGroup
		var acknowledged atomic.Int64
		for w := range senders {
			load.Go(func() {
				for n := 0; ; n++ {
					i := (w + n) % inboxes
					c := strconv.FormatInt(code.Add(1), 10)
					if err := s.mail(addresses[i], c); err != nil {
						return // killed
					}
					mu.Lock()
					told[i][c] = true
					mu.Unlock()
					acknowledged.Add(1)
				}
			})
		}
		goal := int64(20 + rand.IntN(400))
		for deadline := time.Now().Add(20 * time.Second); acknowledged.Load() < goal && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		s.kill()
		load.Wait()
		s = launch(t, dir)
		u.server = s
		for i, address := range addresses {
			checkLedger(t, u, address, told[i], ids[i])
		}
		if t.Failed() {
			t.Fatalf("after kill %d", kill+1)
		}
	}
	t.Logf("%d kills, %d mails acknowledged", kills, total(told))
}

func total(told []map[string]bool) (n int) {
	for _, m := range told {
		n += len(m)
	}
	return n
}

// checkLedger reads the whole inbox and compares: everything acknowledged is there once
// and whole, and an id means the same mail as in every run before.
func checkLedger(t *testing.T, u *user, address string, told map[string]bool, ids map[float64]string) {
	t.Helper()
	found := map[string]int{}
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
	for c := range told {
		if found[c] != 1 {
			t.Errorf("%s: the mail with code %s was acknowledged and is there %d times", address, c, found[c])
		}
	}
}
