package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"inboxd/internal/fault"
	"inboxd/internal/partition"
)

// writer gathers one atomic batch. Writers are pooled; one goroutine uses one at a time.
type writer struct {
	batch *pebble.Batch
	key   []byte       // reused for each key; the batch copies it
	value bytes.Buffer // reused for each record; the batch copies it
	rec   records      // reused, for encoding makes each escape
	err   error        // the first one

	made    []blobName // files the batch refers to, on disk already
	dropped []blobName // files to remove once the batch is on disk
}

// records are the records that every mail writes.
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

func (s *Store) newWriter() *writer {
	w := writers.Get().(*writer)
	w.batch = s.db.NewBatch()
	return w
}

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

// put encodes a record, a pointer to a record struct.
func (w *writer) put(key []byte, rec any) {
	w.value.Reset()
	w.note(encode(&w.value, rec))
	w.set(key, w.value.Bytes())
}

func (w *writer) delete(key []byte) { w.note(w.batch.Delete(key, nil)) }

// dropOnce deletes a row that was set exactly once since it was last not there. The two cancel
// each other out where they meet, mostly in memory, and leave no tombstone to be carried to
// the bottom of the tree. Set twice, the row could come back as it was before.
func (w *writer) dropOnce(key []byte) { w.note(w.batch.SingleDelete(key, nil)) }

func (w *writer) deleteRange(from, to []byte) { w.note(w.batch.DeleteRange(from, to, nil)) }

// sealedHead is the length of [version][xxh3 of the bytes], which precedes raw bytes.
const sealedHead = 1 + 8

// setSealed stores raw bytes with their checksum.
func (w *writer) setSealed(key, data []byte) {
	op := w.batch.SetDeferred(len(key), sealedHead+len(data))
	copy(op.Key, key)
	op.Value[0] = recordVersion
	binary.BigEndian.PutUint64(op.Value[1:], xxh3.Hash(data))
	copy(op.Value[sealedHead:], data)
	w.note(op.Finish())
}

// commit puts the batch of partition p on disk as one. On return it is there whole, or an
// error says that it is not there at all; when the disk leaves that unknown, the process
// ends. The partition's position goes with it.
func (s *Store) commit(p partition.ID, w *writer) error {
	if w.err != nil {
		s.removeBlobs(w.made)
		return unavailable(w.err)
	}
	s.apply(p, w.batch)
	s.removeBlobs(w.dropped)
	return nil
}

func (s *Store) apply(p partition.ID, b *pebble.Batch) {
	// The engine panics when its log has failed already; an actor's supervisor would catch
	// that and go on with a dead store.
	defer func() {
		if r := recover(); r != nil {
			s.folder.Log.Fatal("commit", r)
		}
	}()
	size := uint64(b.Len())
	if err := s.enqueue(p, b); err != nil {
		s.folder.Log.Fatal("commit", err)
	}
	if syncCommits {
		s.waiting.Add(1)
		err := b.SyncWait()
		s.waiting.Add(-1)
		if err != nil {
			s.folder.Log.Fatal("log sync", err)
		}
	}
	s.folder.Commits.Ack()
	s.bytes.Add(size)
}

// A sync costs the cores as much as a commit does. While more than gatherFrom commits wait
// for one together, those that come within gatherFor share the next: it makes each of them
// a little later and all of them done sooner. One writer, or a few, never wait for others.
const (
	gatherFrom = 16
	gatherFor  = time.Millisecond
)

// gather is how long the engine rests after a sync.
func (s *Store) gather() time.Duration {
	if s.waiting.Load() < gatherFrom {
		return 0
	}
	return gatherFor
}

// enqueue numbers the batch within its partition and hands it to the log in that order,
// without waiting for the disk.
func (s *Store) enqueue(p partition.ID, b *pebble.Batch) error {
	part := &s.positions[p]
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
	if syncCommits {
		return s.db.ApplyNoSyncWait(b, pebble.Sync)
	}
	return s.db.Apply(b, pebble.NoSync)
}

// commitLater puts a batch in order behind all commits so far but does not wait for the
// disk: a crash may take it back, never one before it.
func (s *Store) commitLater(w *writer) error {
	if w.err != nil {
		return unavailable(w.err)
	}
	defer func() {
		if r := recover(); r != nil {
			s.folder.Log.Fatal("commit", r)
		}
	}()
	if err := s.db.Apply(w.batch, pebble.NoSync); err != nil {
		s.folder.Log.Fatal("commit", err)
	}
	return nil
}

// syncLog puts everything that is in the log on disk.
func (s *Store) syncLog() {
	b := s.db.NewBatch()
	defer func() {
		if r := recover(); r != nil {
			s.folder.Log.Fatal("log sync", r)
		}
	}()
	opts := pebble.Sync
	if !syncCommits {
		opts = pebble.NoSync
	}
	if err := errors.Join(b.LogData([]byte{recordVersion}, nil), s.db.Apply(b, opts), b.Close()); err != nil {
		s.folder.Log.Fatal("log sync", err)
	}
}

// unavailable classifies an error of a write, unless it is classified already.
func unavailable(err error) error {
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.Unavailable, "The change could not be stored, try again", err)
}
