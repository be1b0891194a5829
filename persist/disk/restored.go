package disk

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Files that only copies of a folder have, and their contents.
const (
	CopyName = "copy" // until the first start of the copy
	IDsName  = "ids"  // from the first start on
	HeldName = "held" // from the first start until an operator releases what is held
	copyForm = "inboxd copy 1\n"
	idsForm  = "inboxd ids 1\nabove %d\n"
	heldForm = "inboxd held 1\n"
	// repairedForm marks a copy that replaces a folder which no server can use: nobody else sends
	// what waited there.
	repairedForm = copyForm + "repaired\n"
)

// idsASecond is how many ids an owner may assign in each second of a restored folder's life without
// reaching those that the next restore starts with. Ids stay below 2^53 until the year 2242.
const idsASecond = 1 << 20

// AboveAll returns a number above all ids that may have been assigned until now.
func AboveAll(now time.Time) int64 { return now.Unix() * idsASecond }

// MarkCopy makes dir a data folder: a copy, whose first start restores it. dir must hold the files
// of one. Until then nothing accepts dir as a data folder.
func MarkCopy(fs vfs.FS, dir string) error { return markCopy(fs, dir, copyForm) }

// MarkRepaired is MarkCopy for a copy that replaces f. What is held in f, or in a backup, is held
// in the copy, too.
func (f *DataFolder) MarkRepaired(fs vfs.FS, dir string) error {
	form := repairedForm
	if data, err := ReadFile(f.FS, f.FilePath(CopyName)); err == nil && string(data) != repairedForm || f.IsHeld() {
		form = copyForm
	}
	return markCopy(fs, dir, form)
}

func markCopy(fs vfs.FS, dir, form string) error {
	if err := WriteFile(fs, dir, CopyName, []byte(form)); err != nil {
		return err
	}
	return writeFormat(fs, dir)
}

// CheckIDs reads the number above which ids are assigned in this folder. The error is a sentence
// for the operator.
func (f *DataFolder) CheckIDs() error {
	data, err := ReadFile(f.FS, f.FilePath(IDsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Sscanf(string(data), idsForm, &f.minimumID)
	if err != nil || string(data) != fmt.Sprintf(idsForm, f.minimumID) {
		return fmt.Errorf("the file %s in the data folder %s is damaged: %q. Restore a backup of it", IDsName, f.Dir, data)
	}
	return nil
}

// raiseMinimumID runs at the first start of a copy. It raises the number above which ids are assigned,
// because the original folder may have assigned any id since the copy. The original may also have
// sent what waits here, so that is held until Release. A crash before the last step repeats all
// steps.
func (f *DataFolder) raiseMinimumID(now time.Time) error {
	if err := f.CheckIDs(); err != nil {
		return err
	}
	form, err := ReadFile(f.FS, f.FilePath(CopyName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.minimumID = max(f.minimumID, AboveAll(now))
	if err := WriteFile(f.FS, f.Dir, IDsName, fmt.Appendf(nil, idsForm, f.minimumID)); err != nil {
		return err
	}
	f.Log.Info("storage: restored backup, new ids are greater than all ids that were assigned since it was made", "above", f.minimumID)
	if string(form) != repairedForm {
		if err := WriteFile(f.FS, f.Dir, HeldName, []byte(heldForm)); err != nil {
			return err
		}
	}
	return f.FS.Remove(f.FilePath(CopyName))
}

// IsHeld reports whether queued messages and webhook deliveries are held: the original folder may
// have sent them, and no operator has released them yet.
func (f *DataFolder) IsHeld() bool {
	_, err := f.FS.Stat(f.FilePath(HeldName))
	return !errors.Is(err, os.ErrNotExist)
}

// ReleaseHold ends the hold permanently: when it returns, no crash restores the mark.
func (f *DataFolder) ReleaseHold() error {
	if err := f.FS.Remove(f.FilePath(HeldName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return SyncFolder(f.FS, f.Dir)
}

// MinimumID is the number above which ids are assigned here: 0 if the folder was never restored.
func (f *DataFolder) MinimumID() int64 { return f.minimumID }
