package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
)

// counter is an entity that adds up the commands it gets. Its disk is the world's map.
type counter struct {
	EntitySlot
	world *world
	sum   int
	dirty bool
}

// world is the store of all counters and their failures.
type world struct {
	mu      sync.Mutex
	disk    map[string]int
	commits int
	before  func() error
	loading error
	loads   int
	missed  int // only the owner uses it
	full    atomic.Bool
	polled  atomic.Int64
}

func (c *counter) LoadState() error {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.world.loads++
	c.sum = c.world.disk[c.Key()]
	return c.world.loading
}

func (c *counter) DecideCommand(cmd any) (any, error) {
	switch n := cmd.(type) {
	case int:
		c.sum += n
		c.dirty = true
	case missed:
		c.world.missed += int(n)
	}
	return c.sum, nil
}

// missed is the follow-up of a result that nobody received.
type missed int

func (c *counter) FollowUpCommand(cmd, _ any) any { return missed(cmd.(int)) }

func (c *counter) CommitRows() error {
	if !c.dirty {
		return nil
	}
	if before := c.world.before; before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.dirty = false
	c.world.disk[c.Key()] = c.sum
	c.world.commits++
	return nil
}

func (c *counter) PublishState()         {}
func (c *counter) DiscardState()         { c.sum, c.dirty = 0, false }
func (c *counter) IsVacant() bool        { return c.sum == 0 }
func (c *counter) MemoryBytes() int64    { return 1000 }
func (c *counter) LastPolledUnix() int64 { return c.world.polled.Load() }

func start(t *testing.T, log *slog.Logger) (*Engine, *EntityDirectory, *world) {
	w := &world{disk: map[string]int{}}
	e := New(Options{Now: time.Now, IsDiskFull: w.full.Load, MaxInFlight: 1000, Logger: log})
	t.Cleanup(func() { e.Stop(time.Second) })
	return e, e.NewDirectory(func(string) Entity { return &counter{world: w} }), w
}

func add(t *testing.T, d *EntityDirectory, key string, n int) int {
	t.Helper()
	sum, err := d.Do(t.Context(), key, n, 0)
	if err != nil {
		t.Fatal(err)
	}
	return sum.(int)
}

// TestWhatWaitsIsCommittedTogether also checks that each command gets its own result.
func TestWhatWaitsIsCommittedTogether(t *testing.T) {
	_, d, w := start(t, slog.New(slog.DiscardHandler))
	in, open := make(chan struct{}, 10), make(chan struct{})
	w.before = func() error {
		in <- struct{}{}
		<-open
		return nil
	}
	var senders sync.WaitGroup
	sums := make(chan int, 101)
	send := func() { sums <- add(t, d, "k", 1) }
	senders.Go(send)
	<-in
	for range 100 {
		senders.Go(send)
	}
	for d.FindResident([]byte("k")).slot().postedCount.Load() < 101 {
		time.Sleep(time.Millisecond)
	}
	close(open)
	senders.Wait()
	seen := map[int]bool{}
	for range 101 {
		seen[<-sums] = true
	}
	if len(seen) != 101 || w.disk["k"] != 101 || w.commits != 2 {
		t.Errorf("%d different answers, %d on disk, %d commits", len(seen), w.disk["k"], w.commits)
	}
}

// TestEachAnswerIsHeardOrFollowed checks that each result is either received or followed up, never
// both and never neither, whenever senders give up. A follow-up is decided before later commands.
func TestEachAnswerIsHeardOrFollowed(t *testing.T) {
	_, d, w := start(t, slog.New(slog.DiscardHandler))
	var received, gaveUp atomic.Int64
	var senders sync.WaitGroup
	for n := range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		senders.Go(func() {
			if _, err := d.Do(ctx, "k", 1, 0); err == nil {
				received.Add(1)
			} else {
				gaveUp.Add(1)
			}
		})
		if n%2 == 0 {
			senders.Go(cancel)
		} else {
			defer cancel()
		}
	}
	senders.Wait()
	add(t, d, "k", 0) // everything before it is decided
	add(t, d, "k", 0) // and the follow-ups
	if w.disk["k"] != 500 || w.missed != int(gaveUp.Load()) {
		t.Errorf("%d done, %d heard, %d gave up, %d followed", w.disk["k"], received.Load(), gaveUp.Load(), w.missed)
	}
}

// TestAFailureIsLoggedOnce checks that the owner logs a failure with its cause. The sender is only
// asked to retry, and then finds what is on disk.
func TestAFailureIsLoggedOnce(t *testing.T) {
	for logged, before := range map[string]func() error{
		"disk on fire":           func() error { return errors.New("disk on fire") },
		"a panic of type string": func() error { panic("what somebody wrote") },
	} {
		t.Run(logged, func(t *testing.T) {
			var out bytes.Buffer
			_, d, w := start(t, slog.New(slog.NewTextHandler(&out, nil)))
			add(t, d, "k", 1)
			w.before = before
			_, err := d.Do(t.Context(), "k", 1, 0)
			if !fault.Is(err, fault.TemporarilyUnavailable) || strings.Contains(fmt.Sprint(err), logged) {
				t.Errorf("answered %v", err)
			}
			if n := strings.Count(out.String(), logged); n != 1 || strings.Contains(out.String(), "somebody") {
				t.Errorf("logged %d times: %s", n, out.String())
			}
			w.before = nil
			for { // the owner rests for some milliseconds
				if sum, err := d.Do(t.Context(), "k", 1, 0); err == nil {
					if sum != 2 {
						t.Errorf("%v after one that was stored and one that was not", sum)
					}
					return
				}
			}
		})
	}
}

// TestSweep checks that idle entities leave, except those that are polled without the directory.
// Beyond the budget, those idle for longest leave first. A returning one is loaded again.
func TestSweep(t *testing.T) {
	e, d, w := start(t, slog.New(slog.DiscardHandler))
	now := time.Now()
	for n := range 10 {
		e.Clock.SetTime(now.Add(time.Duration(n) * time.Minute))
		add(t, d, fmt.Sprint(n), n+1) // an empty one would leave by itself
	}
	leaves := func(want int) {
		t.Helper()
		as := func(s DirectoryStats) bool {
			return s.ResidentCount == want && s.HeldBytes == int64(want)*(1000+slotOverhead) && s.EvictedCount == int64(10-want)
		}
		for end := time.Now().Add(30 * time.Second); !as(d.ReadStats()) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if s := d.ReadStats(); !as(s) {
			t.Errorf("%+v, want %d in memory", s, want)
		}
	}
	leaves(10) // an owner is weighed after its reply
	d.SweepIdle(24*time.Hour, 8*(1000+slotOverhead)*10/9)
	leaves(8)
	if d.entities.Size() != 8 || d.FindResident([]byte("0")) != nil || d.FindResident([]byte("1")) != nil {
		t.Error("others than the longest idle ones left")
	}
	w.polled.Store(now.Add(9 * time.Minute).Unix())
	d.SweepIdle(time.Minute, 1<<40)
	leaves(8)
	d.Passivate("9")
	leaves(7)
	if sum := add(t, d, "9", 1); sum != 11 {
		t.Errorf("came back with %d", sum)
	}
}

// TestWhatIsVacantLeaves checks that it leaves at once, without losing a command in its mailbox.
func TestWhatIsVacantLeaves(t *testing.T) {
	_, d, w := start(t, slog.New(slog.DiscardHandler))
	add(t, d, "stays", 1)
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			for range 200 {
				add(t, d, "k", 1)
				add(t, d, "k", -1)
			}
		})
	}
	senders.Wait()
	for end := time.Now().Add(30 * time.Second); d.ReadStats().ResidentCount != 1 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if s := d.ReadStats(); s.ResidentCount != 1 || s.HeldBytes != 1000+slotOverhead || w.disk["k"] != 0 {
		t.Errorf("%+v, %d on disk", s, w.disk["k"])
	}
	if sum := add(t, d, "k", 5); sum != 5 {
		t.Errorf("came back with %d", sum)
	}
}

// TestWait checks that the first event ends the wait.
func TestWait(t *testing.T) {
	never, done, full, room := make(chan struct{}), make(chan struct{}), func() bool { return true }, func() bool { return false }
	close(done)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		done chan struct{}
		full func() bool
		want func(error) bool
	}{
		"done":    {t.Context(), done, room, func(err error) bool { return err == nil }},
		"context": {over, never, room, func(err error) bool { return fault.Is(err, fault.TemporarilyUnavailable) }},
		"full":    {t.Context(), never, full, func(err error) bool { return fault.Is(err, fault.StorageFull) }},
	} {
		if err := WaitDone(c.ctx, c.done, c.full); !c.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhatIsMovedIsRefused checks that once another node owns a group, new commands are refused and
// take no slot, waiting ones fail as moved, and nothing is committed. A commit in flight completes.
// When the group returns, the state is loaded from disk.
func TestWhatIsMovedIsRefused(t *testing.T) {
	own, key := partition.NewOwner(partition.AllGroups()), "k"
	group := partition.Of(key).Group()
	w := &world{disk: map[string]int{}}
	e := New(Options{Now: time.Now, IsDiskFull: w.full.Load, MaxInFlight: 1000, Owner: own, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { e.Stop(time.Second) })
	d := e.NewDirectory(func(string) Entity { return &counter{world: w} })
	in, open := make(chan struct{}, 10), make(chan struct{})
	w.before = func() error {
		in <- struct{}{}
		<-open
		return nil
	}
	var senders sync.WaitGroup
	send := func(want func(error) bool) {
		senders.Go(func() {
			if sum, err := d.Do(t.Context(), key, 1, 0); !want(err) {
				t.Errorf("%v, %v", sum, err)
			}
		})
	}
	moved := func(err error) bool { return fault.Is(err, fault.MovedAway) }
	send(func(err error) bool { return err == nil })
	<-in
	for range 10 {
		send(moved)
	}
	posted := &d.FindResident([]byte(key)).slot().postedCount
	for posted.Load() < 11 {
		time.Sleep(time.Millisecond)
	}
	own.SetOwned(group, false)
	if d.FindResident([]byte(key)) != nil {
		t.Error("what is another node's is shown")
	}
	close(open)
	senders.Wait()
	w.before = nil
	sent := posted.Load()
	if _, err := d.Do(t.Context(), key, 1, 0); !moved(err) || w.disk[key] != 1 || w.commits != 1 {
		t.Errorf("%v, %d on disk, %d commits", err, w.disk[key], w.commits)
	}
	if posted.Load() != sent { // whoever releases the group would wait for it
		t.Errorf("%d messages were sent to an owner whose group is another node's", posted.Load()-sent)
	}
	d.Passivate(key)
	for end := time.Now().Add(30 * time.Second); d.ReadStats().ResidentCount > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if _, err := d.Do(t.Context(), key, 1, 0); !moved(err) || d.entities.Size() != 0 {
		t.Errorf("%v, %d in memory", err, d.entities.Size())
	}
	w.disk[key] = 7 // another node changed it
	own.SetOwned(group, true)
	if sum := add(t, d, key, 1); sum != 8 {
		t.Errorf("%d after the group came back", sum)
	}
}

// TestMovedRowsAreNoFailure checks that an owner whose rows are being moved neither rests nor logs.
func TestMovedRowsAreNoFailure(t *testing.T) {
	var log bytes.Buffer
	_, d, w := start(t, slog.New(slog.NewTextHandler(&log, nil)))
	w.loading = partition.ErrMoved
	if _, err := d.Do(t.Context(), "k", 1, 0); !fault.Is(err, fault.MovedAway) {
		t.Error(err)
	}
	w.mu.Lock()
	w.loading = nil
	w.mu.Unlock()
	if sum := add(t, d, "k", 1); sum != 1 || log.Len() != 0 {
		t.Errorf("%d, logged %q", sum, &log)
	}
}

// TestDamageIsSaidWhileItsOwnerRests checks that each reader of damaged data gets that error and
// not BusyError. The disk is read once per rest, which doubles, and the owner logs nothing.
func TestDamageIsSaidWhileItsOwnerRests(t *testing.T) {
	var log bytes.Buffer
	var now atomic.Int64
	w := &world{disk: map[string]int{"k": 5}, loading: fault.New(fault.DataDamaged, "The row is damaged")}
	e := New(Options{Now: func() time.Time { return time.UnixMilli(now.Load()) }, IsDiskFull: w.full.Load, MaxInFlight: 1000, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(func() { e.Stop(time.Second) })
	d := e.NewDirectory(func(string) Entity { return &counter{world: w} })
	for loads, rest := range []int64{20, 40, 80} {
		for at := range rest {
			_, err := d.Do(t.Context(), "k", 1, 0)
			if !fault.Is(err, fault.DataDamaged) || w.loads != loads+1 {
				t.Fatalf("%d ms into the rest: %v, read %d times", at, err, w.loads)
			}
			now.Add(1)
		}
	}
	w.loading = nil
	if sum := add(t, d, "k", 1); sum != 6 || log.Len() != 0 {
		t.Errorf("%d, logged %q", sum, &log)
	}
}
