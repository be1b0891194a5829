package operator

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"inboxd/internal/base/fault"
)

type backupCommand struct {
	Dir string `arg:"" help:"Folder to create. To restore the backup, start the server with it as --data." type:"path"`
}

// backupOrder names a folder by its absolute path: the server may have another working directory.
type backupOrder struct {
	Dir string `json:"dir"`
}

// backupTimeout limits how long the command waits. Without hard links, such as to another disk,
// everything is copied.
const backupTimeout = 24 * time.Hour

// Run implements the command.
func (c *backupCommand) Run(server *Command) error {
	began := time.Now()
	stop := showProgress(os.Stderr, c.Dir)
	err := server.callWithin(backupTimeout, "/backup", backupOrder{c.Dir}, nil)
	stop()
	if err != nil {
		return err
	}
	files, bytes := sizeOf(c.Dir)
	fmt.Printf("backup %s: %d files, %s, %s\n", c.Dir, files, ByteText(bytes), time.Since(began).Round(time.Millisecond))
	return nil
}

// showProgress shows on a terminal how far a folder has grown, until stop is called.
func showProgress(out *os.File, dir string) (stop func()) {
	if info, err := out.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(500 * time.Millisecond); ; {
			select {
			case <-over:
				tick.Stop()
				fmt.Fprint(out, "\r\033[K")
				return
			case <-tick.C:
				files, bytes := sizeOf(dir)
				fmt.Fprintf(out, "\r\033[K%d files, %s", files, ByteText(bytes))
			}
		}
	}()
	return func() { close(over); <-ended }
}

// sizeOf counts the files in a folder that may be growing. Files with several names count once.
func sizeOf(dir string) (files int, bytes int64) {
	seen := map[uint64]bool{}
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
					if seen[s.Ino] {
						return nil
					}
					seen[s.Ino] = true
				}
				files++
				bytes += info.Size()
			}
		}
		return nil
	})
	return files, bytes
}

// makeBackup creates a backup, unless the client disconnects. A folder inside the data folder is
// refused: it would be in the next backup.
func (s *Socket) makeBackup(ctx context.Context, order backupOrder) (any, error) {
	if !filepath.IsAbs(order.Dir) {
		return nil, fault.New(fault.InvalidRequest, "The path of the backup's folder must be absolute")
	}
	if err := CheckOutside(s.DataFolder, order.Dir); err != nil {
		return nil, err
	}
	return struct{}{}, s.Store.BackupTo(ctx, filepath.Clean(order.Dir))
}

// CheckOutside returns an error if dir is inside the data folder, also through symbolic links.
func CheckOutside(data, dir string) error {
	data, err := realPath(data)
	if err != nil {
		return err
	}
	real, err := realPath(dir)
	if err != nil {
		return err
	}
	if in, err := filepath.Rel(data, real); err == nil && in != ".." && !strings.HasPrefix(in, "../") {
		return fault.New(fault.InvalidRequest, fmt.Sprintf("The folder %s is inside the data folder. Choose another folder", dir))
	}
	return nil
}

// realPath resolves the symbolic links in a path that may not exist yet.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil || path == filepath.Dir(path) {
		return real, err
	}
	above, err := realPath(filepath.Dir(path))
	return filepath.Join(above, filepath.Base(path)), err
}
