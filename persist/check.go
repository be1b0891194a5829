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
	Rows, Files                 int   // of the database; in the folder for large values
	Accounts, Inboxes, Messages int64 // live ones; received and sent
	Bytes                       int64 // of keys, values and files
	Lost                        int64 // messages that a repair kept without their bytes, or without what is read of them
	NeedsKey                    bool  // of a repair: the copy is to get secret.key of a backup before it is started
}

// Check reads everything in the data folder dir and calls found with a sentence for each thing that
// is damaged or missing: sums of files and values, records, and rows that must be there when others
// are. It changes nothing. The error is a disk.Unfit, which says why nothing could be looked at.
//
// What only one crash between two steps leaves behind is no damage: the start goes on with it.
func Check(dir string, o Options, found func(problem string)) (Checked, error) {
	return check(dir, o, found, nil)
}

// check hands each row that is whole to keep too, if there is one. A row is whole that can be read
// and decoded, and whose file is.
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
	c.keyless = err != nil // files tells of it
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

// sumOf is what the row of a file says of its bytes.
type sumOf struct {
	size int
	sum  uint64
}

// checker looks at one folder. One goroutine has it.
type checker struct {
	s     *Store
	sum   Checked
	found func(problem string)
	keep  func(s *Store, key, value []byte) error // nil: nobody wants them
	lost  map[messageName]bool                    // of which a repair told that something is missing
	// undue is what waits and has no entry at the time of its own record, by undated. An attempt under
	// way moves its entry only, and a webhook's record keeps its time (a lease): the entry may come later.
	undue map[string]string

	// whole are files that recipients of a message share and that are as this says.
	whole linked[sumOf]

	keyless bool // what is encrypted can't be opened for want of the key, and is whole for all that is known
}

// tell tells a problem of a row by the name of what the row is about.
func (c *checker) tell(what string, err error) {
	if err != nil {
		c.found(fmt.Sprintf("%s: %v", what, named(err)))
	}
}

// rows reads every row, past those in damaged blocks, which are told by the name of their file.
//
// A file that this user may not open ends it: what is in there is not lost.
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

// rowName is a row for people: by its message, if it is of one.
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

// row checks one row for itself, which its error is about, and for what must be there beside it.
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
		return nil // read by the opening
	case k == kindCredential && len(rest) == len(account.Hash{}):
		return c.credential(value)
	case k == kindLink && len(rest) == len(account.Hash{}):
		return checkVersion(value)
	case k == kindRequest && len(rest) > 32+8:
		return decode(value, new(requestRecord))
	}
	return errKey
}

// dueRow checks an entry of a due index for itself: one that leads to nothing is ended by the owner
// of what it is about.
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

// waits reports that something waits for an attempt which no entry of its due index leads to. The entry
// is the one at key, or at any other time: then a server takes it up at that time. Due indexes lie
// behind what they lead to, so rows reports what is left when it has read them.
func (c *checker) waits(what string, key []byte) {
	if !c.s.trace(key) {
		c.undue[undated(key)] = what
	}
}

// undated is the key of a due entry without its time.
func undated(key []byte) string { return string(key[:groupLen]) + string(key[groupLen+timeLen:]) }

// needs tells, for a row that is there, of another one that is missing. One that can't be read is
// told of where it is read.
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

// sealed checks what a sealed message has beside its envelope: while it waits the mail itself, and after
// that no trace of it.
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

// ofMessage tells of content and bytes that nobody can reach.
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
		return nil // read by another of its names
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

// opens tells of an encrypted value that the folder's key does not open.
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

// files counts the files of large values, which rows lead to, and reads those that are nobody's row.
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
