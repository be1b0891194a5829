package main

import (
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestMailWaitsWhereItCrowdsPollsOut runs the whole program: agents use up its single CPU, each
// with four polls per message.
func TestMailWaitsWhereItCrowdsPollsOut(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--default-plan", "paid", "--smtp-max-conns-per-ip", "500")
	u := s.signUp(t, "me@example.test")
	var inboxes []string // one inbox is full after a few seconds
	for i := range 40 {
		inboxes = append(inboxes, u.inbox(t, "agent"+strconv.Itoa(i)))
	}
	var agents sync.WaitGroup
	over := make(chan struct{})
	for i := range 400 {
		agents.Go(func() {
			for inbox := inboxes[i%len(inboxes)]; ; {
				select {
				case <-over:
					return
				default:
				}
				_ = s.mail(inbox, "482913") // the result does not matter here
				for range 4 {
					_, _ = s.call("GET", "/api/v1/inboxes/"+inbox+"/latest", map[string]string{"X-API-Key": u.key}, nil)
				}
			}
		})
	}
	defer func() {
		close(over)
		agents.Wait()
	}()
	for end := time.Now().Add(time.Minute); s.metric(t, "inboxd_smtp_mails_paced_total") == 0; {
		if time.Now().After(end) {
			t.Fatal("no mail waited")
		}
	}
}

// TestCrowd checks that mail crowds out other work if more than a quarter of all waits are long and
// mail uses more than half of the CPU.
func TestCrowd(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: make([]uint64, 2), Buckets: []float64{0, crowdWait, 1}}
	c := newCrowding(nil, nil)
	for i, step := range []struct {
		short, long uint64
		want        bool
	}{{30, 10, false}, {30, 11, true}, {0, 1, true}, {5, 1, false}, {0, 0, false}} {
		h.Counts[0] += step.short
		h.Counts[1] += step.long
		if got := c.waitsTooLong(h); got != step.want {
			t.Errorf("look %d: long waits %v", i, got)
		}
	}
	mailCount, answers := uint64(0), uint64(0)
	c = newCrowding(func() uint64 { return mailCount }, func() uint64 { return answers })
	for i, step := range []struct {
		mailCount, answers uint64
		want               bool
	}{{1000, mailInPolls * 1000, false}, {1, mailInPolls - 1, true}, {2, 2, false}, {2, 3, true}, {0, 9, false}, {0, 0, false}} {
		mailCount += step.mailCount
		answers += step.answers
		if got := c.mailDominates(); got != step.want {
			t.Errorf("look %d: mostly mail %v", i, got)
		}
	}
}
