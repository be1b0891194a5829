package persist

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// receive makes the rows of an ordinary 2 KB message with twenty headers.
func receive(addr string, id int64, raw []byte) *inbox.Rows {
	r := mail(addr, id, "")
	c := r.StoreMessages[0].Content
	c.Doc.Text = string(raw[:700])
	c.Doc.To = []message.Mailbox{{Email: addr}}
	for i := range 20 {
		c.Doc.Headers = append(c.Doc.Headers, message.Header{Name: fmt.Sprint("X-Header-", i), Value: string(raw[40*i : 40*i+40])})
	}
	r.StoreMessages[0].Raw = raw
	return r
}

// BenchmarkCommitReceive commits 2 KB messages with an fsync each, from parallel writers with one
// inbox each, in a real folder.
func BenchmarkCommitReceive(b *testing.B) {
	for _, writers := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) { benchReceive(b, writers) })
	}
}

func benchReceive(b *testing.B, writers int) {
	s, err := Open(filepath.Join(b.TempDir(), "data"), Options{Logger: quiet})
	must(b, err)
	defer closeStore(b, s)
	raw := make([]byte, 2048)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(raw)
	for i := range raw {
		raw[i] = ' ' + raw[i]%95
	}
	waits := hdrhistogram.New(1, 60_000_000, 3)
	var mu sync.Mutex
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for n := range writers {
		group.Go(func() {
			own := hdrhistogram.New(1, 60_000_000, 3)
			addr := fmt.Sprintf("bench%d@example.org", n)
			r := receive(addr, 1, raw)
			for id := int64(1); left.Add(-1) >= 0; id++ {
				r.Profile.LastID, r.PutMessages[0].ID, r.StoreMessages[0].ID, r.PublicEvents[0].SequenceNumber = id, id, id, uint64(id)
				began := time.Now()
				if err := s.CommitInbox(r); err != nil {
					b.Error(err)
					return
				}
				_ = own.RecordValue(time.Since(began).Microseconds())
			}
			mu.Lock()
			defer mu.Unlock()
			waits.Merge(own)
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "mails/s")
	b.ReportMetric(float64(waits.ValueAtQuantile(50)), "p50-µs")
	b.ReportMetric(float64(waits.ValueAtQuantile(99)), "p99-µs")
}

// BenchmarkEncodeReceive measures the part of a commit before Pebble: building its batch.
func BenchmarkEncodeReceive(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "data"), Options{Logger: quiet})
	must(b, err)
	defer closeStore(b, s)
	r := receive("bench@example.org", 1, make([]byte, 2048))
	b.ReportAllocs()
	for b.Loop() {
		err := s.fillBatch(func(w *batchWriter) {
			s.putInbox(w, r, nil, nil)
			w.moveDue(r)
			w.outbox(r.PublicEvents)
		}, func(*pebble.Batch) error { return nil })
		must(b, err)
	}
}

// BenchmarkLoadInbox activates an inbox of a thousand messages.
func BenchmarkLoadInbox(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "data"), Options{Logger: quiet})
	must(b, err)
	defer closeStore(b, s)
	for id := range int64(1000) {
		must(b, s.CommitInbox(receive("bench@example.org", id+1, make([]byte, 2048))))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.LoadInbox("bench@example.org"); err != nil {
			b.Fatal(err)
		}
	}
}

// queued fills a folder with n messages to be sent, one per inbox, with due times spread out.
func queued(b *testing.B, s *Store, n int) {
	var group sync.WaitGroup
	for w := range 64 {
		group.Go(func() {
			for i := w; i < n; i += 64 {
				addr := fmt.Sprintf("bench%d@example.org", i)
				r := sent(addr, 1, at(i*7919%n))
				r.DueTo = at(i * 104_729 % n)
				r.StoreMessages = nil
				if err := s.CommitInbox(r); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	must(b, s.db.Flush())
}

// BenchmarkDueIndexes reads what a start reads with 100,000 waiting messages, at once and in the
// pages of a window. It also reads what a step of retention reads when nothing is due, and when
// much is due.
func BenchmarkDueIndexes(b *testing.B) {
	const n = 100_000
	s, err := Open(filepath.Join(b.TempDir(), "data"), Options{Logger: quiet})
	must(b, err)
	defer closeStore(b, s)
	queued(b, s, n)
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			seen := 0
			must(b, s.EachQueued(func(inbox.QueueEntry) { seen++ }))
			if seen != n {
				b.Fatal(seen)
			}
		}
	})
	b.Run("pages", func(b *testing.B) {
		for b.Loop() {
			var from inbox.QueueEntry
			seen := 0
			for more := true; more; {
				var page []inbox.QueueEntry
				page, more, err = s.MailQueue(from, 2048)
				must(b, err)
				from = page[len(page)-1]
				seen += len(page)
			}
			if seen != n {
				b.Fatal(seen)
			}
		}
	})
	for _, c := range []struct {
		name  string
		until int
	}{{"nothing due", -1}, {"much due", n}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := s.DueInboxes(at(c.until), 256); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
