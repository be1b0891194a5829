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

func (n blobName) file() string { return fmt.Sprintf("%016x", uint64(n)) }

// blobRecord is the registry row of a blob file. Integer keys: append only; never reorder.
type blobRecord struct {
	Name blobName `cbor:"1,keyasint"`
	Size int      `cbor:"2,keyasint"`
	Sum  uint64   `cbor:"3,keyasint"` // xxh3 of the file

	// What the content of a message has only for this inbox, if its file is shared with other
	// recipients.
	Calendar     *saidRecord  `cbor:"4,keyasint,omitempty"`
	MoreCalendar []saidRecord `cbor:"5,keyasint,omitempty"`
	// Shared means that the file may have other names, for other recipients of the message.
	Shared bool `cbor:"6,keyasint,omitempty"`
}

// blob is data to be stored in a file.
type blob struct {
	addr   string
	id     int64
	what   byte
	data   []byte
	shared *inbox.Shared // nil if not shared

	calendar     *saidRecord // see blobRecord
	moreCalendar []saidRecord
}

func blobKey(dst []byte, addr string, id int64, what byte) []byte {
	return append(appendMessage(dst, kindBlob, addr, id), what)
}

// blobFiles are the files outside the database, and the rows that register them. Any goroutine may
// use them.
type blobFiles struct {
	*engine
	count atomic.Int64
	sweep sync.WaitGroup // of orphans that a crash left; Close waits for it
	kept  kept
	whole whole
}

// blobMoves are the files of one batch. Only the goroutine that commits the batch uses it.
type blobMoves struct {
	made    []blobName // durable already; removed if the batch fails
	dropped []blobName // removed once the batch is durable
}

func (b *blobFiles) dir() string { return b.folder.Path(disk.BlobsName) }

func (b *blobFiles) path(file string) string { return b.folder.FS.PathJoin(b.dir(), file) }

// put stores data under a new name and registers it in w's batch. If the process dies between here
// and the commit, the file is an orphan, which the next start sweeps.
func (b *blobFiles) put(w *writer, p *blob, files *blobMoves) {
	r := blobRecord{
		Name: blobName(rand.Uint64()), Size: len(p.data), Sum: xxh3.Hash(p.data), Calendar: p.calendar, MoreCalendar: p.moreCalendar,
		Shared: p.shared != nil,
	}
	var err error
	if p.shared == nil {
		err = b.write(&r, p.data)
	} else {
		p.shared.Store(p.what, func(known any) any {
			if !b.share(known, &r) {
				err = b.write(&r, p.data)
			}
			return r
		})
	}
	if err != nil {
		w.note(err)
		return
	}
	b.count.Add(1)
	files.made = append(files.made, r.Name)
	w.key = blobKey(w.key[:0], p.addr, p.id, p.what)
	w.put(w.key, &r)
}

func (b *blobFiles) write(r *blobRecord, data []byte) error {
	err := disk.WriteFile(b.folder.FS, b.dir(), r.Name.file(), data)
	if disk.IsFull(err) {
		b.folder.Space.Hit()
		err = disk.FullFault(err)
	}
	return err
}

// share makes r's file another name of the file that another recipient of the message has, if the
// bytes are equal. It returns false if that file is gone, was never written, or the file system has
// no hard links. The bytes were durable before their first name. Each name is removed with its
// message, and the bytes with the last name.
func (b *blobFiles) share(known any, r *blobRecord) bool {
	first, ok := known.(blobRecord)
	if !ok || first.Size != r.Size || first.Sum != r.Sum {
		return false
	}
	fs := b.folder.FS
	if fs.Link(b.path(first.Name.file()), b.path(r.Name.file())) != nil {
		return false
	}
	if disk.SyncFolder(fs, b.dir()) != nil {
		_ = fs.Remove(b.path(r.Name.file())) // write will report the disk error
		return false
	}
	return true
}

// linked stores a value for each file that has several names, under the file's identity. One
// goroutine uses it.
type linked[T any] map[disk.Identity]T

// find returns the value stored for the file at path, and a function to store one. A file with a
// single name has no value.
func (l *linked[T]) find(fs vfs.FS, path string) (known T, found bool, keep func(T)) {
	keep = func(T) {}
	info, err := fs.Stat(path)
	if err != nil {
		return known, false, keep
	}
	if id, several := disk.Linked(info); several {
		known, found = (*l)[id]
		keep = func(now T) {
			if *l == nil {
				*l = linked[T]{}
			}
			(*l)[id] = now
		}
	}
	return known, found, keep
}

// remove removes files whose registry rows were removed or never committed. After an error a file
// is an orphan for the next start.
func (b *blobFiles) remove(names []blobName) {
	if len(names) == 0 || b.kept.wait(names) {
		return
	}
	for _, n := range names {
		if err := b.folder.FS.Remove(b.path(n.file())); err != nil {
			b.folder.Log.Seldom(slog.LevelWarn, "storage: blob file not removed", "file", n.file(), "err", err)
			continue
		}
		b.count.Add(-1)
	}
}

// find reads the registry row under key, within during; nil if it does not exist.
func (b *blobFiles) find(key []byte) (*blobRecord, error) {
	var r blobRecord
	found, err := b.readInside(key, func(value []byte) error { return decode(value, &r) })
	if !found || err != nil {
		return nil, err
	}
	return &r, nil
}

// read passes the blob registered under key to fn, within during; false if it does not exist.
func (b *blobFiles) read(key []byte, fn func(*blobRecord, io.Reader) error) (found bool, err error) {
	r, err := b.find(key)
	if r == nil || err != nil {
		return false, err
	}
	f, err := b.folder.FS.Open(b.path(r.Name.file()))
	if errors.Is(err, os.ErrNotExist) {
		// Dropped between the two reads, or lost.
		if r, err := b.find(key); r == nil || err != nil {
			return false, err
		}
		return false, b.folder.Missing(b.path(r.Name.file()), err)
	}
	if err == nil {
		err = errors.Join(fn(r, f), f.Close())
	}
	if errors.Is(err, disk.ErrNotRegular) {
		return false, b.folder.Damage.Found(b.path(r.Name.file()), disk.ErrNotRegular.Error())
	}
	if errors.Is(err, errBlobDamaged) {
		return false, b.folder.Damage.Found(b.path(r.Name.file()), "its checksum differs")
	}
	if err != nil {
		return false, fmt.Errorf("blob file %s: %w", r.Name.file(), err)
	}
	return true, nil
}

// readAt reads a part of a file, if the file still exists. Its name is never reused.
func (b *blobFiles) readAt(r *blobRecord, p []byte, off int64) (n int, err error) {
	err = b.during(func() error {
		f, err := b.folder.FS.Open(b.path(r.Name.file()))
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

// check reads the file to its end and verifies size and checksum.
func (r *blobRecord) check(f io.Reader) error {
	sum := xxh3.New()
	n, err := io.Copy(sum, f)
	if err == nil && (n != int64(r.Size) || sum.Sum64() != r.Sum) {
		err = errBlobDamaged
	}
	return err
}

// whole caches which files were verified a moment ago. Clients that download one message start
// together, and each download would otherwise read the whole file before its first octet.
type whole struct {
	mu sync.Mutex
	at map[blobName]time.Time
}

const (
	wholeFor  = time.Second
	mostWhole = 1024
)

// check is blobRecord.check for a caller that reads f again in pieces. Such a caller would not
// notice damage that happens after the check either.
func (w *whole) check(r *blobRecord, f io.Reader) error {
	w.mu.Lock()
	at, known := w.at[r.Name]
	w.mu.Unlock()
	if known && time.Since(at) < wholeFor {
		return nil
	}
	err := r.check(f)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.at == nil || len(w.at) >= mostWhole {
			w.at = map[blobName]time.Time{}
		}
		w.at[r.Name] = time.Now()
	}
	return err
}

// all adapts fn, which needs the whole data, to a reader of a file.
func all(fn func(data []byte) error) func(*blobRecord, io.Reader) error {
	return func(r *blobRecord, f io.Reader) error {
		var data bytes.Buffer
		data.Grow(r.Size + bytes.MinRead)
		if err := r.check(io.TeeReader(f, &data)); err != nil {
			return err
		}
		return fn(data.Bytes())
	}
}

// drop adds to w the removal of the blobs of these messages, which ascend by id.
func (b *blobFiles) drop(w *writer, addr string, ids []int64, files *blobMoves) {
	of := span{appendMessage(nil, kindBlob, addr, ids[0]), end(appendMessage(nil, kindBlob, addr, ids[len(ids)-1]))}
	w.note(scan(b.db, of, func(key, value []byte) error {
		id := int64(binary.BigEndian.Uint64(key[len(key)-9:]))
		if _, found := slices.BinarySearch(ids, id); !found {
			return nil
		}
		var r blobRecord
		if err := decode(value, &r); err != nil {
			return err
		}
		w.delete(key)
		files.dropped = append(files.dropped, r.Name)
		return nil
	}))
}

// open counts the files at the start, before any commit can add one, and starts to sweep orphans.
func (b *blobFiles) open() error {
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
		if finished(name) {
			b.count.Add(1)
		}
	}
	start := b.db.NewSnapshot()
	b.sweep.Go(func() { b.sweepOrphans(start, files) })
	return nil
}

func finished(file string) bool { return !strings.HasSuffix(file, ".tmp") }

// sweepOrphans removes the files that no registry row of the start names. A crash left them between
// write and commit, or between commit and removal. It reads a snapshot of the start: a row that is
// removed now may return if this process dies before the removal is synced.
func (b *blobFiles) sweepOrphans(start *pebble.Snapshot, files []string) {
	defer start.Close()
	log := b.folder.Log
	var known []string
	err := scan(start, ofKind(kindBlob), func(_, value []byte) error {
		var r blobRecord
		err := decode(value, &r)
		known = append(known, r.Name.file())
		return err
	})
	if err != nil {
		log.Seldom(slog.LevelError, "storage: orphaned blob files not swept", "err", err)
		return
	}
	slices.Sort(known)
	orphans := 0
	for _, name := range files {
		if _, found := slices.BinarySearch(known, name); found {
			continue
		}
		if err := b.folder.FS.Remove(b.path(name)); err != nil {
			log.Seldom(slog.LevelWarn, "storage: orphaned blob file not removed", "file", name, "err", err)
			continue
		}
		if finished(name) {
			b.count.Add(-1)
		}
		orphans++
	}
	if orphans > 0 {
		log.Info("storage: orphaned blob files removed", "count", orphans)
	}
}
