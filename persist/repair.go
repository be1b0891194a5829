package persist

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/persist/disk"
)

// repairStep is how many octets of rows a repair writes at once.
const repairStep = 1 << 20

// RepairFolder creates the folder to as a sound copy of what can be read in dir. It does not change
// dir. It calls found as Check does, and then with what each inbox has lost. It omits rows that
// cannot be read, and rows whose files are damaged. Messages that are incomplete without them
// appear as damaged messages. After an RepairFailure error, the process must end.
func RepairFolder(dir, to string, o Options, found func(problem string)) (CheckSummary, error) {
	if o.FS == nil {
		o.FS = disk.RealFS
	}
	if _, err := o.FS.Stat(to); !errors.Is(err, os.ErrNotExist) { // before everything is read
		return CheckSummary{}, UnusableFolder{Err: fmt.Errorf("the folder %s already exists: give the path of a new folder for the repaired copy", to)}
	}
	failed, done := make(chan error, 1), make(chan repairOutcome, 1)
	var over sync.Mutex // found is called by one goroutine at a time, and never after the end
	r := folderRepair{to: to, checkIntact: func() error { return errUnmade }, fs: disk.HaltingFS(o.FS, func(err error) {
		over.Lock()
		failed <- err // the first error: nobody gets the lock again
	})}
	go func() {
		report := func(problem string) {
			over.Lock()
			defer over.Unlock()
			found(problem)
		}
		sum, err := checkRows(dir, o, report, r.keepRow)
		if unfitError(err) != nil {
			err = errors.Join(err, r.abandonCopy())
		} else {
			err = errors.Join(err, r.finishCopy(report))
		}
		sum.NeedsKey = r.needsKey
		done <- repairOutcome{sum, err}
	}()
	select {
	case err := <-failed:
		return CheckSummary{}, RepairFailure{to, err}
	case end := <-done:
		if end.err != nil && r.checkIntact() == nil {
			_ = o.FS.RemoveAll(to)
		}
		return end.checkSummary, end.err
	}
}

// errNothing is also returned if only some tables are intact: the lost ones may have changed or
// deleted rows of the intact ones, and those rows would reappear.
var errNothing = errors.New("nothing in it can be read reliably, so no copy is made: restore a backup")

var errUnmade = errors.New("the copy was not started")

// repairOutcome is the result of a repair.
type repairOutcome struct {
	checkSummary CheckSummary
	err          error
}

// RepairFailure is the reason why a repair could not write its copy. The incomplete copy stays, because
// goroutines may use it until the process ends. It has no FORMAT.
type RepairFailure struct {
	To  string
	Err error
}

// Error implements error.
func (u RepairFailure) Error() string {
	why := u.Err.Error()
	if disk.IsFull(u.Err) {
		why = "its disk is full (" + why + ")"
	}
	return fmt.Sprintf("the copy %s cannot be written: %s. It is incomplete and has no %s. Remove it and try again", u.To, why, disk.FormatName)
}

// Unwrap returns the cause.
func (u RepairFailure) Unwrap() error { return u.Err }

// folderRepair writes a new folder. One goroutine uses it.
type folderRepair struct {
	fs vfs.FS
	to string

	markFolder  func(fs vfs.FS, dir string) error // makes it a data folder
	checkIntact func() error                      // nil error: to is still the folder that was created here
	db          *pebble.DB                        // nil until the first row
	rowBatch    *pebble.Batch

	copiedFiles        copiedFiles
	needsKey           bool        // rows are encrypted, and their key is lost
	incompleteMessages messageList // messages kept without their bytes or their parsed content
	lostMessages       messageList // messages of which parts are left, but not their rows
}

// beginCopy creates the folder, with the key of the original.
func (r *folderRepair) beginCopy(s *Store) error {
	intact, err := disk.MakeOwn(r.fs, r.to)
	if err != nil {
		return fmt.Errorf("the folder %s cannot be created: %w", r.to, err)
	}
	r.checkIntact, r.markFolder = intact, s.folder.MarkRepaired
	if err := r.fs.MkdirAll(r.fs.PathJoin(r.to, disk.BlobsName), 0o700); err != nil {
		return err
	}
	if err := r.keepSecret(s); err != nil {
		return err
	}
	e := &storageEngine{folder: s.folder}
	o := e.pebbleOptions(&Options{DisableTimers: true})
	o.FS, o.EventListener = r.fs, nil
	r.db, err = openPebble(r.fs.PathJoin(r.to, disk.EngineName), o)
	if err == nil {
		r.rowBatch = r.db.NewBatch()
	}
	return err
}

// keepSecret copies the key file if it is intact. A start replaces a damaged one, unless rows are
// encrypted under it.
func (r *folderRepair) keepSecret(s *Store) error {
	if _, err := s.readSecret(); err != nil {
		r.needsKey = s.lostSecret() != nil
		return nil // the check reports it
	}
	return s.copyFile(r.fs, disk.SecretName, r.to, makePrivate)
}

// keepRow writes a row, after its file.
func (r *folderRepair) keepRow(s *Store, key, value []byte) error {
	if r.db == nil {
		if err := r.beginCopy(s); err != nil {
			return err
		}
	}
	if rowKind(key[0]) == kindBlob {
		var rec blobRecord
		if err := decodeRecord(value, &rec); err != nil {
			return err
		}
		if err := r.copiedFiles.copyFile(r.fs, s.blobFiles.filePath(rec.BlobName.fileName()), r.fs.PathJoin(r.to, disk.BlobsName, rec.BlobName.fileName())); err != nil {
			return err
		}
	}
	if rowKind(key[0]) == kindSpare {
		if err := r.keepProfile(s, string(key[prefixLen:len(key)-1])); err != nil {
			return err
		}
	}
	if err := r.rowBatch.Set(key, value, nil); err != nil || r.rowBatch.Len() < repairStep {
		return err
	}
	return r.writeBatch()
}

// keepProfile rewrites the profile of an inbox if the original is unreadable.
func (r *folderRepair) keepProfile(s *Store, addr string) error {
	key := appendText(nil, kindInbox, addr)
	if found, err := s.hasKey(key); found && err == nil {
		return nil
	}
	p, err := s.readProfile(addr)
	if err != nil {
		return err
	}
	var rec profileRecord
	rec.copyFrom(&p)
	var value bytes.Buffer
	return errors.Join(encodeRecord(&value, &rec), r.rowBatch.Set(key, value.Bytes(), nil))
}

func (r *folderRepair) writeBatch() error {
	err := r.db.Apply(r.rowBatch, pebble.NoSync)
	r.rowBatch.Reset()
	return err
}

// finishCopy makes what was written durable, and makes the folder a data folder. report gets what the
// inboxes have lost.
func (r *folderRepair) finishCopy(report func(string)) error {
	if r.db == nil {
		return errNothing
	}
	err := errors.Join(r.writeBatch(), r.settleCopy(report), r.writeBatch(), r.db.Flush(), r.rowBatch.Close(), r.db.Close(), r.checkIntact())
	if err != nil {
		return err
	}
	return errors.Join(disk.SyncFolder(r.fs, r.fs.PathJoin(r.to, disk.BlobsName)), r.incompleteMessages.writeList(r.fs, r.to), r.markFolder(r.fs, r.to), disk.SyncFolder(r.fs, r.fs.PathDir(r.to)))
}

// abandonCopy gives up the copy of a folder that could not be read completely.
func (r *folderRepair) abandonCopy() error {
	if r.db == nil {
		return nil
	}
	return errors.Join(r.rowBatch.Close(), r.db.Close())
}

// settleCopy makes the rows of the copy consistent. A message without its bytes or its parsed content
// is kept and recorded, because the rest of it is readable. Parts of a message whose row is lost
// are unreachable, so they are left out. An inbox is due again when its row says so.
func (r *folderRepair) settleCopy(report func(string)) error {
	err := scanKeys(r.db, ofKind(kindInbox), func(key, value []byte) error {
		addr, rest, _ := bytes.Cut(key[prefixLen:], []byte{0})
		if len(rest) == 0 {
			return r.settleDue(string(addr), value)
		}
		name := messageName{string(addr), readNumber(rest)}
		raw, err := r.hasOne(appendMessage(nil, kindRaw, name.inboxAddress, name.id), blobKey(nil, name.inboxAddress, name.id, blobRaw))
		content, err2 := r.hasOne(appendMessage(nil, kindContent, name.inboxAddress, name.id), blobKey(nil, name.inboxAddress, name.id, blobContent))
		if !raw || !content {
			r.incompleteMessages.addMessage(name)
		}
		return errors.Join(err, err2)
	})
	for _, k := range [...]rowKind{kindContent, kindRaw, kindBlob} {
		err = errors.Join(err, scanKeys(r.db, ofKind(k), r.settlePart))
	}
	r.incompleteMessages.reportMessages(report, "the inbox %s has lost the bytes or the parsed content of %d messages; they are kept and shown as damaged: %s")
	r.lostMessages.reportMessages(report, "the inbox %s has lost %d messages whose rows cannot be read: %s")
	return err
}

// settlePart leaves out a row of a message that does not exist.
func (r *folderRepair) settlePart(key, _ []byte) error {
	addr, rest, _ := bytes.Cut(key[prefixLen:], []byte{0})
	name := messageName{string(addr), readNumber(rest[:8])}
	found, err := r.hasOne(appendMessage(nil, kindInbox, name.inboxAddress, name.id))
	if found || err != nil {
		return err
	}
	r.lostMessages.addMessage(name)
	return r.rowBatch.Delete(key, nil)
}

// settleDue writes the due entry of an inbox.
func (r *folderRepair) settleDue(addr string, value []byte) error {
	var rec profileRecord
	if err := decodeRecord(value, &rec); err != nil || rec.DueAt == 0 {
		return err
	}
	return r.rowBatch.Set(inboxDueKey(rec.DueAt.toTime(), addr), []byte{recordVersion}, nil)
}

// hasOne reports whether the copy has a row under one of the keys.
func (r *folderRepair) hasOne(keys ...[]byte) (bool, error) {
	for _, key := range keys {
		_, closer, err := r.db.Get(key)
		if err == nil {
			return true, closer.Close()
		}
		if !errors.Is(err, pebble.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}

// messageList are ids by the address of their inbox. One goroutine uses it.
type messageList map[string][]int64

func (m *messageList) addMessage(name messageName) {
	if *m == nil {
		*m = messageList{}
	}
	if ids := (*m)[name.inboxAddress]; !slices.Contains(ids[max(0, len(ids)-1):], name.id) {
		(*m)[name.inboxAddress] = append(ids, name.id)
	}
}

// reportMessages reports each inbox by a format of its address, the number of ids, and the ids.
func (m messageList) reportMessages(report func(string), format string) {
	for _, addr := range slices.Sorted(maps.Keys(m)) {
		slices.Sort(m[addr])
		m[addr] = slices.Compact(m[addr])
		report(fmt.Sprintf(format, addr, len(m[addr]), formatRanges(m[addr])))
	}
}

// formatRanges formats a list of ids for the operator: 1-3, 7.
func formatRanges(ids []int64) string {
	var text strings.Builder
	for i := 0; i < len(ids); i++ {
		first := ids[i]
		for i+1 < len(ids) && ids[i+1] == ids[i]+1 {
			i++
		}
		if text.Len() > 0 {
			text.WriteString(", ")
		}
		if text.WriteString(strconv.FormatInt(first, 10)); ids[i] > first {
			fmt.Fprintf(&text, "-%d", ids[i])
		}
	}
	return text.String()
}

// lostForm begins the file of the messages that a repair kept without their bytes or their parsed
// content. One line for each follows, with its address and id.
const lostForm = "inboxd lost 1\n"

// writeList writes the file into an incomplete copy.
func (m messageList) writeList(fs vfs.FS, dir string) error {
	if len(m) == 0 {
		return nil
	}
	text := []byte(lostForm)
	for _, addr := range slices.Sorted(maps.Keys(m)) {
		for _, id := range m[addr] {
			text = fmt.Appendf(text, "%s %d\n", addr, id)
		}
	}
	return disk.WriteFile(fs, dir, disk.LostName, text)
}

// readLost reads the file of a folder. It ignores lines that are not as written: a check then
// reports the message.
func readLost(f *disk.DataFolder) map[messageName]bool {
	lost := map[messageName]bool{}
	data, _ := disk.ReadFile(f.FS, f.FilePath(disk.LostName))
	lines, _ := strings.CutPrefix(string(data), lostForm)
	for line := range strings.Lines(lines) {
		addr, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if id, err := strconv.ParseInt(number, 10, 64); err == nil {
			lost[messageName{addr, id}] = true
		}
	}
	return lost
}
