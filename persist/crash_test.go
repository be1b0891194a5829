package persist

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/testutil/iterations"
)

// clones is how many crashes a test simulates, and moreClones is the variable that raises it.
const (
	clones     = 80
	moreClones = "CRASH_CLONES"
)

// promise is what was acknowledged to one inbox's writer, for the crash tests. Ids above acked may
// exist or not; everything below dropped must be gone.
type promise struct {
	addr           string
	acked, dropped atomic.Int64
	trying         atomic.Int64 // dropping up to this id has begun
	book           *calendar.Book
}

// meet adds the meeting of message id, and the change of the previous meeting, to the batch of that
// message.
func (p *promise) meet(r *inbox.Rows, id int64) {
	r.Profile.HasCalendar = true
	for sequence, of := range []int64{id, id - 1} {
		if sequence > 0 && p.book.Meeting(of) == nil {
			continue
		}
		m := &calendar.Meeting{ID: of, UpdatedAt: at(int(id)), Version: int64(sequence)}
		m.UID, m.Title, m.Sequence = fmt.Sprint(of, "@far.test"), fmt.Sprint("Meeting ", of, " of ", p.addr), sequence
		// As after a CANCEL of one occurrence before the REQUEST, then after the invitation to
		// another occurrence.
		m.OnlyCancelled, m.CancelledRevision = sequence == 0, &icalendar.Revision{Sequence: sequence}
		m.OccurrenceRevisions = []calendar.OccurrenceRevision{{RecurrenceID: at(int(of)), Sequence: sequence, Detail: &calendar.OccurrenceDetail{Description: m.Title}}}
		p.book = p.book.WithMeeting(m, inbox.MeetingBytes(m))
		r.PutMeetings = append(r.PutMeetings, p.book.Meeting(of))
	}
	r.Calendar = p.book
}

// body returns the bytes of message id: every thirteenth is a blob file.
func body(addr string, id int64) string {
	n := 100
	if id%13 == 0 {
		n = blobOver + 1
	}
	return strings.Repeat(fmt.Sprintf("%s %d|", addr, id), n/10)[:n]
}

// turns hands out commits, so that at each crash writers have commits in flight, and pause while
// the outcome is read.
type turns struct {
	mu          sync.Mutex
	moved       sync.Cond
	taken, left int
	over        bool
}

func newTurns() *turns {
	t := &turns{}
	t.moved.L = &t.mu
	return t
}

// next waits for a turn; false ends the writer.
func (t *turns) next() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.left == 0 && !t.over {
		t.moved.Wait()
	}
	t.left--
	t.taken++
	t.moved.Broadcast()
	return !t.over
}

// give allows n more turns and returns when all except the last few are taken.
func (t *turns) give(n, few int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left += n
	t.moved.Broadcast()
	for t.left > few {
		t.moved.Wait()
	}
}

func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.moved.Broadcast()
}

// work receives and drops messages in one inbox, one turn each.
func (p *promise) work(t *testing.T, s *Store, turns *turns) {
	for id := int64(1); turns.next(); id++ {
		r := mail(p.addr, id, body(p.addr, id))
		if id > 1 {
			r.DueFrom = at(int(id - 1))
		}
		r.DueTo = at(int(id))
		p.meet(r, id)
		if err := s.CommitInbox(r); err != nil {
			t.Error(err)
			return
		}
		p.acked.Store(id)
		if id%20 == 0 {
			p.drop(t, s, id-10)
		}
	}
}

func (p *promise) drop(t *testing.T, s *Store, upTo int64) {
	var gone []*inbox.Message
	var over []int64
	for id := p.dropped.Load() + 1; id <= upTo; id++ {
		gone, over = append(gone, &inbox.Message{ID: id}), append(over, id)
	}
	p.trying.Store(upTo)
	p.book = p.book.WithoutMeetings(over)
	if err := s.CommitInbox(&inbox.Rows{Address: p.addr, DropMessages: gone, Calendar: p.book, DropMeetings: over}); err != nil {
		t.Error(err)
		return
	}
	p.dropped.Store(upTo)
}

// seen is a promise at the moment of a crash.
type seen struct {
	addr                   string
	acked, dropped, trying int64
}

// check compares a store opened after a crash with what was promised before it.
func (want seen) check(s *Store) error {
	st, err := s.LoadInbox(want.addr)
	if err != nil {
		return err
	}
	if st.LastID < want.acked || int64(st.LastEvent) != st.LastID {
		return fmt.Errorf("%s ends at %d (event %d), %d was acknowledged", want.addr, st.LastID, st.LastEvent, want.acked)
	}
	first := st.LastID + 1
	if len(st.Messages) > 0 {
		first = st.Messages[0].ID
	}
	if first <= want.dropped || first > want.trying+1 {
		return fmt.Errorf("%s begins at %d; %d were dropped, %d at most", want.addr, first, want.dropped, want.trying)
	}
	for i, m := range st.Messages {
		if m.ID != first+int64(i) {
			return fmt.Errorf("%s: message %d has id %d, not %d", want.addr, i, m.ID, first+int64(i))
		}
	}
	if err := want.checkMeetings(st, first); err != nil {
		return err
	}
	for id := int64(1); id <= st.LastID; id++ {
		if err := checkWhole(s, want.addr, id, id >= first); err != nil {
			return err
		}
	}
	return nil
}

// checkMeetings checks that each message has its meeting, as the next message has changed it, and
// that no other meeting exists: a message and its meetings are in one batch.
func (want seen) checkMeetings(st *inbox.State, first int64) error {
	b := st.Calendar
	if b == nil {
		b = new(calendar.Book)
	}
	if b.LastID != st.LastID || len(b.DamagedIDs) > 0 || int64(len(b.Meetings)) != st.LastID+1-first {
		return fmt.Errorf("%s: %d meetings up to %d, damaged %d; mails %d to %d", want.addr, len(b.Meetings), b.LastID, b.DamagedIDs, first, st.LastID)
	}
	for i, m := range b.Meetings {
		id, sequence := first+int64(i), 1
		if id == st.LastID {
			sequence = 0
		}
		if m.ID != id || m.Sequence != sequence || m.UID != fmt.Sprint(id, "@far.test") || m.Title != fmt.Sprint("Meeting ", id, " of ", want.addr) {
			return fmt.Errorf("%s: meeting %d came back as %d, %q, SEQUENCE %d, want %d", want.addr, id, m.ID, m.Title, m.Sequence, sequence)
		}
		if m.OnlyCancelled != (sequence == 0) || m.CancelledRevision == nil || m.CancelledRevision.Sequence != sequence || len(m.OccurrenceRevisions) != 1 || m.OccurrenceRevisions[0].Detail.Description != m.Title {
			return fmt.Errorf("%s: of meeting %d came back %v, %v, %v", want.addr, id, m.OnlyCancelled, m.CancelledRevision, m.OccurrenceRevisions)
		}
	}
	return nil
}

// checkWhole checks that a message is stored completely or not at all.
func checkWhole(s *Store, addr string, id int64, there bool) error {
	c, err := s.ReadContent(addr, id)
	if err != nil {
		return err
	}
	raw, err := s.ReadRaw(addr, id)
	if err != nil {
		return err
	}
	want := mail(addr, id, body(addr, id))
	switch {
	case !there && (c != nil || raw != nil):
		return fmt.Errorf("%s: dropped message %d has left something", addr, id)
	case there && (!reflect.DeepEqual(c, want.StoreMessages[0].Content) || string(raw) != body(addr, id)):
		return fmt.Errorf("%s: message %d came back as %.60v and %d bytes", addr, id, c, len(raw))
	}
	return nil
}

// checkRest checks what must be consistent over all inboxes: due index, outbox, blob files.
func checkRest(s *Store, fs vfs.FS, wants []seen) error {
	due, _, err := s.DueInboxes(at(1<<40), 100)
	if err != nil {
		return err
	}
	events, err := s.Outbox(1 << 20)
	if err != nil {
		return err
	}
	started, total, blobs := 0, 0, int64(0)
	for _, w := range wants {
		st, err := s.LoadInbox(w.addr)
		if err != nil {
			return err
		}
		if st.LastID > 0 {
			started++
		}
		total += int(st.LastID)
		for _, m := range st.Messages {
			if m.ID%13 == 0 {
				blobs++
			}
		}
	}
	if len(due) != started || len(events) != total {
		return fmt.Errorf("%d due entries for %d inboxes, %d events for %d mails", len(due), started, len(events), total)
	}
	if err := s.Close(); err != nil { // the sweep has ended
		return err
	}
	files, err := fs.List(s.blobFiles.dir())
	if err != nil || int64(len(files)) != blobs {
		return fmt.Errorf("%d blob files, %d registered: %v", len(files), blobs, err)
	}
	return nil
}

// TestCrashKeepsWhatWasAcknowledged runs writers and clones the disk as a power loss would leave
// it, with none, half or all of the unsynced bytes.
func TestCrashKeepsWhatWasAcknowledged(t *testing.T) {
	const perRun = 8 // an inbox's history is replayed at each clone, so it stays short
	for seed := range iterations.GroupedRuns(t, moreClones, clones, perRun) {
		crashRun(t, seed, perRun)
		if t.Failed() {
			return
		}
	}
}

func crashRun(t *testing.T, seed uint64, n int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	fs := vfs.NewCrashableMem()
	o := options(fs)
	o.MemTableBytes = 256 << 10 // so that flushes and compactions run
	s, err := Open(folder, o)
	must(t, err)
	promises := make([]*promise, 4)
	for i := range promises {
		promises[i] = &promise{addr: fmt.Sprintf("inbox%d@example.org", i)}
	}
	turns := newTurns()
	var writers sync.WaitGroup
	for _, p := range promises {
		writers.Go(func() { p.work(t, s, turns) })
	}
	defer func() {
		turns.end()
		writers.Wait()
		closeStore(t, s)
	}()
	for i := range n {
		percent := []int{0, 50, 100}[i%3]
		turns.give(1+rng.IntN(24), rng.IntN(3))
		wants := make([]seen, len(promises))
		for j, p := range promises {
			wants[j] = seen{p.addr, p.acked.Load(), p.dropped.Load(), 0}
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		for j, p := range promises {
			wants[j].trying = p.trying.Load()
		}
		if err := recovered(crashed, wants); err != nil {
			t.Errorf("seed %d, clone %d with %d%% of the unsynced bytes: %v", seed, i, percent, err)
			return
		}
	}
}

func recovered(fs *vfs.MemFS, wants []seen) error {
	s, err := Open(folder, options(fs))
	if err != nil {
		return err
	}
	for _, want := range wants {
		if err := want.check(s); err != nil {
			return err
		}
	}
	return checkRest(s, fs, wants)
}
