package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKillsAndClaims kills the server while two accounts create inboxes in the same subdomains.
// Afterwards each subdomain belongs to one account, every inbox that got a 201 exists, and the
// other account is refused.
func TestKillsAndClaims(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	launchIt := func() *server { return launch(t, dir, "--namespace=random") }
	s := launchIt()
	users := []*user{s.signUp(t, "ada@example.test"), s.signUp(t, "bob@example.test")}
	holders := map[string]int{} // by label
	for round := range 4 {
		var mu sync.Mutex
		var load sync.WaitGroup
		var made []string
		enough := make(chan struct{})
		for i, u := range users {
			for w := range 3 {
				load.Go(func() {
					for n := 0; ; n++ {
						label := fmt.Sprintf("fleet-%d-%d", round, n/3)
						order := map[string]any{"subdomain": label, "prefix": fmt.Sprintf("i%d-%d-%d", i, w, n)}
						if n%4 == 3 {
							delete(order, "subdomain")
						}
						a, err := u.server.call("POST", "/api/v1/inboxes", map[string]string{"X-API-Key": u.key}, order)
						if err != nil {
							return // killed
						}
						if a.status == 400 {
							continue
						}
						if a.status != 201 {
							t.Errorf("%v: %d %v", order, a.status, a.body)
							return
						}
						address := a.body["address"].(string)
						_, host, _ := strings.Cut(address, "@")
						label, _, _ = strings.Cut(host, ".")
						mu.Lock()
						if holder, held := holders[label]; held && holder != i {
							t.Errorf("%s was made by %d in a subdomain of %d", address, i, holder)
						}
						holders[label] = i
						if made = append(made, address); len(made) == 20+20*round {
							close(enough)
						}
						mu.Unlock()
					}
				})
			}
		}
		select {
		case <-enough:
		case <-time.After(20 * time.Second):
		}
		s.kill()
		load.Wait()
		s = launchIt()
		for _, u := range users {
			u.server = s
		}
		for _, address := range made {
			_, host, _ := strings.Cut(address, "@")
			label, _, _ := strings.Cut(host, ".")
			users[holders[label]].do(t, 200, "GET", "/inboxes/"+address, nil)
		}
	}
	if len(holders) < 20 {
		t.Fatalf("only %d subdomains: the test exercised nothing", len(holders))
	}
	for label, holder := range holders {
		if a := users[1-holder].do(t, 400, "POST", "/inboxes", map[string]any{"subdomain": label}); a["detail"] != "The subdomain "+label+" is taken" {
			t.Errorf("%s: %v", label, a)
		}
	}
	drawn := users[0].do(t, 201, "POST", "/inboxes", map[string]any{})["address"].(string)
	label := strings.Split(strings.Split(drawn, "@")[1], ".")[0]
	users[0].do(t, 201, "POST", "/inboxes", map[string]any{"prefix": "second", "subdomain": label})
	users[1].do(t, 400, "POST", "/inboxes", map[string]any{"prefix": "support2", "subdomain": label})
}
