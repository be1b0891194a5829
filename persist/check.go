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

// CheckSummary counts what a check read.
type CheckSummary struct {
	RowCount, FileCount                     int   // rows of the database; files in the folder for large values
	LiveAccounts, LiveInboxes, MessageCount int64 // live ones; received and sent
	TotalBytes                              int64 // of keys, values and files
	LostMessages                            int64 // messages that a repair kept without their bytes or their parsed content
	NeedsKey                                bool  // of a repair: the copy needs secret.key from a backup before it is started
}

// CheckFolder reads everything in the data folder dir and calls found with a sentence for each problem:
// checksums of files and values, invalid records, and missing rows that other rows require. It
// changes nothing. The error is a disk.UnusableFolder, which explains why nothing could be examined.
//
// A state that a single crash between two steps can leave is not reported: the start continues from
// it.
func CheckFolder(dir string, o Options, found func(problem string)) (CheckSummary, error) {
	return checkRows(dir, o, found, nil)
}

// checkRows also passes each intact row to keep, if keep is not nil. A row is intact if it can be read
// and decoded, and if its file is intact.
func checkRows(dir string, o Options, found func(problem string), keep func(s *Store, key, value []byte) error) (CheckSummary, error) {
	c := folderChecker{reportProblem: found, keepRow: keep, missingDue: map[string]string{}}
	folder, err := disk.OpenToRead(dir, &o)
	if errors.As(err, new(disk.UnusableFolder)) {
		return c.checkSummary, err
	}
	if err != nil {
		found(err.Error())
	}
	if folder == nil {
		return c.checkSummary, nil
	}
	e := &storageEngine{folder: folder, readOnly: true}
	c.s = newStore(e)
	c.lostMessages = readLost(folder)
	_, err = c.s.readSecret()
	if unfitError(err) != nil {
		return c.checkSummary, errors.Join(err, folder.Close())
	}
	c.keyless = err != nil // files reports it
	if err := e.openDB(&o); unfitError(err) != nil {
		return c.checkSummary, errors.Join(err, e.abandonOpen())
	} else if err != nil {
		found(err.Error())
		if !errors.As(err, new(disk.LostEnd)) {
			return c.checkSummary, e.abandonOpen()
		}
	}
	err = c.checkAllRows()
	c.checkFiles()
	return c.checkSummary, errors.Join(err, e.abandonOpen())
}

// sumOf is the size and the checksum of a file, as its row says.
type sumOf struct {
	size int
	sum  uint64
}

// folderChecker examines one folder. One goroutine uses it.
type folderChecker struct {
	s             *Store
	checkSummary  CheckSummary
	reportProblem func(problem string)
	keepRow       func(s *Store, key, value []byte) error // nil if the rows are not needed
	lostMessages  map[messageName]bool                    // messages that a repair recorded as incomplete
	// missingDue holds, by undated, the waiting items without an entry at the time of their own record.
	// An attempt in progress moves only the entry, and a webhook's record keeps its time (a lease).
	// So the entry may follow later.
	missingDue map[string]string

	// verifiedFiles holds the intact files that recipients of a message share.
	verifiedFiles linkedFiles[sumOf]

	keyless bool // the key is missing: encrypted values cannot be verified and count as intact
}

// reportRow reports a problem, prefixed with what it is about.
func (c *folderChecker) reportRow(what string, err error) {
	if err != nil {
		c.reportProblem(fmt.Sprintf("%s: %v", what, namedError(err)))
	}
}

// checkAllRows reads every row except those in damaged blocks, which it reports by the name of
// their file.
//
// A file that this user may not open ends it, because its content is not lost.
func (c *folderChecker) checkAllRows() (err error) {
	var all scanIterators
	defer func() {
		closed := all.closeAll()
		if denied := unfitError(closed); denied != nil {
			err = denied
		} else {
			c.reportRow("the database", closed)
		}
	}()
	it, err := all.openIterator(c.s.storageEngine, keyRange{[]byte{0}, []byte{0xff}}, 0)
	if err != nil {
		c.reportRow("the database", err)
		return nil
	}
	it.onDamage = func(err error) { c.reportRow("rows can't be read", err) }
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			c.checkSummary.RowCount++
			c.checkSummary.TotalBytes += int64(len(it.Key()) + len(value))
			err = c.checkRow(rowKind(it.Key()[0]), it.Key(), value)
		}
		if denied := unfitError(err); denied != nil {
			return denied
		}
		if err != nil {
			c.reportProblem(fmt.Sprintf("%v (%s)", namedError(err), rowName(it.Key())))
		} else if c.keepRow != nil {
			if err := c.keepRow(c.s, it.Key(), value); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.missingDue)) {
		c.reportProblem(c.missingDue[name])
	}
	return nil
}

// rowName describes a row for the operator, with its message if it belongs to one.
func rowName(key []byte) string {
	name := fmt.Sprintf("row %x", key)
	switch rowKind(key[0]) {
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

// checkRow checks one row by itself, which its error is about, and that the rows it requires exist.
func (c *folderChecker) checkRow(k rowKind, key, value []byte) error {
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
	if partitionOfKey(&key) != id.HomePartition() {
		return errPlace
	}
	return c.accountRow(k, id, key[prefixLen+idLen:], value)
}

// namedRow checks a row of an inbox, an e-mail address, a subdomain or a domain.
func (c *folderChecker) namedRow(k rowKind, name string, rest, value []byte) (err error) {
	switch {
	case k == kindInbox && len(rest) == 0:
		return c.checkInbox(name, value)
	case k == kindInbox && len(rest) == 8:
		return c.checkMessage(name, readNumber(rest), value)
	case k == kindContent && len(rest) == 8:
		c.ofMessage(name, rest)
		return decodeRecord(value, new(contentRecord))
	case k == kindRaw && isRawPart(rest):
		c.ofMessage(name, rest[:8])
		_, err = rawOf(value)
		return err
	case k == kindOutbox && len(rest) == 8:
		return decodeRecord(value, new(publicRecord))
	case k == kindBlob && len(rest) == 9:
		return c.checkBlob(name, rest, value)
	case k == kindCalendar && len(rest) == 1 && rest[0] == partCalendar:
		return c.checkCalendar(name, value)
	case k == kindCalendar && len(rest) == 9 && rest[0] == partMeeting:
		return decodeRecord(value, new(meetingRecord))
	case (k == kindEmail || k == kindSubdomain) && len(rest) == 0:
		_, err = readHolding(value)
		return err
	case k == kindDomain && len(rest) == 0:
		return c.checkDomain(name, value)
	case k == kindDomain:
		_, err = readAttached(value)
		return err
	case k == kindCopyDue && len(rest) == 0:
		return checkVersion(value)
	case k == kindSpare && len(rest) == 0:
		c.requireRows(fmt.Sprintf("the inbox %s has lost its profile", name), appendText(nil, kindInbox, name))
		return decodeRecord(value, new(profileRecord))
	}
	return errKey
}

// looseRow checks a row that is found by a partition and a hash, or that counts.
func (c *folderChecker) looseRow(k rowKind, key, value []byte) error {
	rest := key[prefixLen:]
	switch {
	case k == kindPosition && len(rest) == 0:
		return nil // the opening reads it
	case k == kindCredential && len(rest) == len(account.TokenHash{}):
		return c.checkCredential(value)
	case k == kindLink && len(rest) == len(account.TokenHash{}):
		return checkVersion(value)
	case k == kindRequest && len(rest) > 32+8:
		return decodeRecord(value, new(requestRecord))
	}
	return errKey
}

// dueRow checks an entry of a due index only by itself. The owner of the entity removes an entry
// that leads to nothing.
func (c *folderChecker) dueRow(k rowKind, key, value []byte) (err error) {
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
		delete(c.missingDue, withoutTime(key))
	}
	return err
}

// noteWaiting reports that something waits for an attempt but has no entry in its due index. The entry
// may be the one at key or at another time; the server then processes it at that time. Due indexes
// sort after their entities, so rows reports what is left after it has read everything.
func (c *folderChecker) noteWaiting(what string, key []byte) {
	if !c.s.hasTrace(key) {
		c.missingDue[withoutTime(key)] = what
	}
}

// withoutTime is the key of a due entry without its time.
func withoutTime(key []byte) string { return string(key[:groupLen]) + string(key[groupLen+timeLen:]) }

// requireRows reports, for an existing row, that another row is missing. An unreadable row is reported
// where it is read.
func (c *folderChecker) requireRows(what string, keys ...[]byte) {
	for _, key := range keys {
		if c.s.hasTrace(key) {
			return
		}
	}
	c.reportProblem(what)
}

func (c *folderChecker) checkInbox(addr string, value []byte) error {
	var r profileRecord
	if err := decodeRecord(value, &r); err != nil {
		return fmt.Errorf("the inbox %s: %w", addr, err)
	}
	p := r.toProfile(addr)
	if p.IsLive() {
		c.checkSummary.LiveInboxes++
	}
	if !p.DueAt.IsZero() {
		c.requireRows(fmt.Sprintf("the inbox %s is missing from the retention index", addr), inboxDueKey(p.DueAt, addr))
	}
	return nil
}

func (c *folderChecker) checkMessage(addr string, id int64, value []byte) error {
	var r messageRecord
	if err := decodeRecord(value, &r); err != nil {
		return fmt.Errorf("message %d of %s: %w", id, addr, err)
	}
	c.checkSummary.MessageCount++
	m := r.toMessage(id)
	c.requireRows(fmt.Sprintf("the inbox %s has messages but no profile", addr), appendText(nil, kindInbox, addr))
	if c.lostMessages[messageName{addr, id}] {
		c.checkSummary.LostMessages++
	} else {
		c.requireRows(fmt.Sprintf("the bytes of message %d of %s are missing", id, addr), appendMessage(nil, kindRaw, addr, id), blobKey(nil, addr, id, blobRaw))
		c.requireRows(fmt.Sprintf("the parsed content of message %d of %s is missing", id, addr), appendMessage(nil, kindContent, addr, id), blobKey(nil, addr, id, blobContent))
	}
	if m.OutgoingDelivery != nil && !m.OutgoingDelivery.NextDue.IsZero() {
		c.noteWaiting(fmt.Sprintf("message %d of %s is waiting to be sent but is not in the queue", id, addr), mailDueKey(m.OutgoingDelivery.NextDue, addr, id))
	}
	if m.EncryptedState != nil {
		c.checkSealed(addr, m)
	}
	return nil
}

// checkSealed checks what a sealed message has in addition to its envelope: the queued copy while it
// waits, and no trace of it afterwards.
func (c *folderChecker) checkSealed(addr string, m *inbox.Message) {
	if file := m.EncryptedState.MaxFileID; file > 0 {
		c.requireRows(fmt.Sprintf("an attachment of message %d of %s is missing", m.ID, addr), fileKey(addr, m.ID, file), blobKey(nil, addr, m.ID, blobFile|byte(file)))
	}
	queued := [][]byte{queuedKey(addr, m.ID), blobKey(nil, addr, m.ID, blobQueued)}
	if m.IsWaiting() {
		c.requireRows(fmt.Sprintf("message %d of %s is waiting to be sent but its bytes are missing", m.ID, addr), queued...)
	} else if c.s.hasTrace(queued[0]) || c.s.hasTrace(queued[1]) {
		c.reportProblem(fmt.Sprintf("message %d of %s is encrypted and delivered, but its queued copy is still stored", m.ID, addr))
	}
}

// ofMessage reports content and bytes whose message does not exist.
func (c *folderChecker) ofMessage(addr string, id []byte) {
	c.requireRows(fmt.Sprintf("rows of message %d of %s exist, but the message does not", readNumber(id), addr), appendMessage(nil, kindInbox, addr, readNumber(id)))
}

func (c *folderChecker) checkBlob(addr string, rest, value []byte) error {
	var r blobRecord
	if err := decodeRecord(value, &r); err != nil {
		return err
	}
	c.ofMessage(addr, rest[:8])
	path := c.s.blobFiles.filePath(r.BlobName.fileName())
	whole, _, keep := c.verifiedFiles.findLinked(c.s.folder.FS, path)
	if whole == (sumOf{r.Size, r.FileSum}) {
		return nil // already read under another name
	}
	c.checkSummary.TotalBytes += int64(r.Size)
	f, err := c.s.folder.FS.Open(path)
	if err == nil {
		err = errors.Join(r.verifyFile(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("the file %s of message %d of %s: %w", path, readNumber(rest[:8]), addr, disk.AccessDenied(path, err))
	}
	keep(sumOf{r.Size, r.FileSum})
	return nil
}

func (c *folderChecker) checkCalendar(addr string, value []byte) error {
	var r calendarRecord
	if err := decodeRecord(value, &r); err != nil || r.Feed == nil {
		return err
	}
	f := r.Feed.toFeed()
	c.requireRows(fmt.Sprintf("the calendar link of %s refers to no calendar", addr), linkKey(partition.Of(addr), f.TokenHash))
	return c.checkDecrypts("feed "+addr, f.EncryptedToken)
}

func (c *folderChecker) checkDomain(name string, value []byte) error {
	var r domainRecord
	err := decodeRecord(value, &r)
	for _, k := range r.Keys {
		err = errors.Join(err, c.checkDecrypts("dkim "+k.Selector+" "+name, k.Encrypted))
	}
	return err
}

// checkDecrypts returns an error if the folder's key does not decrypt a value.
func (c *folderChecker) checkDecrypts(purpose string, encrypted []byte) error {
	if c.keyless {
		return nil
	}
	_, err := c.s.Decrypt(purpose, encrypted)
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Err != nil {
		err = f.Err
	}
	return err
}

// checkFiles checks the files of the folder that are not registered by rows, and counts the files of
// large values.
func (c *folderChecker) checkFiles() {
	if err := c.s.folder.CheckIDs(); err != nil {
		c.reportProblem(err.Error())
	}
	if _, err := disk.ReadFile(c.s.folder.FS, c.s.folder.FilePath(disk.CopyName)); !errors.Is(err, os.ErrNotExist) {
		c.reportRow("the mark of a copy", err)
	}
	if _, err := c.s.readSecret(); errors.Is(err, os.ErrNotExist) {
		c.reportRow("the key of what is encrypted", c.s.lostSecret())
	} else {
		c.reportRow("the key of what is encrypted", err)
	}
	names, err := c.s.folder.FS.List(c.s.blobFiles.dir())
	if err != nil {
		c.reportRow("the folder of large values", err)
		return
	}
	c.checkSummary.FileCount = len(names)
}
