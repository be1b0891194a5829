package disk

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Names of files that only copies of a folder have, and what they hold.
const (
	CopyName = "copy" // until the copy is started for the first time
	IDsName  = "ids"  // since then
	HeldName = "held" // from then on until an operator lets go what waits
	copyForm = "inboxd copy 1\n"
	idsForm  = "inboxd ids 1\nabove %d\n"
	heldForm = "inboxd held 1\n"
	// repairedForm is of a copy that takes the place of a folder which no server can use: what waited there is
	// sent by nobody else.
	repairedForm = copyForm + "repaired\n"
)

// idsASecond is how many ids an owner may give in each second of a restored folder's life without
// reaching those that the next restore begins with. Ids stay below 2^53 until the year 2242.
const idsASecond = 1 << 20

// AboveAll is a number above all ids that may have been given until now.
func AboveAll(now time.Time) int64 { return now.Unix() * idsASecond }

// MarkCopy makes dir, which holds the files of one, a data folder: a copy, whose first start is the
// restore of it. Until then nothing takes dir for a data folder.
func MarkCopy(fs vfs.FS, dir string) error { return markCopy(fs, dir, copyForm) }

// MarkRepaired is MarkCopy for a copy that takes the place of f. What is held there, or is in a backup, is held in
// the copy, too.
func (f *Folder) MarkRepaired(fs vfs.FS, dir string) error {
	form := repairedForm
	if data, err := ReadFile(f.FS, f.Path(CopyName)); err == nil && string(data) != repairedForm || f.Held() {
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

// CheckIDs reads above which number ids are given in this folder. The error is the sentence of a start.
func (f *Folder) CheckIDs() error {
	data, err := ReadFile(f.FS, f.Path(IDsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Sscanf(string(data), idsForm, &f.above)
	if err != nil || string(data) != fmt.Sprintf(idsForm, f.above) {
		return fmt.Errorf("the file %s in the data folder %s is damaged: %q. Restore a backup of it", IDsName, f.Dir, data)
	}
	return nil
}

// restore lifts the number above which ids are given at the first start of a copy: the folder that it was
// copied from may have given any id since. It may have sent what waits here, too: that is held until Release. A
// crash before the last step repeats all of them.
func (f *Folder) restore(now time.Time) error {
	if err := f.CheckIDs(); err != nil {
		return err
	}
	form, err := ReadFile(f.FS, f.Path(CopyName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.above = max(f.above, AboveAll(now))
	if err := WriteFile(f.FS, f.Dir, IDsName, fmt.Appendf(nil, idsForm, f.above)); err != nil {
		return err
	}
	f.Log.Info("storage: restored backup, new ids are greater than all ids that were assigned since it was made", "above", f.above)
	if string(form) != repairedForm {
		if err := WriteFile(f.FS, f.Dir, HeldName, []byte(heldForm)); err != nil {
			return err
		}
	}
	return f.FS.Remove(f.Path(CopyName))
}

// Held reports that what waits in this folder, mail and calls of webhooks, may have been sent by the folder that it
// was restored from, and that nobody has let it go yet.
func (f *Folder) Held() bool {
	_, err := f.FS.Stat(f.Path(HeldName))
	return !errors.Is(err, os.ErrNotExist)
}

// Release lets go for good what is held: when it returns, no crash brings the mark back.
func (f *Folder) Release() error {
	if err := f.FS.Remove(f.Path(HeldName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return SyncFolder(f.FS, f.Dir)
}

// Above is the number above which ids are given here: 0 where nothing was ever restored.
func (f *Folder) Above() int64 { return f.above }
