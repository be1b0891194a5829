package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/persist/disk"
)

// writer gathers one atomic batch. Writers are pooled; one goroutine has one at a time.
type writer struct {
	batch *pebble.Batch
	key   []byte       // reused for each key; the batch copies it
	value bytes.Buffer // reused for each record; the batch copies it
	rec   records      // reused, for encoding makes each escape
	err   error        // the first one
}

// records are the records that every mail writes. The writer's goroutine has them.
type records struct {
	profile profileRecord
	message messageRecord
	content contentRecord
	auth    authRecord // of content
	public  publicRecord
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// keepBuffer is the largest buffer a pooled writer keeps.
const keepBuffer = 64 << 10

func (w *writer) release() {
	if err := w.batch.Close(); err != nil {
		panic(err) // a batch without iterators has nothing to fail
	}
	key, value := w.key, w.value
	*w = writer{key: key[:0]}
	if value.Cap() <= keepBuffer {
		value.Reset()
		w.value = value
	}
	writers.Put(w)
}

func (w *writer) note(err error) {
	if w.err == nil {
		w.err = err
	}
}

// set stores a finished value. Key and value may be reused afterwards.
func (w *writer) set(key, value []byte) {
	w.note(w.batch.Set(key, value, nil))
}

// mark stores a row that says all by its key.
func (w *writer) mark(key []byte) { w.set(key, []byte{recordVersion}) }

// put encodes a record, a pointer to a record struct.
func (w *writer) put(key []byte, rec any) {
	w.value.Reset()
	w.note(encode(&w.value, rec))
	w.set(key, w.value.Bytes())
}

// delete writes a plain tombstone, never Pebble's single one: a compaction that leaves one of those out and meets a
// damaged block behind it panics, in a goroutine of the engine's and again after each start.
func (w *writer) delete(key []byte) { w.note(w.batch.Delete(key, nil)) }

func (w *writer) deleteRange(keys span) { w.note(w.batch.DeleteRange(keys.from, keys.to, nil)) }

// checksumHead is the length of [version][xxh3 of the bytes], which precedes raw bytes.
const checksumHead = 1 + 8

// setRaw stores raw bytes with their checksum.
func (w *writer) setRaw(key, data []byte) {
	op := w.batch.SetDeferred(len(key), checksumHead+len(data))
	copy(op.Key, key)
	op.Value[0] = recordVersion
	binary.BigEndian.PutUint64(op.Value[1:], xxh3.Hash(data))
	copy(op.Value[checksumHead:], data)
	w.note(op.Finish())
}

// readRaw copies bytes that setRaw wrote.
func readRaw(value []byte) ([]byte, error) {
	raw, err := rawOf(value)
	if err != nil {
		return nil, err
	}
	return append([]byte{}, raw...), nil
}

// rawOf finds them in the row.
func rawOf(value []byte) ([]byte, error) {
	if err := checkVersion(value); err != nil {
		return nil, err
	}
	if len(value) < checksumHead || xxh3.Hash(value[checksumHead:]) != binary.BigEndian.Uint64(value[1:]) {
		return nil, errors.New("the bytes are damaged")
	}
	return value[checksumHead:], nil
}

// update puts what fill writes on disk as one batch of partition p, if there is room for the
// bytes that it adds: about so many; 0 for what must not be refused. On return it is there
// whole, or an error says that it is not there at all; when the disk leaves that unknown, the
// process ends. The partition's position goes with it.
func (e *engine) update(p partition.ID, adds int64, fill func(*writer)) error {
	return e.during(func() error { return e.updateInside(p, adds, fill) })
}

// batchOf makes a call that commits a batch of partition p, if that is this node's. Once a group
// was given away Drain waits for those that were asked before.
func (e *engine) batchOf(p partition.ID, commit func() error) error {
	gate := &e.gates[p.Group()]
	gate.RLock()
	defer gate.RUnlock()
	if err := e.owner.Check(p); err != nil {
		pastOwner(e.owner.Had(p.Group()), p)
		return err
	}
	return commit()
}

// Drain returns when every batch of a group is on disk that was accepted before the call. Whoever
// gives a group away changes the owner first: then there is no other.
func (e *engine) Drain(g partition.Group) error {
	e.gates[g].Lock()
	defer e.gates[g].Unlock()
	return e.syncLog()
}

// updateInside is update within a call.
func (e *engine) updateInside(p partition.ID, adds int64, fill func(*writer)) error {
	return e.batchOf(p, func() error { return e.updateOwn(p, adds, fill) })
}

// updateOwn is updateInside for a partition of this node.
func (e *engine) updateOwn(p partition.ID, adds int64, fill func(*writer)) error {
	if adds > 0 {
		if err := e.folder.Space.Admit(adds); err != nil {
			return err
		}
	}
	if err := e.folder.OursLately(); err != nil {
		return err
	}
	e.busy.Add(1)
	defer e.busy.Add(-1)
	return e.fill(fill, func(b *pebble.Batch) error {
		watchBatch(p, b)
		began := time.Now()
		defer func() { e.commitSeconds.Between(began, time.Now()) }()
		size := uint64(b.Len())
		if err := e.enqueue(p, b); err != nil {
			return err
		}
		if disk.SyncCommits {
			e.waiting.Add(1)
			err := b.SyncWait()
			e.waiting.Add(-1)
			if err != nil {
				return err
			}
		}
		e.folder.Commits.Ack()
		e.folder.Pulse.Beat()
		e.bytes.Add(size)
		return nil
	})
}

// updateLater puts a batch of partition p in order behind all commits so far but does not wait
// for the disk: a crash may take it back, never one before it. What rests on it waits until its
// position is Reached.
func (e *engine) updateLater(p partition.ID, fill func(*writer)) error {
	return e.during(func() error {
		return e.batchOf(p, func() error {
			return e.fill(fill, func(b *pebble.Batch) error {
				watchBatch(p, b)
				part := &e.positions[p]
				part.mu.Lock()
				defer part.mu.Unlock()
				part.given++
				return e.db.Apply(b, pebble.NoSync)
			})
		})
	})
}

// updateEachLater is updateLater for changes in many partitions: a batch for each run of
// neighbours that lie in one.
func updateEachLater[T any](e *engine, items []T, of func(*T) partition.ID, change func(*writer, *T)) error {
	for len(items) > 0 {
		p, n := of(&items[0]), 1
		for n < len(items) && of(&items[n]) == p {
			n++
		}
		err := e.updateLater(p, func(w *writer) {
			for i := range items[:n] {
				change(w, &items[i])
			}
		})
		if err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// watchBatch sees each batch of rows and the partition that it names. Tests compare the two.
var watchBatch = func(partition.ID, *pebble.Batch) {}

// syncLog puts everything that is in the log on disk.
func (e *engine) syncLog() error {
	opts := pebble.Sync
	if !disk.SyncCommits {
		opts = pebble.NoSync
	}
	return e.during(func() error {
		return e.fill(func(w *writer) { w.note(w.batch.LogData([]byte{recordVersion}, nil)) },
			func(b *pebble.Batch) error { return e.db.Apply(b, opts) })
	})
}

// fill has a batch filled and applied. What fails while it is applied leaves open what is on
// disk.
func (e *engine) fill(fill func(*writer), apply func(*pebble.Batch) error) error {
	w := writers.Get().(*writer)
	w.batch = e.db.NewBatch()
	defer w.release()
	if fill(w); w.err != nil {
		return unavailable(w.err)
	}
	// Pebble panics when its log has failed already; an actor's supervisor would catch that
	// and go on with a dead store.
	defer func() {
		if r := recover(); r != nil {
			e.folder.Log.Fatal("commit", r)
		}
	}()
	if err := apply(w.batch); err != nil {
		e.folder.Log.Fatal("commit", err)
	}
	return nil
}

// positions counts the synced commits of each partition. Every such commit writes its
// partition's new position in its own batch, so the sum of what a start finds is the
// number of commits that are really there: the engine's own sequence number can't say
// that, because a flush records it in the manifest ahead of the synced log.
type positions [partition.Count]struct {
	// mu guards n and given, and orders the positions of a partition as their batches are
	// ordered in the log.
	mu sync.Mutex
	n  uint64

	given uint64 // batches of this run, those that nobody waits for too
}

// load reads the positions and returns their sum.
func (p *positions) load(db *pebble.DB) (uint64, error) {
	sum := uint64(0)
	err := scan(db, ofKind(kindPosition), func(key, value []byte) error {
		if len(key) != prefixLen || len(value) != 9 || value[0] != recordVersion {
			return fmt.Errorf("damaged position %x", key)
		}
		n := binary.BigEndian.Uint64(value[1:])
		p[binary.BigEndian.Uint16(key[1:])%partition.Count].n = n
		sum += n
		return nil
	})
	return sum, err
}

// enqueue numbers the batch within its partition and hands it to the log in that order,
// without waiting for the disk.
func (e *engine) enqueue(p partition.ID, b *pebble.Batch) error {
	part := &e.positions[p]
	part.mu.Lock()
	defer part.mu.Unlock()
	op := b.SetDeferred(prefixLen, 9)
	appendPrefix(op.Key[:0], kindPosition, p)
	op.Value[0] = recordVersion
	binary.BigEndian.PutUint64(op.Value[1:], part.n+1)
	if err := op.Finish(); err != nil {
		return err
	}
	part.n++
	part.given++
	if disk.SyncCommits {
		return e.db.ApplyNoSyncWait(b, pebble.Sync)
	}
	return e.db.Apply(b, pebble.NoSync)
}

// Position is behind everything that was written to the partition before the call.
func (e *engine) Position(p partition.ID) partition.Position {
	part := &e.positions[p]
	part.mu.Lock()
	defer part.mu.Unlock()
	return partition.Position{Partition: p, N: part.given}
}

// Reached returns once no crash can keep what is written after it without what is before the
// position. All partitions of a node share one log, so what is in it has been reached.
func (e *engine) Reached(at partition.Position) error {
	if e.Position(at.Partition).N < at.N {
		return fault.New(fault.Unavailable, "This rests on something that is not stored here yet, try again")
	}
	return nil
}

// unavailable classifies an error of a write, unless it is classified already.
func unavailable(err error) error {
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.Unavailable, "The change could not be stored, try again", err)
}
