package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
)

// TestPollsAreNeverStale changes inboxes and requests their newest message right after each change
// was acknowledged, with all kinds of polls and repeatedly, so that the fast path is used, too. The
// memory budget is so small that inboxes are evicted and activated meanwhile.
func TestPollsAreNeverStale(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--memory", "64KiB")
	u := s.signUp(t, "fresh@example.test")
	const workers, each, changes = 4, 10, 60
	var all sync.WaitGroup
	for w := range workers {
		var inboxes []*polledInbox
		for i := range each {
			inboxes = append(inboxes, newPolledInbox(t, u, fmt.Sprintf("fresh%d-%d", w, i)))
		}
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for n := range changes {
				in := inboxes[rng.IntN(each)]
				if err := in.change(fmt.Sprint(100_000+w*10_000+n), rng.IntN(5) == 0); err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					if err := in.look(); err != nil {
						t.Errorf("change %d: %v", n, err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// polledInbox is an inbox and what its polls must return.
type polledInbox struct {
	user         *user
	address, key string
	code         any // nil if there is no message
}

func newPolledInbox(t *testing.T, u *user, prefix string) *polledInbox {
	t.Helper()
	in := &polledInbox{user: u, address: u.inbox(t, prefix)}
	a, err := u.server.call("POST", "/api/inboxes/"+in.address+"/key", map[string]string{"Authorization": "Bearer " + u.session}, map[string]any{})
	if err != nil || a.status != 201 {
		t.Fatalf("key of %s: %v %v", in.address, a, err)
	}
	in.key = a.body["api_key"].(string)
	return in
}

// change sends a message, or deletes all.
func (in *polledInbox) change(code string, burn bool) error {
	if !burn {
		in.code = code
		return in.user.server.mail(in.address, code)
	}
	in.code = nil
	a, err := in.user.server.call("POST", "/api/v1/inboxes/"+in.address+"/burn", map[string]string{"X-API-Key": in.user.key}, nil)
	if err == nil && a.status != 200 {
		err = fmt.Errorf("burn: %v", a)
	}
	return err
}

func (in *polledInbox) look() error {
	agent, inside := "/api/v1/inboxes/"+in.address+"/latest", "/api/inboxes/"+in.address+"/latest"
	return errors.Join(in.poll(agent, in.user.key), in.poll(agent, in.key), in.poll(inside, in.key))
}

// poll polls once without an ETag and once with the current one.
func (in *polledInbox) poll(path, key string) error {
	a, err := in.user.server.call("GET", path, map[string]string{"X-API-Key": key}, nil)
	if err != nil {
		return err
	}
	email, _ := a.body["email"].(map[string]any)
	if a.status != 200 || email["otp_code"] != in.code {
		return fmt.Errorf("%s: %d, code %v, want %v", path, a.status, email["otp_code"], in.code)
	}
	tag := a.header.Get("ETag")
	a, err = in.user.server.call("GET", path, map[string]string{"X-API-Key": key, "If-None-Match": tag}, nil)
	if err == nil && (a.status != 304 || a.header.Get("ETag") != tag) {
		err = fmt.Errorf("%s: %d %s to who knows %s", path, a.status, a.header.Get("ETag"), tag)
	}
	return err
}
