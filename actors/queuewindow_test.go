package actors

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
)

// indexOnly is a store of nothing but the mail queue.
type indexOnly struct {
	Store
	entries map[mailKey]inbox.QueueEntry
	during  func() // happens between reading a page and giving it
	err     error  // of the next read
}

func (s *indexOnly) sorted() (all []inbox.QueueEntry) {
	for _, e := range s.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, compareEntries)
	return all
}

func compareEntries(a, b inbox.QueueEntry) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID))
}

func (s *indexOnly) MailQueue(after inbox.QueueEntry, limit int) (queue []inbox.QueueEntry, more bool, err error) {
	if err = s.err; err != nil {
		s.err = nil
		return nil, false, err
	}
	all := s.sorted()
	at, found := slices.BinarySearchFunc(all, after, compareEntries)
	if found {
		at++
	}
	all = all[at:]
	if during := s.during; during != nil {
		s.during = nil
		during()
	}
	return all[:min(limit, len(all))], len(all) > limit, nil
}

// windowModel drives a queue by hand: its owner, its workers and its clock.
type windowModel struct {
	index  *indexOnly
	q      *mailQueue
	now    time.Time
	last   int64
	aside  []putOff
	groups int // that they came in
}

func newWindowModel() *windowModel {
	m := &windowModel{index: &indexOnly{entries: map[mailKey]inbox.QueueEntry{}}, now: time.UnixMilli(1_700_000_000_000).UTC()}
	s := &System{Options: Options{DomainWorkers: 2, Now: func() time.Time { return m.now }, Logger: slog.New(slog.DiscardHandler)}.withDefaults(), store: m.index}
	m.q = newMailQueue(s)
	m.q.bounds = bounds{page: 7, dueLow: 10, dueMost: 25, share: 2, lane: 8, room: 60, all: 90}
	m.q.aside.working = true
	return m
}

// move commits a change of the index and tells the queue.
func (m *windowModel) move(e inbox.QueueEntry, to time.Time) {
	key := mailKey{e.Address, e.ID}
	told := inbox.Queued{ID: e.ID, From: e.At, To: to, Since: m.now, Domains: e.Domains}
	if e.At = to; to.IsZero() {
		delete(m.index.entries, key)
	} else {
		m.index.entries[key] = e
	}
	m.q.told(e.Address, []inbox.Queued{told})
}

func (m *windowModel) submit(domains ...string) {
	m.last++
	m.move(inbox.QueueEntry{Address: fmt.Sprint("a", m.last%3), ID: m.last, Domains: domains}, m.now)
}

// turn does what the supervisor does when it is woken, and returns the jobs it gives out.
func (m *windowModel) turn() (jobs []*job) {
	m.q.refill()
	m.q.sys.DeliveryWorkers = 0 // the model has its own workers
	m.q.step()
	m.q.sys.DeliveryWorkers = 64
	lanes := slices.Concat(m.q.turns, m.q.mute, m.q.fresh)
	m.q.turns, m.q.mute, m.q.fresh = nil, nil, nil
	for _, l := range lanes {
		l.listed = unlisted
		for m.q.standing(l, m.now) != unlisted {
			next := l.next(m.q, m.now)
			j := &next
			if j.mail.task == nil {
				j.mail.task = &task{key: j.mail.mailKey, jobs: int(j.mail.left)}
			}
			j.task, j.patience = j.mail.task, time.NewTimer(time.Hour)
			m.q.running++
			jobs = append(jobs, j)
		}
	}
	for {
		_, group, _ := m.q.nextPutOffs()
		if m.q.aside.working = true; group == nil { // so that nobody else puts off
			return jobs
		}
		m.aside = append(m.aside, group...)
		m.groups++
	}
}

// retry is the operator's: the mail is in memory from there on, wherever it was.
func (m *windowModel) retry(t rapid.TB, e inbox.QueueEntry) {
	sending := &inbox.Sending{Due: e.At}
	for _, d := range e.Domains {
		sending.Recipients = append(sending.Recipients, inbox.To("x@"+d))
	}
	key := mailKey{e.Address, e.ID}
	m.q.probe(key, m.now, sending)
	m.move(e, m.now)
	if mail := m.q.mails[key]; mail == nil || !mail.probes {
		t.Fatalf("the retried mail is %+v", mail)
	}
}

// putOff ends what was set aside: put off (0), unknown to be due (1), or failed (2).
func (m *windowModel) putOff(how int) {
	for _, p := range m.aside {
		e, waits := m.index.entries[p.mail.mailKey]
		var now *inbox.Message
		var err error
		switch {
		case how == 2:
			err = errors.New("no disk")
		case waits && how == 0:
			m.move(e, m.now.Add(time.Minute))
		case waits:
			now = &inbox.Message{Sending: &inbox.Sending{Status: delivery.Retrying, Due: e.At}}
		}
		m.q.wasPutOff(p, now, err)
	}
	m.aside = nil
}

// check holds that each entry of the index is where it will be found.
func (m *windowModel) check(t *rapid.T) {
	q := m.q
	for _, e := range m.index.sorted() {
		var l *lane
		if len(e.Domains) == 1 {
			l = q.lanes[e.Domains[0]]
		}
		switch {
		case q.mails[mailKey{e.Address, e.ID}] != nil:
		case !q.whole && (e.At.After(q.horizon) || e.At.Equal(q.resume.At) && compareEntries(e, q.resume) > 0):
		case l != nil && !l.left.IsZero() && !e.At.Before(l.left) && (l.held() > 0 || q.hungry):
		default:
			t.Fatalf("nobody will find %+v: horizon %v, whole %v, lane %+v", e, q.horizon, q.whole, l)
		}
	}
	waiting := 0 // that the index knows the time of
	for _, mail := range q.due {
		if !mail.astray {
			waiting++
		}
	}
	if len(q.mails) > q.bounds.all+64 || waiting > q.bounds.dueMost {
		t.Fatalf("%d mails in memory, %d of them wait for their time", len(q.mails), waiting)
	}
}

// TestWindowLosesNoMail: whatever comes, goes, fails and waits, each entry of the index is in
// memory or will be found there; and at last all is worked off, in a bounded number of turns.
func TestWindowLosesNoMail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newWindowModel()
		running := []*job{}
		domain := func() string { return fmt.Sprint("d", rapid.IntRange(0, 4).Draw(t, "domain")) }
		end := func(temper temper, how int) {
			if len(running) == 0 {
				return
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "job")
			j := running[i]
			running = slices.Delete(running, i, i+1)
			m.end(j, temper, how)
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				d := domain()
				for range rapid.IntRange(1, 40).Draw(t, "mails") {
					m.submit(d)
				}
			},
			"submit to two": func(*rapid.T) { m.submit("d0", "d1") },
			"found leased": func(*rapid.T) {
				m.last++
				m.index.entries[mailKey{"b", m.last}] = inbox.QueueEntry{At: m.now.Add(time.Hour), Address: "b", ID: m.last, Domains: []string{domain()}, Leased: true}
				m.q.load(m.index.entries[mailKey{"b", m.last}])
			},
			"turn": func(*rapid.T) { running = append(running, m.turn()...) },
			"turn while mail comes": func(t *rapid.T) {
				d, n, later := domain(), rapid.IntRange(1, 60).Draw(t, "mails"), rapid.Bool().Draw(t, "later")
				m.index.during = func() {
					for range n {
						if m.submit(d); later {
							m.last++
							m.move(inbox.QueueEntry{Address: "c", ID: m.last, Domains: []string{d}}, m.now.Add(time.Duration(n)*time.Second))
						}
					}
				}
				running = append(running, m.turn()...)
			},
			"turn without the disk": func(*rapid.T) {
				m.index.err = errors.New("no disk")
				running = append(running, m.turn()...)
			},
			"deliver":   func(*rapid.T) { end(answering, 0) },
			"be silent": func(*rapid.T) { end(silent, 1) },
			"put off":   func(t *rapid.T) { m.putOff(rapid.IntRange(0, 2).Draw(t, "how")) },
			"fail":      func(*rapid.T) { end(unknown, 2) },
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 100_000).Draw(t, "ms")) * time.Millisecond)
			},
			"operator": func(t *rapid.T) {
				if all := m.index.sorted(); len(all) > 0 {
					e := rapid.SampledFrom(all).Draw(t, "entry")
					to := rapid.SampledFrom([]time.Time{{}, m.now, m.now.Add(time.Minute)}).Draw(t, "to")
					if to.Equal(m.now) && !e.Leased {
						m.retry(t, e)
					} else {
						m.move(e, to)
					}
				}
			},
			"": m.check,
		})
		for turns := 0; len(m.index.entries) > 0; turns++ {
			if turns > 5000 {
				t.Fatalf("%d mails are left: %+v", len(m.index.entries), m.index.sorted()[0])
			}
			m.now = m.now.Add(time.Second)
			for running = append(running, m.turn()...); len(running) > 0; running = running[1:] {
				m.end(running[0], answering, 0)
			}
			m.putOff(0)
			m.check(t)
		}
	})
}

// end reports a job: delivered (0), to be tried later (1), or given back (2).
func (m *windowModel) end(j *job, temper temper, how int) {
	e, waits := m.index.entries[j.mail.mailKey]
	switch {
	case !waits:
	case how == 2:
		m.q.mu.Lock()
		j.task.again = m.now.Add(againAfter)
		m.q.mu.Unlock()
	case int(j.task.done.Add(1)) < j.task.jobs:
	case how == 1:
		m.move(e, m.now.Add(time.Minute))
	default:
		m.move(e, time.Time{})
	}
	m.q.finished(j, answerOf{temper: temper})
}
