package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"inboxd/persist/disk"
)

// blobOver is the size above which bytes go to a file of their own: values of megabytes
// in the log stall every other commit.
const blobOver = 256 << 10

// blobName is a random number that is never given twice; its file bears it in hex.
type blobName uint64

func (n blobName) file() string { return fmt.Sprintf("%016x", uint64(n)) }

// blobRecord is the registry row of a blob file. Integer keys: append only; never reorder.
type blobRecord struct {
	Name blobName `cbor:"1,keyasint"`
	Size int      `cbor:"2,keyasint"`
	Sum  uint64   `cbor:"3,keyasint"` // xxh3 of the file
}

func (s *Store) blobFolder() string { return s.folder.Path(disk.BlobsName) }

func (s *Store) blobPath(n blobName) string { return s.folder.FS.PathJoin(s.blobFolder(), n.file()) }

// writeBlob puts data on disk under a new name. A crash from here to the commit of the
// registry row leaves an orphan, which the next start sweeps.
func (s *Store) writeBlob(data []byte) (blobRecord, error) {
	r := blobRecord{Name: blobName(rand.Uint64()), Size: len(data), Sum: xxh3.Hash(data)}
	if err := disk.WriteFile(s.folder.FS, s.blobFolder(), r.Name.file(), data); err != nil {
		if disk.IsFull(err) {
			s.folder.Space.Hit()
			return r, disk.FullFault(err)
		}
		return r, err
	}
	s.blobs.Add(1)
	return r, nil
}

// removeBlobs removes files whose registry rows are gone, or never came. What stays
// because of an error is an orphan for the next start.
func (s *Store) removeBlobs(names []blobName) {
	for _, n := range names {
		if err := s.folder.FS.Remove(s.blobPath(n)); err != nil {
			s.folder.Log.Seldom(slog.LevelWarn, "storage: blob file not removed", "file", n.file(), "err", err)
			continue
		}
		s.blobs.Add(-1)
	}
}

// readBlob reads the blob registered under key; nil when there is none.
func (s *Store) readBlob(key []byte) ([]byte, error) {
	var r blobRecord
	if found, err := s.get(key, &r); !found || err != nil {
		return nil, err
	}
	data, err := disk.ReadFile(s.folder.FS, s.blobPath(r.Name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		// Dropped between the two reads, or lost.
		if found, err := s.get(key, &r); !found || err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("persist: blob file %s is missing", r.Name.file())
	case err != nil:
		return nil, fmt.Errorf("persist: blob file %s: %w", r.Name.file(), err)
	case len(data) != r.Size || xxh3.Hash(data) != r.Sum:
		return nil, fmt.Errorf("persist: blob file %s is damaged", r.Name.file())
	}
	return data, nil
}

// dropBlobs adds to w the removal of the blobs of these messages, ascending by id.
func (s *Store) dropBlobs(w *writer, addr string, ids []int64) error {
	low := appendMessage(nil, kindBlob, addr, ids[0])
	high := end(appendMessage(nil, kindBlob, addr, ids[len(ids)-1]))
	return scan(s.db, low, high, func(key, value []byte) error {
		id := int64(binary.BigEndian.Uint64(key[len(key)-9:]))
		if _, found := slices.BinarySearch(ids, id); !found {
			return nil
		}
		var r blobRecord
		if err := decode(value, &r); err != nil {
			return err
		}
		w.delete(key)
		w.dropped = append(w.dropped, r.Name)
		return nil
	})
}

// listBlobs names the files that are there at the start, before any commit can add one.
func (s *Store) listBlobs() ([]string, error) {
	if err := s.folder.FS.MkdirAll(s.blobFolder(), 0o700); err != nil {
		return nil, err
	}
	if err := disk.SyncFolder(s.folder.FS, s.folder.Dir); err != nil {
		return nil, err
	}
	return s.folder.FS.List(s.blobFolder())
}

// sweepBlobs removes those of files that no registry row of the start names: a crash left
// them between writing and commit, or between commit and removal. It reads a snapshot of
// the start, because a row that goes missing now may come back if this process dies before
// its removal is synced.
func (s *Store) sweepBlobs(start *pebble.Snapshot, files []string) {
	defer start.Close()
	var known []string
	err := scan(start, []byte{byte(kindBlob)}, []byte{byte(kindBlob) + 1}, func(_, value []byte) error {
		var r blobRecord
		err := decode(value, &r)
		known = append(known, r.Name.file())
		return err
	})
	if err != nil {
		s.folder.Log.Seldom(slog.LevelError, "storage: orphaned blob files not swept", "err", err)
		return
	}
	slices.Sort(known)
	orphans := 0
	for _, name := range files {
		if _, found := slices.BinarySearch(known, name); found {
			continue
		}
		if err := s.folder.FS.Remove(s.folder.FS.PathJoin(s.blobFolder(), name)); err != nil {
			s.folder.Log.Seldom(slog.LevelWarn, "storage: orphaned blob file not removed", "file", name, "err", err)
			continue
		}
		if !strings.HasSuffix(name, ".tmp") {
			s.blobs.Add(-1)
		}
		orphans++
	}
	if orphans > 0 {
		s.folder.Log.Info("storage: orphaned blob files removed", "count", orphans)
	}
}

// countBlobs counts the finished ones of files.
func countBlobs(files []string) (n int64) {
	for _, name := range files {
		if !strings.HasSuffix(name, ".tmp") {
			n++
		}
	}
	return n
}
