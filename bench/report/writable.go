package report

import (
	"errors"
	"io/fs"
	"os"
)

// Writable tries whether a report can be written to a file, and leaves all as it was: an hour's run is worth nothing when
// that shows at its end. Pipes and devices are not tried: to open one has effects of its own.
func Writable(path string) error {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return nil
	}
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = f.Close()
	if fresh {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
