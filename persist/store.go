// Package persist keeps inboxes and accounts on disk, in Pebble: keys, the record codec, the
// atomic synced commit, range loads, the due indexes, blob files and the change journal. It
// knows rows and bytes, and leaves the folder's files to disk. It refuses to know actors, HTTP,
// SMTP, and what an event means.
//
// A commit that returned nil is on disk with fdatasync. What the disk leaves unknown ends
// the process; the next start reads what is really there. docs/storage-format.md describes
// the files.
package persist

import (
	"errors"
	"fmt"
	"time"

	"inboxd/persist/disk"
)

// Options of a store.
type Options = disk.Options

// Unfit is why Check looked at nothing.
type Unfit = disk.Unfit

// Store is an open data folder: the tables over one engine. Their methods may be called from
// any goroutine; commits of one entity are the caller's to order. No field changes after Open, but
// for what guards itself.
type Store struct {
	*engine
	inboxTable
	queueTable
	accountTable
	credentialTable
	nameTable
	suppressionTable
	requestTable
	domainTable
	webhookTable
	deliveryTable
	journal
	secrets
	totals totals
}

// Open takes the data folder dir, makes it when it is new, and checks that nothing of what
// was acknowledged is missing. Errors are sentences for the operator.
func Open(dir string, o Options) (*Store, error) {
	folder, err := disk.Open(dir, &o)
	if err != nil {
		return nil, err
	}
	s := newStore(&engine{folder: folder})
	if err := s.open(&o); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	return s, nil
}

func newStore(e *engine) *Store {
	s := &Store{
		engine: e, inboxTable: inboxTable{e, &blobFiles{engine: e}}, queueTable: queueTable{e}, credentialTable: credentialTable{e},
		nameTable: nameTable{e}, suppressionTable: suppressionTable{e}, requestTable: requestTable{e}, domainTable: domainTable{e},
		deliveryTable: deliveryTable{e}, journal: journal{engine: e}, secrets: secrets{engine: e},
	}
	s.webhookTable = webhookTable{e, &s.secrets}
	s.accountTable = accountTable{e, &s.webhookTable}
	return s
}

func (s *Store) open(o *Options) error {
	if err := s.engine.open(o); err != nil {
		return err
	}
	if err := s.blobs.open(); err != nil {
		return fmt.Errorf("the blob folder in %s can't be read: %w", s.folder.Dir, err)
	}
	s.folder.Work(s.syncLog, func() bool { return s.busy.Load() > 0 })
	return nil
}

// closeGrace is how long Close lets commits wait for space on a full disk.
const closeGrace = 5 * time.Second

// Close waits for the calls under way, notes how far the journal goes and gives the folder
// back. On a disk that stays full the waiting writes are given up, which ends the process:
// what they held was never acknowledged.
func (s *Store) Close() error {
	giveUp := time.AfterFunc(closeGrace, s.folder.Space.GiveUp)
	defer giveUp.Stop()
	s.users.Lock()
	defer s.users.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.blobs.sweep.Wait()
	s.folder.Rest()
	return errors.Join(s.db.Close(), s.folder.Close())
}

// Held reports that what waits to be sent, mail and calls of webhooks, is held: see disk.Folder.
func (s *Store) Held() bool { return s.folder.Held() }

// Release lets it go, for good.
func (s *Store) Release() error { return s.during(s.folder.Release) }
