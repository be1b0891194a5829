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

// batchWriter builds one atomic batch. Writers are pooled; one goroutine uses a writer at a time.
type batchWriter struct {
	batch    *pebble.Batch
	keyBuf   []byte        // reused for each key; the batch copies it
	valueBuf bytes.Buffer  // reused for each record; the batch copies it
	rec      recordBuffers // reused, because encoding makes each record escape to the heap
	firstErr error         // the first one
}

// recordBuffers are the records that every message writes. The writer's goroutine owns them.
type recordBuffers struct {
	profile profileRecord
	message messageRecord
	content contentRecord
	auth    authRecord // of content
	public  publicRecord
}

var writerPool = sync.Pool{New: func() any { return new(batchWriter) }}

// keepBuffer is the largest buffer a pooled writer keeps.
const keepBuffer = 64 << 10

func (w *batchWriter) returnToPool() {
	if err := w.batch.Close(); err != nil {
		panic(err) // closing a batch without iterators cannot fail
	}
	key, value := w.keyBuf, w.valueBuf
	*w = batchWriter{keyBuf: key[:0]}
	if value.Cap() <= keepBuffer {
		value.Reset()
		w.valueBuf = value
	}
	writerPool.Put(w)
}

func (w *batchWriter) noteError(err error) {
	if w.firstErr == nil {
		w.firstErr = err
	}
}

// setKey stores a finished value. Key and value may be reused afterwards.
func (w *batchWriter) setKey(key, value []byte) {
	w.noteError(w.batch.Set(key, value, nil))
}

// markKey stores a row whose key holds all of its information.
func (w *batchWriter) markKey(key []byte) { w.setKey(key, []byte{recordVersion}) }

// putRecord encodes a record, a pointer to a record struct.
func (w *batchWriter) putRecord(key []byte, rec any) {
	w.valueBuf.Reset()
	w.noteError(encodeRecord(&w.valueBuf, rec))
	w.setKey(key, w.valueBuf.Bytes())
}

// deleteKey writes a plain tombstone, never Pebble's SINGLEDEL. A compaction that drops a SINGLEDEL and
// then reads a damaged block panics in a goroutine of Pebble, and again after each start.
func (w *batchWriter) deleteKey(key []byte) { w.noteError(w.batch.Delete(key, nil)) }

func (w *batchWriter) deleteRange(keys keyRange) {
	w.noteError(w.batch.DeleteRange(keys.from, keys.to, nil))
}

// checksumHead is the length of [version][xxh3 of the bytes], which precedes raw bytes.
const checksumHead = 1 + 8

// setRaw stores raw bytes with their checksum.
func (w *batchWriter) setRaw(key, data []byte) {
	op := w.batch.SetDeferred(len(key), checksumHead+len(data))
	copy(op.Key, key)
	op.Value[0] = recordVersion
	binary.BigEndian.PutUint64(op.Value[1:], xxh3.Hash(data))
	copy(op.Value[checksumHead:], data)
	w.noteError(op.Finish())
}

// readRaw copies bytes that setRaw wrote.
func readRaw(value []byte) ([]byte, error) {
	raw, err := rawOf(value)
	if err != nil {
		return nil, err
	}
	return append([]byte{}, raw...), nil
}

// rawOf returns the raw bytes within the row, without a copy, after it has verified the checksum.
func rawOf(value []byte) ([]byte, error) {
	if err := checkVersion(value); err != nil {
		return nil, err
	}
	if len(value) < checksumHead || xxh3.Hash(value[checksumHead:]) != binary.BigEndian.Uint64(value[1:]) {
		return nil, errors.New("the bytes are damaged")
	}
	return value[checksumHead:], nil
}

// commitUpdate commits what fill writes as one synced batch of partition p. adds is the approximate
// number of bytes that the batch adds; the commit is refused if there is no room for them. 0 means
// that the commit must not be refused for lack of space. On nil the whole batch is durable; on an
// error nothing of it is stored. If the outcome is ambiguous, the process ends. The batch also
// stores the new position of the partition.
func (e *storageEngine) commitUpdate(p partition.ID, adds int64, fill func(*batchWriter)) error {
	return e.runCall(func() error { return e.updateInside(p, adds, fill) })
}

// batchOf calls commit for a batch of partition p if this node owns p. After a group was released,
// Drain waits for the commits that began before.
func (e *storageEngine) batchOf(p partition.ID, commit func() error) error {
	gate := &e.groupGates[p.Group()]
	gate.RLock()
	defer gate.RUnlock()
	if err := e.owner.CheckPartition(p); err != nil {
		pastOwner(e.owner.EverOwned(p.Group()), p)
		return err
	}
	return commit()
}

// DrainGroup returns when every batch of group g that was accepted before the call is durable. A caller
// that releases a group changes the owner first, so that no further batch is accepted.
func (e *storageEngine) DrainGroup(g partition.Group) error {
	e.groupGates[g].Lock()
	defer e.groupGates[g].Unlock()
	return e.syncLog()
}

// updateInside is update within a call.
func (e *storageEngine) updateInside(p partition.ID, adds int64, fill func(*batchWriter)) error {
	return e.batchOf(p, func() error { return e.updateOwn(p, adds, fill) })
}

// updateOwn is updateInside for a partition of this node.
func (e *storageEngine) updateOwn(p partition.ID, adds int64, fill func(*batchWriter)) error {
	if err := e.folder.BeginCommit(adds); err != nil {
		return err
	}
	e.syncsRunning.Add(1)
	defer e.syncsRunning.Add(-1)
	return e.fillBatch(fill, func(b *pebble.Batch) error {
		watchBatch(p, b)
		began := time.Now()
		defer func() { e.commitSeconds.ObserveBetween(began, time.Now()) }()
		size := uint64(b.Len())
		if err := e.enqueue(p, b); err != nil {
			return err
		}
		if disk.SyncCommits {
			e.commitsWaiting.Add(1)
			err := b.SyncWait()
			e.commitsWaiting.Add(-1)
			if err != nil {
				return err
			}
		}
		e.folder.Commits.Ack()
		e.folder.WriteProbe.NoteWrite()
		e.bytesSynced.Add(size)
		return nil
	})
}

// updateLater appends a batch of partition p to the log after all commits so far, but does not wait
// for the disk. A crash may lose this batch, but never keeps it without those before it. Work that
// depends on the batch waits until its position is Reached.
func (e *storageEngine) updateLater(p partition.ID, fill func(*batchWriter)) error {
	return e.runCall(func() error {
		return e.batchOf(p, func() error {
			return e.fillBatch(fill, func(b *pebble.Batch) error {
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

// updateEachLater is updateLater for changes in many partitions. Each run of adjacent items of the
// same partition becomes one batch.
func updateEachLater[T any](e *storageEngine, items []T, of func(*T) partition.ID, change func(*batchWriter, *T)) error {
	for len(items) > 0 {
		p, n := of(&items[0]), 1
		for n < len(items) && of(&items[n]) == p {
			n++
		}
		err := e.updateLater(p, func(w *batchWriter) {
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

// watchBatch is called with each batch and its partition. Tests check that the rows belong to it.
var watchBatch = func(partition.ID, *pebble.Batch) {}

// syncLog makes everything in the log durable.
func (e *storageEngine) syncLog() error {
	opts := pebble.Sync
	if !disk.SyncCommits {
		opts = pebble.NoSync
	}
	return e.runCall(func() error {
		return e.fillBatch(func(w *batchWriter) { w.noteError(w.batch.LogData([]byte{recordVersion}, nil)) },
			func(b *pebble.Batch) error { return e.db.Apply(b, opts) })
	})
}

// fillBatch fills a batch and applies it. If apply fails, the batch may or may not be on disk, and the
// process ends.
func (e *storageEngine) fillBatch(fill func(*batchWriter), apply func(*pebble.Batch) error) error {
	w := writerPool.Get().(*batchWriter)
	w.batch = e.db.NewBatch()
	defer w.returnToPool()
	if fill(w); w.firstErr != nil {
		return unavailableError(w.firstErr)
	}
	// Pebble panics if its log has failed before. An actor's supervisor would recover from that panic
	// and continue with a store that can no longer commit.
	defer func() {
		if r := recover(); r != nil {
			e.folder.Log.ExitFatal("commit", r)
		}
	}()
	if err := apply(w.batch); err != nil {
		e.folder.Log.ExitFatal("commit", err)
	}
	return nil
}

// commitPositions counts the synced commits of each partition. Every such commit writes the new
// position of its partition in its own batch. The sum of the positions at start is therefore the
// number of commits on disk. Pebble's sequence number is unsuitable for this, because a flush
// records it in the manifest ahead of the synced log.
type commitPositions [partition.NumPartitions]struct {
	// mu guards n and given, and orders the positions of a partition as their batches are
	// ordered in the log.
	mu sync.Mutex
	n  uint64

	given uint64 // batches since the start of the process, including those of updateLater
}

// loadPositions reads the positions and returns their sum.
func (p *commitPositions) loadPositions(db *pebble.DB) (uint64, error) {
	sum := uint64(0)
	err := scanKeys(db, ofKind(kindPosition), func(key, value []byte) error {
		if len(key) != prefixLen || len(value) != 9 || value[0] != recordVersion {
			return fmt.Errorf("damaged position %x", key)
		}
		n := binary.BigEndian.Uint64(value[1:])
		p[binary.BigEndian.Uint16(key[1:])%partition.NumPartitions].n = n
		sum += n
		return nil
	})
	return sum, err
}

// enqueue numbers the batch within its partition and appends it to the log in that order,
// without waiting for the disk.
func (e *storageEngine) enqueue(p partition.ID, b *pebble.Batch) error {
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

// WritePosition returns a position after everything that was written to the partition before the call.
func (e *storageEngine) WritePosition(p partition.ID) partition.Position {
	part := &e.positions[p]
	part.mu.Lock()
	defer part.mu.Unlock()
	return partition.Position{Partition: p, N: part.given}
}

// WaitForPosition returns nil once a crash can no longer keep later writes without the writes
// before the position. All partitions of a node share one ordered log, so it never waits for the
// disk.
func (e *storageEngine) WaitForPosition(at partition.Position) error {
	if e.WritePosition(at.Partition).N < at.N {
		return fault.New(fault.TemporarilyUnavailable, "This depends on data that is not stored here yet, try again")
	}
	return nil
}

// unavailableError classifies a write error as Unavailable, unless it is already classified.
func unavailableError(err error) error {
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.TemporarilyUnavailable, "The change could not be stored, try again", err)
}
