package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/zeebo/xxh3"

	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

// blobOver is the size in bytes above which data are stored in a separate file: values of megabytes
// in the log stall all other commits.
const blobOver = 256 << 10

// Content types of blob files, the last byte of the registry key. On disk: append only.
const (
	blobContent byte = 1
	blobRaw     byte = 2
)

// blobName is a random number that is never reused; the file is named by it in hex.
type blobName uint64

func (n blobName) fileName() string { return fmt.Sprintf("%016x", uint64(n)) }

// blobRecord is the registry row of a blob file. Integer keys: append only; never reorder.
type blobRecord struct {
	BlobName blobName `cbor:"1,keyasint"`
	Size     int      `cbor:"2,keyasint"`
	FileSum  uint64   `cbor:"3,keyasint"` // xxh3 of the file

	// What the content of a message has only for this inbox, if its file is shared with other
	// recipients.
	CalendarPart *saidRecord  `cbor:"4,keyasint,omitempty"`
	MoreCalendar []saidRecord `cbor:"5,keyasint,omitempty"`
	// IsShared means that the file may have other names, for other recipients of the message.
	IsShared bool `cbor:"6,keyasint,omitempty"`
}

// blobData is data to be stored in a file.
type blobData struct {
	addr          string
	id            int64
	blobKind      byte
	data          []byte
	sharedMessage *inbox.SharedStorage // nil if not shared

	calendarPart *saidRecord // see blobRecord
	moreCalendar []saidRecord
}

func blobKey(dst []byte, addr string, id int64, what byte) []byte {
	return append(appendMessage(dst, kindBlob, addr, id), what)
}

// blobFiles are the files outside the database, and the rows that register them. Any goroutine may
// use them.
type blobFiles struct {
	*storageEngine
	fileCount     atomic.Int64
	sweepDone     sync.WaitGroup // of orphans that a crash left; Close waits for it
	heldRemovals  heldRemovals
	verifiedFiles verifiedFiles
}

// blobMoves are the files of one batch. Only the goroutine that commits the batch uses it.
type blobMoves struct {
	createdBlobs []blobName // durable already; removed if the batch fails
	droppedBlobs []blobName // removed once the batch is durable
}

func (b *blobFiles) dir() string { return b.folder.FilePath(disk.BlobsName) }

func (b *blobFiles) filePath(file string) string { return b.folder.FS.PathJoin(b.dir(), file) }

// putBlob stores data under a new name and registers it in w's batch. If the process dies between here
// and the commit, the file is an orphan, which the next start sweeps.
func (b *blobFiles) putBlob(w *batchWriter, p *blobData, files *blobMoves) {
	r := blobRecord{
		BlobName: blobName(rand.Uint64()), Size: len(p.data), FileSum: xxh3.Hash(p.data), CalendarPart: p.calendarPart, MoreCalendar: p.moreCalendar,
		IsShared: p.sharedMessage != nil,
	}
	var err error
	if p.sharedMessage == nil {
		err = b.writeFile(&r, p.data)
	} else {
		p.sharedMessage.StorePart(p.blobKind, func(known any) any {
			if !b.shareFile(known, &r) {
				err = b.writeFile(&r, p.data)
			}
			return r
		})
	}
	if err != nil {
		w.noteError(err)
		return
	}
	b.fileCount.Add(1)
	files.createdBlobs = append(files.createdBlobs, r.BlobName)
	w.keyBuf = blobKey(w.keyBuf[:0], p.addr, p.id, p.blobKind)
	w.putRecord(w.keyBuf, &r)
}

func (b *blobFiles) writeFile(r *blobRecord, data []byte) error {
	err := disk.WriteFile(b.folder.FS, b.dir(), r.BlobName.fileName(), data)
	if disk.IsFull(err) {
		b.folder.SpaceGuard.NoteFull()
		err = disk.FullFault(err)
	}
	return err
}

// shareFile makes r's file another name of the file that another recipient of the message has, if the
// bytes are equal. It returns false if that file is gone, was never written, or the file system has
// no hard links. The bytes were durable before their first name. Each name is removed with its
// message, and the bytes with the last name.
func (b *blobFiles) shareFile(known any, r *blobRecord) bool {
	first, ok := known.(blobRecord)
	if !ok || first.Size != r.Size || first.FileSum != r.FileSum {
		return false
	}
	fs := b.folder.FS
	if fs.Link(b.filePath(first.BlobName.fileName()), b.filePath(r.BlobName.fileName())) != nil {
		return false
	}
	if disk.SyncFolder(fs, b.dir()) != nil {
		_ = fs.Remove(b.filePath(r.BlobName.fileName())) // write will report the disk error
		return false
	}
	return true
}

// linkedFiles stores a value for each file that has several names, under the file's identity. One
// goroutine uses it.
type linkedFiles[T any] map[disk.FileIdentity]T

// findLinked returns the value stored for the file at path, and a function to store one. A file with a
// single name has no value.
func (l *linkedFiles[T]) findLinked(fs vfs.FS, path string) (known T, found bool, keep func(T)) {
	keep = func(T) {}
	info, err := fs.Stat(path)
	if err != nil {
		return known, false, keep
	}
	if id, several := disk.LinkedIdentity(info); several {
		known, found = (*l)[id]
		keep = func(now T) {
			if *l == nil {
				*l = linkedFiles[T]{}
			}
			(*l)[id] = now
		}
	}
	return known, found, keep
}

// removeFiles removes files whose registry rows were removed or never committed. After an error a file
// is an orphan for the next start.
func (b *blobFiles) removeFiles(names []blobName) {
	if len(names) == 0 || b.heldRemovals.deferRemoval(names) {
		return
	}
	for _, n := range names {
		if err := b.folder.FS.Remove(b.filePath(n.fileName())); err != nil {
			b.folder.Log.LogThrottled(slog.LevelWarn, "storage: blob file not removed", "file", n.fileName(), "err", err)
			continue
		}
		b.fileCount.Add(-1)
	}
}

// findBlob reads the registry row under key, within during; nil if it does not exist.
func (b *blobFiles) findBlob(key []byte) (*blobRecord, error) {
	var r blobRecord
	found, err := b.readInside(key, func(value []byte) error { return decodeRecord(value, &r) })
	if !found || err != nil {
		return nil, err
	}
	return &r, nil
}

// readBlob passes the blob registered under key to fn, within during; false if it does not exist.
func (b *blobFiles) readBlob(key []byte, fn func(*blobRecord, io.Reader) error) (found bool, err error) {
	r, err := b.findBlob(key)
	if r == nil || err != nil {
		return false, err
	}
	f, err := b.folder.FS.Open(b.filePath(r.BlobName.fileName()))
	if errors.Is(err, os.ErrNotExist) {
		// Dropped between the two reads, or lost.
		if r, err := b.findBlob(key); r == nil || err != nil {
			return false, err
		}
		return false, b.folder.MissingFile(b.filePath(r.BlobName.fileName()), err)
	}
	if err == nil {
		err = errors.Join(fn(r, f), f.Close())
	}
	if errors.Is(err, disk.ErrNotRegular) {
		return false, b.folder.DamageLog.NoteDamage(b.filePath(r.BlobName.fileName()), disk.ErrNotRegular.Error())
	}
	if errors.Is(err, errBlobDamaged) {
		return false, b.folder.DamageLog.NoteDamage(b.filePath(r.BlobName.fileName()), "its checksum differs")
	}
	if err != nil {
		return false, fmt.Errorf("blob file %s: %w", r.BlobName.fileName(), err)
	}
	return true, nil
}

// readAt reads a part of a file, if the file still exists. Its name is never reused.
func (b *blobFiles) readAt(r *blobRecord, p []byte, off int64) (n int, err error) {
	err = b.runCall(func() error {
		f, err := b.folder.FS.Open(b.filePath(r.BlobName.fileName()))
		if err != nil {
			return err
		}
		n, err = f.ReadAt(p, off)
		f.Close() // only reads, so the error is irrelevant
		return err
	})
	return n, err
}

var errBlobDamaged = errors.New("it is damaged")

// verifyFile reads the file to its end and verifies size and checksum.
func (r *blobRecord) verifyFile(f io.Reader) error {
	sum := xxh3.New()
	n, err := io.Copy(sum, f)
	if err == nil && (n != int64(r.Size) || sum.Sum64() != r.FileSum) {
		err = errBlobDamaged
	}
	return err
}

// verifiedFiles caches which files were verified a moment ago. Clients that download one message start
// together, and each download would otherwise read the whole file before its first octet.
type verifiedFiles struct {
	mu sync.Mutex
	at map[blobName]time.Time
}

const (
	wholeFor  = time.Second
	mostWhole = 1024
)

// checkFile is blobRecord.verifyFile for a caller that reads f again in pieces. Such a caller would not
// notice damage that happens after the check either.
func (w *verifiedFiles) checkFile(r *blobRecord, f io.Reader) error {
	w.mu.Lock()
	at, known := w.at[r.BlobName]
	w.mu.Unlock()
	if known && time.Since(at) < wholeFor {
		return nil
	}
	err := r.verifyFile(f)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.at == nil || len(w.at) >= mostWhole {
			w.at = map[blobName]time.Time{}
		}
		w.at[r.BlobName] = time.Now()
	}
	return err
}

// readWhole adapts fn, which needs the whole data, to a reader of a file.
func readWhole(fn func(data []byte) error) func(*blobRecord, io.Reader) error {
	return func(r *blobRecord, f io.Reader) error {
		var data bytes.Buffer
		data.Grow(r.Size + bytes.MinRead)
		if err := r.verifyFile(io.TeeReader(f, &data)); err != nil {
			return err
		}
		return fn(data.Bytes())
	}
}

// dropBlobs adds to w the removal of the blobs of these messages, which ascend by id.
func (b *blobFiles) dropBlobs(w *batchWriter, addr string, ids []int64, files *blobMoves) {
	of := keyRange{appendMessage(nil, kindBlob, addr, ids[0]), endOfPrefix(appendMessage(nil, kindBlob, addr, ids[len(ids)-1]))}
	w.noteError(scanKeys(b.db, of, func(key, value []byte) error {
		id := int64(binary.BigEndian.Uint64(key[len(key)-9:]))
		if _, found := slices.BinarySearch(ids, id); !found {
			return nil
		}
		var r blobRecord
		if err := decodeRecord(value, &r); err != nil {
			return err
		}
		w.deleteKey(key)
		files.droppedBlobs = append(files.droppedBlobs, r.BlobName)
		return nil
	}))
}

// openFiles counts the files at the start, before any commit can add one, and starts to sweep orphans.
func (b *blobFiles) openFiles() error {
	f := b.folder
	if err := f.FS.MkdirAll(b.dir(), 0o700); err != nil {
		return err
	}
	if err := disk.SyncFolder(f.FS, f.Dir); err != nil {
		return err
	}
	files, err := f.FS.List(b.dir())
	if err != nil {
		return err
	}
	for _, name := range files {
		if isFinishedFile(name) {
			b.fileCount.Add(1)
		}
	}
	start := b.db.NewSnapshot()
	b.sweepDone.Go(func() { b.sweepOrphans(start, files) })
	return nil
}

func isFinishedFile(file string) bool { return !strings.HasSuffix(file, ".tmp") }

// sweepOrphans removes the files that no registry row of the start names. A crash left them between
// write and commit, or between commit and removal. It reads a snapshot of the start: a row that is
// removed now may return if this process dies before the removal is synced.
func (b *blobFiles) sweepOrphans(start *pebble.Snapshot, files []string) {
	defer start.Close()
	log := b.folder.Log
	var known []string
	err := scanKeys(start, ofKind(kindBlob), func(_, value []byte) error {
		var r blobRecord
		err := decodeRecord(value, &r)
		known = append(known, r.BlobName.fileName())
		return err
	})
	if err != nil {
		log.LogThrottled(slog.LevelError, "storage: orphaned blob files not swept", "err", err)
		return
	}
	slices.Sort(known)
	orphans := 0
	for _, name := range files {
		if _, found := slices.BinarySearch(known, name); found {
			continue
		}
		if err := b.folder.FS.Remove(b.filePath(name)); err != nil {
			log.LogThrottled(slog.LevelWarn, "storage: orphaned blob file not removed", "file", name, "err", err)
			continue
		}
		if isFinishedFile(name) {
			b.fileCount.Add(-1)
		}
		orphans++
	}
	if orphans > 0 {
		log.Info("storage: orphaned blob files removed", "count", orphans)
	}
}
