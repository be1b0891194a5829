// Package persist stores inboxes and accounts on disk, in Pebble. It contains the keys, the
// record codec, the atomic synced commit, range loads, the due indexes, blob files and the change
// journal. It knows rows and bytes; package disk manages the files of the data folder. It does
// not know actors, HTTP, SMTP, or what an event means.
//
// A commit that returned nil is durable: it was written with fdatasync. An ambiguous outcome of a
// write ends the process, and the next start reads what is on disk. docs/storage-format.md
// describes the files.
package persist

import (
	"errors"
	"fmt"
	"time"

	"inboxd/persist/disk"
)

// Options are the settings of a store.
type Options = disk.Options

// UnusableFolder is the reason why Check examined nothing.
type UnusableFolder = disk.UnusableFolder

// Store is an open data folder: the tables over one engine. Any goroutine may call their methods.
// The caller orders the commits of one entity. No field changes after Open, except fields that
// do their own locking.
type Store struct {
	*storageEngine
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
	journalTable
	secretBox
	totalsCounter totalsCounter
}

// Open acquires the data folder dir and creates it if it does not exist. It checks that nothing
// acknowledged is missing. Errors are sentences for the operator.
func Open(dir string, o Options) (*Store, error) {
	folder, err := disk.OpenFolder(dir, &o)
	if err != nil {
		return nil, err
	}
	s := newStore(&storageEngine{folder: folder})
	if err := s.openStore(&o); err != nil {
		return nil, errors.Join(err, s.abandonOpen())
	}
	return s, nil
}

func newStore(e *storageEngine) *Store {
	s := &Store{
		storageEngine: e, inboxTable: inboxTable{e, &blobFiles{storageEngine: e}}, queueTable: queueTable{e}, credentialTable: credentialTable{e},
		nameTable: nameTable{e}, suppressionTable: suppressionTable{e}, requestTable: requestTable{e}, domainTable: domainTable{e},
		deliveryTable: deliveryTable{e}, journalTable: journalTable{storageEngine: e}, secretBox: secretBox{storageEngine: e},
	}
	s.webhookTable = webhookTable{e, &s.secretBox}
	s.accountTable = accountTable{e, &s.webhookTable}
	return s
}

func (s *Store) openStore(o *Options) error {
	if err := s.storageEngine.openDB(o); err != nil {
		return err
	}
	if err := s.blobFiles.openFiles(); err != nil {
		return fmt.Errorf("the blob folder in %s cannot be read: %w", s.folder.Dir, err)
	}
	s.folder.StartWork(s.syncLog, func() bool { return s.syncsRunning.Load() > 0 })
	return nil
}

// closeGrace is how long Close lets commits wait for space on a full disk.
const closeGrace = 5 * time.Second

// Close waits for the calls in progress, records the end of the journal and releases the folder.
// If the disk stays full for closeGrace, it abandons the waiting writes, which ends the process.
// Those writes were never acknowledged.
func (s *Store) Close() error {
	giveUp := time.AfterFunc(closeGrace, s.folder.SpaceGuard.GiveUp)
	defer giveUp.Stop()
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	if s.isClosed {
		return nil
	}
	s.isClosed = true
	s.blobFiles.sweepDone.Wait()
	s.folder.StopWork()
	return errors.Join(s.db.Close(), s.folder.Close())
}

// IsHeld reports whether queued messages and webhook attempts are held: see disk.DataFolder.
func (s *Store) IsHeld() bool { return s.folder.IsHeld() }

// ReleaseHold permanently ends the hold that IsHeld reports.
func (s *Store) ReleaseHold() error { return s.runCall(s.folder.ReleaseHold) }
