package persist

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

// Checked counts what a check read.
type Checked struct {
	Rows, Files                 int   // rows of the database; files in the folder for large values
	Accounts, Inboxes, Messages int64 // live ones; received and sent
	Bytes                       int64 // of keys, values and files
	Lost                        int64 // messages that a repair kept without their bytes or their parsed content
	NeedsKey                    bool  // of a repair: the copy needs secret.key from a backup before it is started
}

// Check reads everything in the data folder dir and calls found with a sentence for each problem:
// checksums of files and values, invalid records, and missing rows that other rows require. It
// changes nothing. The error is a disk.Unfit, which explains why nothing could be examined.
//
// A state that a single crash between two steps can leave is not reported: the start continues from
// it.
func Check(dir string, o Options, found func(problem string)) (Checked, error) {
	return check(dir, o, found, nil)
}

// check also passes each intact row to keep, if keep is not nil. A row is intact if it can be read
// and decoded, and if its file is intact.
func check(dir string, o Options, found func(problem string), keep func(s *Store, key, value []byte) error) (Checked, error) {
	c := checker{found: found, keep: keep, undue: map[string]string{}}
	folder, err := disk.OpenToRead(dir, &o)
	if errors.As(err, new(disk.Unfit)) {
		return c.sum, err
	}
	if err != nil {
		found(err.Error())
	}
	if folder == nil {
		return c.sum, nil
	}
	e := &engine{folder: folder, readOnly: true}
	c.s = newStore(e)
	c.lost = readLost(folder)
	_, err = c.s.readSecret()
	if unfit(err) != nil {
		return c.sum, errors.Join(err, folder.Close())
	}
	c.keyless = err != nil // files reports it
	if err := e.open(&o); unfit(err) != nil {
		return c.sum, errors.Join(err, e.abandon())
	} else if err != nil {
		found(err.Error())
		if !errors.As(err, new(disk.LostEnd)) {
			return c.sum, e.abandon()
		}
	}
	err = c.rows()
	c.files()
	return c.sum, errors.Join(err, e.abandon())
}

// sumOf is the size and the checksum of a file, as its row says.
type sumOf struct {
	size int
	sum  uint64
}

// checker examines one folder. One goroutine uses it.
type checker struct {
	s     *Store
	sum   Checked
	found func(problem string)
	keep  func(s *Store, key, value []byte) error // nil if the rows are not needed
	lost  map[messageName]bool                    // messages that a repair recorded as incomplete
	// undue holds, by undated, the waiting items without an entry at the time of their own record.
	// An attempt in progress moves only the entry, and a webhook's record keeps its time (a lease).
	// So the entry may follow later.
	undue map[string]string

	// whole holds the intact files that recipients of a message share.
	whole linked[sumOf]

	keyless bool // the key is missing: encrypted values cannot be verified and count as intact
}

// tell reports a problem, prefixed with what it is about.
func (c *checker) tell(what string, err error) {
	if err != nil {
		c.found(fmt.Sprintf("%s: %v", what, named(err)))
	}
}

// rows reads every row except those in damaged blocks, which it reports by the name of their file.
//
// A file that this user may not open ends it, because its content is not lost.
func (c *checker) rows() (err error) {
	var all iterators
	defer func() {
		closed := all.close()
		if denied := unfit(closed); denied != nil {
			err = denied
		} else {
			c.tell("the database", closed)
		}
	}()
	it, err := all.open(c.s.engine, span{[]byte{0}, []byte{0xff}}, 0)
	if err != nil {
		c.tell("the database", err)
		return nil
	}
	it.lost = func(err error) { c.tell("rows can't be read", err) }
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			c.sum.Rows++
			c.sum.Bytes += int64(len(it.Key()) + len(value))
			err = c.row(kind(it.Key()[0]), it.Key(), value)
		}
		if denied := unfit(err); denied != nil {
			return denied
		}
		if err != nil {
			c.found(fmt.Sprintf("%v (%s)", named(err), rowName(it.Key())))
		} else if c.keep != nil {
			if err := c.keep(c.s, it.Key(), value); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.undue)) {
		c.found(c.undue[name])
	}
	return nil
}

// rowName describes a row for the operator, with its message if it belongs to one.
func rowName(key []byte) string {
	name := fmt.Sprintf("row %x", key)
	switch kind(key[0]) {
	case kindInbox, kindContent, kindRaw, kindBlob:
		if addr, rest, ok := bytes.Cut(key[min(prefixLen, len(key)):], []byte{0}); ok && len(rest) >= 8 {
			name += fmt.Sprintf(" of message %d of %s", readNumber(rest[:8]), addr)
		}
	}
	return name
}

var (
	errKey   = errors.New("its key is invalid")
	errPlace = errors.New("it is stored in the wrong partition")
)

// row checks one row by itself, which its error is about, and that the rows it requires exist.
func (c *checker) row(k kind, key, value []byte) error {
	if len(key) < prefixLen || len(value) == 0 {
		return errKey
	}
	switch k {
	case kindDue, kindMailDue, kindDeliveryDue:
		return c.dueRow(k, key, value)
	case kindInbox, kindContent, kindRaw, kindOutbox, kindBlob, kindCalendar, kindEmail, kindSubdomain, kindDomain, kindCopyDue, kindSpare:
		name, rest, ok := bytes.Cut(key[prefixLen:], []byte{0})
		if !ok {
			return errKey
		}
		if partitionOfKey(&key) != partition.Of(string(name)) {
			return errPlace
		}
		return c.namedRow(k, string(name), rest, value)
	case kindPosition, kindCredential, kindLink, kindRequest:
		return c.looseRow(k, key, value)
	}
	if len(key) < prefixLen+idLen {
		return errKey
	}
	id := account.ID(key[prefixLen:])
	if partitionOfKey(&key) != id.Partition() {
		return errPlace
	}
	return c.accountRow(k, id, key[prefixLen+idLen:], value)
}

// namedRow checks a row of an inbox, an e-mail address, a subdomain or a domain.
func (c *checker) namedRow(k kind, name string, rest, value []byte) (err error) {
	switch {
	case k == kindInbox && len(rest) == 0:
		return c.inbox(name, value)
	case k == kindInbox && len(rest) == 8:
		return c.message(name, readNumber(rest), value)
	case k == kindContent && len(rest) == 8:
		c.ofMessage(name, rest)
		return decode(value, new(contentRecord))
	case k == kindRaw && isRawPart(rest):
		c.ofMessage(name, rest[:8])
		_, err = rawOf(value)
		return err
	case k == kindOutbox && len(rest) == 8:
		return decode(value, new(publicRecord))
	case k == kindBlob && len(rest) == 9:
		return c.blob(name, rest, value)
	case k == kindCalendar && len(rest) == 1 && rest[0] == partCalendar:
		return c.calendar(name, value)
	case k == kindCalendar && len(rest) == 9 && rest[0] == partMeeting:
		return decode(value, new(meetingRecord))
	case (k == kindEmail || k == kindSubdomain) && len(rest) == 0:
		_, err = readHolding(value)
		return err
	case k == kindDomain && len(rest) == 0:
		return c.domain(name, value)
	case k == kindDomain:
		_, err = readAttached(value)
		return err
	case k == kindCopyDue && len(rest) == 0:
		return checkVersion(value)
	case k == kindSpare && len(rest) == 0:
		c.needs(fmt.Sprintf("the inbox %s has lost its profile", name), appendText(nil, kindInbox, name))
		return decode(value, new(profileRecord))
	}
	return errKey
}

// looseRow checks a row that is found by a partition and a hash, or that counts.
func (c *checker) looseRow(k kind, key, value []byte) error {
	rest := key[prefixLen:]
	switch {
	case k == kindPosition && len(rest) == 0:
		return nil // the opening reads it
	case k == kindCredential && len(rest) == len(account.Hash{}):
		return c.credential(value)
	case k == kindLink && len(rest) == len(account.Hash{}):
		return checkVersion(value)
	case k == kindRequest && len(rest) > 32+8:
		return decode(value, new(requestRecord))
	}
	return errKey
}

// dueRow checks an entry of a due index only by itself. The owner of the entity removes an entry
// that leads to nothing.
func (c *checker) dueRow(k kind, key, value []byte) (err error) {
	if len(key) <= dueHead {
		return errKey
	}
	if p, ok := partitionOfDue(k, key[dueHead:]); !ok || key[1] != byte(p.Group()) {
		return errPlace
	}
	switch k {
	case kindMailDue:
		_, err = readMailDue(key, value)
	case kindDeliveryDue:
		_, err = readDeliveryDue(key, value)
	default:
		err = checkVersion(value)
	}
	if err == nil {
		delete(c.undue, undated(key))
	}
	return err
}

// waits reports that something waits for an attempt but has no entry in its due index. The entry
// may be the one at key or at another time; the server then processes it at that time. Due indexes
// sort after their entities, so rows reports what is left after it has read everything.
func (c *checker) waits(what string, key []byte) {
	if !c.s.trace(key) {
		c.undue[undated(key)] = what
	}
}

// undated is the key of a due entry without its time.
func undated(key []byte) string { return string(key[:groupLen]) + string(key[groupLen+timeLen:]) }

// needs reports, for an existing row, that another row is missing. An unreadable row is reported
// where it is read.
func (c *checker) needs(what string, keys ...[]byte) {
	for _, key := range keys {
		if c.s.trace(key) {
			return
		}
	}
	c.found(what)
}

func (c *checker) inbox(addr string, value []byte) error {
	var r profileRecord
	if err := decode(value, &r); err != nil {
		return fmt.Errorf("the inbox %s: %w", addr, err)
	}
	p := r.profile(addr)
	if p.Live() {
		c.sum.Inboxes++
	}
	if !p.DueAt.IsZero() {
		c.needs(fmt.Sprintf("the inbox %s is missing from the retention index", addr), inboxDueKey(p.DueAt, addr))
	}
	return nil
}

func (c *checker) message(addr string, id int64, value []byte) error {
	var r messageRecord
	if err := decode(value, &r); err != nil {
		return fmt.Errorf("message %d of %s: %w", id, addr, err)
	}
	c.sum.Messages++
	m := r.message(id)
	c.needs(fmt.Sprintf("the inbox %s has messages but no profile", addr), appendText(nil, kindInbox, addr))
	if c.lost[messageName{addr, id}] {
		c.sum.Lost++
	} else {
		c.needs(fmt.Sprintf("the bytes of message %d of %s are missing", id, addr), appendMessage(nil, kindRaw, addr, id), blobKey(nil, addr, id, blobRaw))
		c.needs(fmt.Sprintf("the parsed content of message %d of %s is missing", id, addr), appendMessage(nil, kindContent, addr, id), blobKey(nil, addr, id, blobContent))
	}
	if m.Sending != nil && !m.Sending.Due.IsZero() {
		c.waits(fmt.Sprintf("message %d of %s is waiting to be sent but is not in the queue", id, addr), mailDueKey(m.Sending.Due, addr, id))
	}
	if m.Sealed != nil {
		c.sealed(addr, m)
	}
	return nil
}

// sealed checks what a sealed message has in addition to its envelope: the queued copy while it
// waits, and no trace of it afterwards.
func (c *checker) sealed(addr string, m *inbox.Message) {
	if file := m.Sealed.Files; file > 0 {
		c.needs(fmt.Sprintf("an attachment of message %d of %s is missing", m.ID, addr), fileKey(addr, m.ID, file), blobKey(nil, addr, m.ID, blobFile|byte(file)))
	}
	queued := [][]byte{queuedKey(addr, m.ID), blobKey(nil, addr, m.ID, blobQueued)}
	if m.Waiting() {
		c.needs(fmt.Sprintf("message %d of %s is waiting to be sent but its bytes are missing", m.ID, addr), queued...)
	} else if c.s.trace(queued[0]) || c.s.trace(queued[1]) {
		c.found(fmt.Sprintf("message %d of %s is encrypted and delivered, but its queued copy is still stored", m.ID, addr))
	}
}

// ofMessage reports content and bytes whose message does not exist.
func (c *checker) ofMessage(addr string, id []byte) {
	c.needs(fmt.Sprintf("rows of message %d of %s exist, but the message does not", readNumber(id), addr), appendMessage(nil, kindInbox, addr, readNumber(id)))
}

func (c *checker) blob(addr string, rest, value []byte) error {
	var r blobRecord
	if err := decode(value, &r); err != nil {
		return err
	}
	c.ofMessage(addr, rest[:8])
	path := c.s.blobs.path(r.Name.file())
	whole, _, keep := c.whole.find(c.s.folder.FS, path)
	if whole == (sumOf{r.Size, r.Sum}) {
		return nil // already read under another name
	}
	c.sum.Bytes += int64(r.Size)
	f, err := c.s.folder.FS.Open(path)
	if err == nil {
		err = errors.Join(r.check(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("the file %s of message %d of %s: %w", path, readNumber(rest[:8]), addr, disk.Denied(path, err))
	}
	keep(sumOf{r.Size, r.Sum})
	return nil
}

func (c *checker) calendar(addr string, value []byte) error {
	var r calendarRecord
	if err := decode(value, &r); err != nil || r.Feed == nil {
		return err
	}
	f := r.Feed.feed()
	c.needs(fmt.Sprintf("the calendar link of %s refers to no calendar", addr), linkKey(partition.Of(addr), f.Hash))
	return c.opens("feed "+addr, f.Sealed)
}

func (c *checker) domain(name string, value []byte) error {
	var r domainRecord
	err := decode(value, &r)
	for _, k := range r.Keys {
		err = errors.Join(err, c.opens("dkim "+k.Selector+" "+name, k.Encrypted))
	}
	return err
}

// opens returns an error if the folder's key does not decrypt a value.
func (c *checker) opens(purpose string, encrypted []byte) error {
	if c.keyless {
		return nil
	}
	_, err := c.s.Decrypt(purpose, encrypted)
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Err != nil {
		err = f.Err
	}
	return err
}

// files checks the files of the folder that are not registered by rows, and counts the files of
// large values.
func (c *checker) files() {
	if err := c.s.folder.CheckIDs(); err != nil {
		c.found(err.Error())
	}
	if _, err := disk.ReadFile(c.s.folder.FS, c.s.folder.Path(disk.CopyName)); !errors.Is(err, os.ErrNotExist) {
		c.tell("the mark of a copy", err)
	}
	if _, err := c.s.readSecret(); errors.Is(err, os.ErrNotExist) {
		c.tell("the key of what is encrypted", c.s.lostSecret())
	} else {
		c.tell("the key of what is encrypted", err)
	}
	names, err := c.s.folder.FS.List(c.s.blobs.dir())
	if err != nil {
		c.tell("the folder of large values", err)
		return
	}
	c.sum.Files = len(names)
}
