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

// Repair creates the folder to as a sound copy of what can be read in dir. It does not change dir.
// It calls found as Check does, and then with what each inbox has lost. It omits rows that cannot
// be read, and rows whose files are damaged. Messages that are incomplete without them appear as
// damaged messages. After an Unwritten error, the process must end.
func Repair(dir, to string, o Options, found func(problem string)) (Checked, error) {
	if o.FS == nil {
		o.FS = disk.Real
	}
	if _, err := o.FS.Stat(to); !errors.Is(err, os.ErrNotExist) { // before everything is read
		return Checked{}, Unfit{Err: fmt.Errorf("the folder %s already exists: give the path of a new folder for the repaired copy", to)}
	}
	failed, done := make(chan error, 1), make(chan outcome, 1)
	var over sync.Mutex // found is called by one goroutine at a time, and never after the end
	r := repair{to: to, intact: func() error { return errUnmade }, fs: disk.Halting(o.FS, func(err error) {
		over.Lock()
		failed <- err // the first error: nobody gets the lock again
	})}
	go func() {
		tell := func(problem string) {
			over.Lock()
			defer over.Unlock()
			found(problem)
		}
		sum, err := check(dir, o, tell, r.keep)
		if unfit(err) != nil {
			err = errors.Join(err, r.abandon())
		} else {
			err = errors.Join(err, r.end(tell))
		}
		sum.NeedsKey = r.needsKey
		done <- outcome{sum, err}
	}()
	select {
	case err := <-failed:
		return Checked{}, Unwritten{to, err}
	case end := <-done:
		if end.err != nil && r.intact() == nil {
			_ = o.FS.RemoveAll(to)
		}
		return end.sum, end.err
	}
}

// errNothing is also returned if only some tables are intact: the lost ones may have changed or
// deleted rows of the intact ones, and those rows would reappear.
var errNothing = errors.New("nothing in it can be read reliably, so no copy is made: restore a backup")

var errUnmade = errors.New("the copy was not started")

// outcome is the result of a repair.
type outcome struct {
	sum Checked
	err error
}

// Unwritten is the reason why a repair could not write its copy. The incomplete copy stays, because
// goroutines may use it until the process ends. It has no FORMAT.
type Unwritten struct {
	To  string
	Err error
}

// Error implements error.
func (u Unwritten) Error() string {
	why := u.Err.Error()
	if disk.IsFull(u.Err) {
		why = "its disk is full (" + why + ")"
	}
	return fmt.Sprintf("the copy %s cannot be written: %s. It is incomplete and has no %s. Remove it and try again", u.To, why, disk.FormatName)
}

// Unwrap returns the cause.
func (u Unwritten) Unwrap() error { return u.Err }

// repair writes a new folder. One goroutine uses it.
type repair struct {
	fs vfs.FS
	to string

	marked func(fs vfs.FS, dir string) error // makes it a data folder
	intact func() error                      // nil error: to is still the folder that was created here
	db     *pebble.DB                        // nil until the first row
	batch  *pebble.Batch

	copied   copies
	needsKey bool     // rows are encrypted, and their key is lost
	bare     messages // messages kept without their bytes or their parsed content
	gone     messages // messages of which parts are left, but not their rows
}

// begin creates the folder, with the key of the original.
func (r *repair) begin(s *Store) error {
	intact, err := disk.MakeOwn(r.fs, r.to)
	if err != nil {
		return fmt.Errorf("the folder %s cannot be created: %w", r.to, err)
	}
	r.intact, r.marked = intact, s.folder.MarkRepaired
	if err := r.fs.MkdirAll(r.fs.PathJoin(r.to, disk.BlobsName), 0o700); err != nil {
		return err
	}
	if err := r.keepSecret(s); err != nil {
		return err
	}
	e := &engine{folder: s.folder}
	o := e.options(&Options{Still: true})
	o.FS, o.EventListener = r.fs, nil
	r.db, err = openPebble(r.fs.PathJoin(r.to, disk.EngineName), o)
	if err == nil {
		r.batch = r.db.NewBatch()
	}
	return err
}

// keepSecret copies the key file if it is intact. A start replaces a damaged one, unless rows are
// encrypted under it.
func (r *repair) keepSecret(s *Store) error {
	if _, err := s.readSecret(); err != nil {
		r.needsKey = s.lostSecret() != nil
		return nil // the check reports it
	}
	return s.copyFile(r.fs, disk.SecretName, r.to, private)
}

// keep writes a row, after its file.
func (r *repair) keep(s *Store, key, value []byte) error {
	if r.db == nil {
		if err := r.begin(s); err != nil {
			return err
		}
	}
	if kind(key[0]) == kindBlob {
		var rec blobRecord
		if err := decode(value, &rec); err != nil {
			return err
		}
		if err := r.copied.copy(r.fs, s.blobs.path(rec.Name.file()), r.fs.PathJoin(r.to, disk.BlobsName, rec.Name.file())); err != nil {
			return err
		}
	}
	if kind(key[0]) == kindSpare {
		if err := r.keepProfile(s, string(key[prefixLen:len(key)-1])); err != nil {
			return err
		}
	}
	if err := r.batch.Set(key, value, nil); err != nil || r.batch.Len() < repairStep {
		return err
	}
	return r.write()
}

// keepProfile rewrites the profile of an inbox if the original is unreadable.
func (r *repair) keepProfile(s *Store, addr string) error {
	key := appendText(nil, kindInbox, addr)
	if found, err := s.has(key); found && err == nil {
		return nil
	}
	p, err := s.profile(addr)
	if err != nil {
		return err
	}
	var rec profileRecord
	rec.from(&p)
	var value bytes.Buffer
	return errors.Join(encode(&value, &rec), r.batch.Set(key, value.Bytes(), nil))
}

func (r *repair) write() error {
	err := r.db.Apply(r.batch, pebble.NoSync)
	r.batch.Reset()
	return err
}

// end makes what was written durable, and makes the folder a data folder. tell gets what the
// inboxes have lost.
func (r *repair) end(tell func(string)) error {
	if r.db == nil {
		return errNothing
	}
	err := errors.Join(r.write(), r.settle(tell), r.write(), r.db.Flush(), r.batch.Close(), r.db.Close(), r.intact())
	if err != nil {
		return err
	}
	return errors.Join(disk.SyncFolder(r.fs, r.fs.PathJoin(r.to, disk.BlobsName)), r.bare.write(r.fs, r.to), r.marked(r.fs, r.to), disk.SyncFolder(r.fs, r.fs.PathDir(r.to)))
}

// abandon gives up the copy of a folder that could not be read completely.
func (r *repair) abandon() error {
	if r.db == nil {
		return nil
	}
	return errors.Join(r.batch.Close(), r.db.Close())
}

// settle makes the rows of the copy consistent. A message without its bytes or its parsed content
// is kept and recorded, because the rest of it is readable. Parts of a message whose row is lost
// are unreachable, so they are left out. An inbox is due again when its row says so.
func (r *repair) settle(tell func(string)) error {
	err := scan(r.db, ofKind(kindInbox), func(key, value []byte) error {
		addr, rest, _ := bytes.Cut(key[prefixLen:], []byte{0})
		if len(rest) == 0 {
			return r.settleDue(string(addr), value)
		}
		name := messageName{string(addr), readNumber(rest)}
		raw, err := r.hasOne(appendMessage(nil, kindRaw, name.address, name.id), blobKey(nil, name.address, name.id, blobRaw))
		content, err2 := r.hasOne(appendMessage(nil, kindContent, name.address, name.id), blobKey(nil, name.address, name.id, blobContent))
		if !raw || !content {
			r.bare.add(name)
		}
		return errors.Join(err, err2)
	})
	for _, k := range [...]kind{kindContent, kindRaw, kindBlob} {
		err = errors.Join(err, scan(r.db, ofKind(k), r.settlePart))
	}
	r.bare.tell(tell, "the inbox %s has lost the bytes or the parsed content of %d messages; they are kept and shown as damaged: %s")
	r.gone.tell(tell, "the inbox %s has lost %d messages whose rows cannot be read: %s")
	return err
}

// settlePart leaves out a row of a message that does not exist.
func (r *repair) settlePart(key, _ []byte) error {
	addr, rest, _ := bytes.Cut(key[prefixLen:], []byte{0})
	name := messageName{string(addr), readNumber(rest[:8])}
	found, err := r.hasOne(appendMessage(nil, kindInbox, name.address, name.id))
	if found || err != nil {
		return err
	}
	r.gone.add(name)
	return r.batch.Delete(key, nil)
}

// settleDue writes the due entry of an inbox.
func (r *repair) settleDue(addr string, value []byte) error {
	var rec profileRecord
	if err := decode(value, &rec); err != nil || rec.DueAt == 0 {
		return err
	}
	return r.batch.Set(inboxDueKey(rec.DueAt.time(), addr), []byte{recordVersion}, nil)
}

// hasOne reports whether the copy has a row under one of the keys.
func (r *repair) hasOne(keys ...[]byte) (bool, error) {
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

// messages are ids by the address of their inbox. One goroutine uses it.
type messages map[string][]int64

func (m *messages) add(name messageName) {
	if *m == nil {
		*m = messages{}
	}
	if ids := (*m)[name.address]; !slices.Contains(ids[max(0, len(ids)-1):], name.id) {
		(*m)[name.address] = append(ids, name.id)
	}
}

// tell reports each inbox by a format of its address, the number of ids, and the ids.
func (m messages) tell(tell func(string), format string) {
	for _, addr := range slices.Sorted(maps.Keys(m)) {
		slices.Sort(m[addr])
		m[addr] = slices.Compact(m[addr])
		tell(fmt.Sprintf(format, addr, len(m[addr]), spans(m[addr])))
	}
}

// spans formats a list of ids for the operator: 1-3, 7.
func spans(ids []int64) string {
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

// write writes the file into an incomplete copy.
func (m messages) write(fs vfs.FS, dir string) error {
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
func readLost(f *disk.Folder) map[messageName]bool {
	lost := map[messageName]bool{}
	data, _ := disk.ReadFile(f.FS, f.Path(disk.LostName))
	lines, _ := strings.CutPrefix(string(data), lostForm)
	for line := range strings.Lines(lines) {
		addr, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if id, err := strconv.ParseInt(number, 10, 64); err == nil {
			lost[messageName{addr, id}] = true
		}
	}
	return lost
}
