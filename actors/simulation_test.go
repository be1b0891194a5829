package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
	"inboxd/internal/testutil/iterations"
	"inboxd/persist/persisttest"
)

// simulation is one node over days of virtual time. It applies operations drawn from a seed, one
// after another. Meanwhile commits fail, the disk is full, and power is lost before a commit, after
// it, or between two. The ledger is what a client got as responses. The rest is in doubt until somebody
// reads it, and certain from then on.
type simulation struct {
	t      *testing.T
	rng    *rand.Rand
	store  *persisttest.TestStore
	system *System
	ledger map[string]*gotNotice
	trace  []string

	// fate is what happens to commits; the test's goroutine sets it while no commit is in progress.
	fate struct {
		countdown int // commits until it takes effect
		how       fateKind
		struck    bool
	}
}

type fateKind int

const (
	spared fateKind = iota
	failsOnce
	diesBefore
	diesAfter
)

// gotNotice is what a client knows of one inbox.
type gotNotice struct {
	mailCount map[int64]*heardMail
	last      int64    // highest id that was ever read or returned
	doubt     []string // subjects of messages whose outcome was not reported
	lives     doubtful
}

type heardMail struct {
	text    string
	expires time.Time
	read    doubtful
	there   doubtful
}

// doubtful is yes, no, or unknown.
type doubtful int

const (
	no doubtful = iota
	yes
	unknown
)

var errPower = errors.New("the power is gone")

// TestSimulation runs seeds. SIMULATION_SEED runs one and logs its steps. SIMULATION_SEEDS is a
// number of seeds or a duration.
func TestSimulation(t *testing.T) {
	if seed := os.Getenv("SIMULATION_SEED"); seed != "" {
		t.Log(strings.Join(simulate(t, must[uint64](t)(strconv.ParseUint(seed, 10, 64))), "\n"))
		return
	}
	seeds := 200
	if testing.Short() {
		seeds = 20
	}
	played, kinds := 0, map[string]int{}
	for seed := range iterations.Times(t, "SIMULATION_SEEDS", seeds) {
		trace := simulate(t, seed)
		played++
		for _, line := range trace {
			what, _, _ := strings.Cut(line, " ")
			kinds[what]++
		}
		if t.Failed() {
			t.Fatalf("SIMULATION_SEED=%d:\n%s", seed, strings.Join(trace, "\n"))
		}
		if seed%100 == 0 && !slices.Equal(trace, simulate(t, seed)) {
			t.Fatalf("seed %d plays another story the second time", seed)
		}
	}
	for _, what := range []string{"receive", "delete", "read", "burn", "pass", "passivate", "full", "crash", "fails"} {
		if kinds[what] < played/4 {
			t.Errorf("%d times %s in %d seeds: %v", kinds[what], what, played, kinds)
		}
	}
	t.Log(kinds)
}

func simulate(t *testing.T, seed uint64) (trace []string) {
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 23)), ledger: map[string]*gotNotice{}}
		s.start(persisttest.OpenCrashable(t))
		defer func() { s.system.Stop() }()
		for i := range 3 {
			s.create(fmt.Sprintf("i%d@inbox.localhost", i))
		}
		for range 16 {
			s.step()
			s.compare()
			if t.Failed() {
				break
			}
		}
		trace = s.trace
	})
	return trace
}

func (s *simulation) start(store *persisttest.TestStore) {
	s.store, s.fate.how, s.fate.struck = store, spared, false
	store.BeforeCommit = func(any) error { return s.befall(diesBefore) }
	store.AfterCommit = func(any) error { return s.befall(diesAfter) }
	s.system = must[*System](s.t)(Start(Options{
		Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Logger: slog.New(slog.DiscardHandler),
		SweepEvery: 10 * time.Minute, // of virtual time, of which days pass
	}))
	synctest.Wait()
}

// befall decides the fate of a commit, before or after it is written.
func (s *simulation) befall(when fateKind) error {
	f := &s.fate
	if f.struck && f.how != failsOnce {
		return errPower // nothing is written or acknowledged any more
	}
	if f.struck || f.how == spared || (f.how == diesAfter) != (when == diesAfter) {
		return nil
	}
	if f.countdown--; f.countdown >= 0 {
		return nil
	}
	f.struck = true
	return errPower
}

func (s *simulation) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

// pick draws an inbox.
func (s *simulation) pick() string { return fmt.Sprintf("i%d@inbox.localhost", s.rng.IntN(3)) }

func (s *simulation) step() {
	if s.fate.how == spared && s.rng.IntN(4) == 0 {
		s.fate.how, s.fate.countdown = fateKind(1+s.rng.IntN(3)), s.rng.IntN(4)
	}
	switch n := s.rng.IntN(20); {
	case n < 9:
		s.receive(s.pick())
	case n < 11:
		s.delete(s.pick())
	case n < 13:
		s.read(s.pick())
	case n == 13:
		s.burn(s.pick())
	case n < 16:
		s.pass()
	case n == 16:
		s.note("passivate")
		s.system.inboxDirectory.SweepIdle(time.Hour, 1)
	case n == 17:
		s.fullDisk()
	case n == 18:
		s.crash("between two commits")
	default:
		s.receive(s.pick())
	}
	synctest.Wait()
	switch {
	case s.fate.struck && s.fate.how == failsOnce:
		s.note("fails once")
		s.fate.how, s.fate.struck = spared, false
		time.Sleep(time.Minute) // an owner rests after a failure
	case s.fate.struck:
		s.crash(map[fateKind]string{diesBefore: "before a commit", diesAfter: "after a commit"}[s.fate.how])
	}
}

func (s *simulation) create(address string) {
	makeInbox(s.t, s.system, address)
	s.ledger[address] = &gotNotice{mailCount: map[int64]*heardMail{}, lives: yes}
}

func (s *simulation) receive(address string) {
	text := fmt.Sprintf("mail-%d", len(s.trace))
	got, err := s.system.Do(s.t.Context(), address, receive(text))
	s.note("receive %s at %s: %d %v", text, address, got.ID, err)
	in := s.ledger[address]
	switch {
	case err == nil:
		if got.ID <= in.last {
			s.t.Errorf("id %d of %s was given before", got.ID, address)
		}
		in.last = got.ID
		in.mailCount[got.ID] = &heardMail{text: text, expires: time.Now().Add(24 * time.Hour), there: yes}
	case !fault.Is(err, fault.StorageFull):
		in.doubt = append(in.doubt, text)
	}
}

// some draws a message that certainly exists; false if none does.
func (s *simulation) some(address string) (id int64, ok bool) {
	var ids []int64
	for id, l := range s.ledger[address].mailCount {
		if l.there == yes && time.Now().Before(l.expires) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return 0, false
	}
	slices.Sort(ids)
	return ids[s.rng.IntN(len(ids))], true
}

func (s *simulation) delete(address string) {
	id, ok := s.some(address)
	if !ok {
		return
	}
	_, err := s.system.Do(s.t.Context(), address, inbox.DeleteMessage{ID: id})
	s.note("delete %d of %s: %v", id, address, err)
	s.ledger[address].mailCount[id].there = afterwards(no, err)
}

func (s *simulation) read(address string) {
	id, ok := s.some(address)
	if !ok {
		return
	}
	_, err := s.system.Do(s.t.Context(), address, inbox.MarkRead{ID: id, Read: true})
	s.note("read %d of %s: %v", id, address, err)
	if l := s.ledger[address].mailCount[id]; l.read != yes {
		l.read = afterwards(yes, err)
	}
}

func (s *simulation) burn(address string) {
	_, err := s.system.Do(s.t.Context(), address, inbox.Burn{})
	s.note("burn %s: %v", address, err)
	for _, l := range s.ledger[address].mailCount {
		if l.there != no {
			l.there = afterwards(no, err)
		}
	}
}

// afterwards is the state after an order: what it ordered, or unknown if it was not acknowledged.
func afterwards(done doubtful, err error) doubtful {
	if err != nil {
		return unknown
	}
	return done
}

// pass lets hours pass, so that messages expire and owners are evicted.
func (s *simulation) pass() {
	hours := 1 + s.rng.IntN(12)
	s.note("pass %d h", hours)
	time.Sleep(time.Duration(hours) * time.Hour)
}

func (s *simulation) fullDisk() {
	s.store.SetFull(true)
	address := s.pick()
	got, err := s.system.Do(s.t.Context(), address, receive("refused"))
	s.note("full disk: %v", err)
	if err == nil {
		s.t.Errorf("mail %d was taken on a full disk", got.ID)
	}
	s.store.SetFull(false)
}

// crash keeps what was synced, and starts again from it.
func (s *simulation) crash(when string) {
	s.note("crash %s", when)
	after := s.store.CrashCopy(s.t)
	s.fate.how, s.fate.struck = diesBefore, true
	s.system.Stop()
	s.start(after)
}

// compare reads every inbox. What it sees is certain from now on.
func (s *simulation) compare() {
	for i := range 3 {
		address := fmt.Sprintf("i%d@inbox.localhost", i)
		view, err := s.system.InboxView(s.t.Context(), address)
		if err != nil {
			s.t.Errorf("%s: %v", address, err)
			return
		}
		seen := map[int64]*inbox.Message{}
		for _, m := range view.Messages {
			if time.Now().Before(m.ExpiresAt) {
				seen[m.ID] = m
			}
		}
		s.newcomers(address, seen)
		for id, l := range s.ledger[address].mailCount {
			s.settle(address, id, l, seen[id])
		}
	}
}

// newcomers are messages that were not acknowledged: each is complete, of a send in doubt, and new.
func (s *simulation) newcomers(address string, seen map[int64]*inbox.Message) {
	in := s.ledger[address]
	for id, m := range seen {
		if in.mailCount[id] != nil {
			continue
		}
		if i := slices.Index(in.doubt, m.Subject); i < 0 || id <= in.last {
			s.t.Errorf("%s: message %d, %q, came from nowhere", address, id, m.Subject)
			continue
		}
		in.mailCount[id] = &heardMail{text: m.Subject, expires: m.ExpiresAt, there: yes}
		in.last = id
	}
}

// settle compares one message with its entry in the ledger.
func (s *simulation) settle(address string, id int64, l *heardMail, m *inbox.Message) {
	over := !time.Now().Before(l.expires)
	switch {
	case m == nil && l.there == yes && !over:
		s.t.Errorf("%s: message %d, %q, is lost", address, id, l.text)
	case m != nil && (l.there == no || over):
		s.t.Errorf("%s: message %d, %q, is back", address, id, l.text)
	case m == nil:
		l.there = no
	default:
		l.there = yes
		s.whole(address, id, l, m)
	}
}

func (s *simulation) whole(address string, id int64, l *heardMail, m *inbox.Message) {
	content, err := s.system.MessageContent(s.t.Context(), address, id)
	if err != nil || content == nil || m.Subject != l.text || content.Doc.Subject != l.text || content.Doc.Text != l.text+"\n" {
		s.t.Errorf("%s: of message %d, %q, came back %+v, %v", address, id, l.text, content, err)
	}
	raw, err := s.store.ReadRaw(address, id)
	if err != nil || string(raw) != "Subject: "+l.text+"\r\n\r\n"+l.text+"\r\n" {
		s.t.Errorf("%s: bytes of message %d: %q, %v", address, id, raw, err)
	}
	if l.read == yes && !m.IsRead || l.read == no && m.IsRead {
		s.t.Errorf("%s: message %d is read: %v", address, id, m.IsRead)
	}
	if l.read = no; m.IsRead {
		l.read = yes
	}
}
