package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"inboxd/internal/partition"
)

// highWaterEvery is how old the high-water file may be while commits go on. A commit after
// a quiet time is noted at once.
const highWaterEvery = 750 * time.Millisecond

// positions counts the synced commits of each partition. Every such commit writes its
// partition's new position in its own batch, so the sum of what a start finds is the
// number of commits that are really there: the engine's own sequence number can't say
// that, because a flush records it in the manifest ahead of the synced log.
type positions struct {
	parts [partition.Count]struct {
		// mu orders the positions of a partition as their batches are ordered in the log.
		mu sync.Mutex
		n  uint64
	}
	// acked is how many commits are known to be on disk. It may trail the disk, never lead.
	acked atomic.Uint64
	// moved has an entry when acked moved since it was last taken out.
	moved chan struct{}
}

// ack counts a commit that is on disk.
func (p *positions) ack() {
	p.acked.Add(1)
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

// load reads the positions and returns their sum.
func (p *positions) load(db *pebble.DB) (uint64, error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{byte(kindPosition)}, UpperBound: []byte{byte(kindPosition) + 1}})
	if err != nil {
		return 0, err
	}
	sum := uint64(0)
	for ok := it.First(); ok; ok = it.Next() {
		key, value := it.Key(), it.Value()
		if len(key) != prefixLen || len(value) != 9 || value[0] != recordVersion {
			return 0, errors.Join(fmt.Errorf("damaged position %x", key), it.Close())
		}
		n := binary.BigEndian.Uint64(value[1:])
		p.parts[binary.BigEndian.Uint16(key[1:])%partition.Count].n = n
		sum += n
	}
	p.acked.Store(sum)
	return sum, it.Close()
}

// highWater is the content of the high-water file: what a previous run knew to be on disk.
type highWater struct {
	commits uint64
	at      time.Time // wall time of writing, to the millisecond
}

const highWaterForm = "inboxd high-water 1\ncommits %d\ntime %d\n"

func (h highWater) encode() []byte {
	body := fmt.Appendf(nil, highWaterForm, h.commits, h.at.UnixMilli())
	return fmt.Appendf(body, "sum %016x\n", xxh3.Hash(body))
}

// readHighWater returns the zero highWater when there is no file, as on a first start and
// after an operator took it away to go on with what is left.
func (s *Store) readHighWater() (highWater, error) {
	data, err := readFile(s.fs, s.fs.PathJoin(s.dir, nameHighWater))
	if errors.Is(err, os.ErrNotExist) {
		return highWater{}, nil
	}
	var h highWater
	var ms int64
	if err == nil {
		_, err = fmt.Sscanf(string(data), highWaterForm, &h.commits, &ms)
	}
	h.at = time.UnixMilli(ms).UTC()
	if err != nil || !bytes.Equal(h.encode(), data) {
		return h, fmt.Errorf("the file %s in the data folder %s is damaged (remove it to start without its check): %v", nameHighWater, s.dir, err)
	}
	return h, nil
}

// checkHighWater refuses a journal that has lost its end.
func (s *Store) checkHighWater(found uint64) error {
	if found >= s.previous.commits {
		return nil
	}
	return fmt.Errorf("the data folder %s has lost data: its journal ends at commit %d, but commit %d was on disk at %s. "+
		"Restore a backup, or remove the file %s to go on with what is left",
		s.dir, found, s.previous.commits, s.previous.at.Format(time.RFC3339), nameHighWater)
}

// keepHighWater writes the file while commits come, until stop; Close writes the last one.
// A failure is logged only: the file detects a loss, it does not prevent one.
func (s *Store) keepHighWater(stop <-chan struct{}) {
	for {
		for s.positions.acked.Load() != s.written {
			s.writeHighWater()
			select {
			case <-stop:
				return
			case <-time.After(highWaterEvery):
			}
		}
		select {
		case <-stop:
			return
		case <-s.positions.moved:
		}
	}
}

func (s *Store) writeHighWater() {
	acked := s.positions.acked.Load()
	if acked == s.written {
		return
	}
	if err := writeFile(s.fs, s.dir, nameHighWater, highWater{acked, s.now()}.encode()); err != nil {
		s.report.seldom(slog.LevelError, "storage: high-water file not written", "err", err)
		return
	}
	s.written = acked
}
