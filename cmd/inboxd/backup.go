package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"inboxd/internal/fault"
	"inboxd/persist"
)

type backupCommand struct {
	Dir string `arg:"" help:"Folder to make. A start with it as --data restores the backup." type:"path"`
}

// backupOrder names a folder by its absolute path: the server may have another working directory.
type backupOrder struct {
	Dir string `json:"dir"`
}

// backupTimeout bounds how long the command waits. Without links, as to another disk, all is copied.
const backupTimeout = 24 * time.Hour

// Run implements the command.
func (c *backupCommand) Run(cli *commandLine) error {
	began := time.Now()
	stop := progress(os.Stderr, c.Dir)
	err := cli.Admin.callWithin(backupTimeout, "/backup", backupOrder{c.Dir}, nil)
	stop()
	if err != nil {
		return err
	}
	files, bytes := sizeOf(c.Dir)
	fmt.Printf("backup %s: %d files, %s, %s\n", c.Dir, files, byteText(bytes), time.Since(began).Round(time.Millisecond))
	return nil
}

// progress tells on a terminal how far a folder has grown, until stop.
func progress(out *os.File, dir string) (stop func()) {
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
				fmt.Fprintf(out, "\r\033[K%d files, %s", files, byteText(bytes))
			}
		}
	}()
	return func() { close(over); <-ended }
}

// sizeOf counts the files in a folder that may be growing.
func sizeOf(dir string) (files int, bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				files++
				bytes += info.Size()
			}
		}
		return nil
	})
	return files, bytes
}

func byteText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	f := float64(n)
	for f >= 1024 && len(units) > 1 {
		f, units = f/1024, units[1:]
	}
	return fmt.Sprintf("%.4g %s", f, units[0])
}

// backup makes one. A folder inside of the data folder would be in the next one.
func (a *adminSocket) backup(_ context.Context, order backupOrder) (any, error) {
	data, err := filepath.Abs(a.data)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(order.Dir) {
		return nil, fault.New(fault.Invalid, "The backup's folder must be named by its absolute path")
	}
	if in, err := filepath.Rel(data, order.Dir); err == nil && in != ".." && !strings.HasPrefix(in, "../") {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("The folder %s is inside of the data folder: choose another place", order.Dir))
	}
	return struct{}{}, a.store.Backup(filepath.Clean(order.Dir))
}

type checkCommand struct {
	Dir    string `arg:"" help:"Data folder that no server has open, or a backup." type:"path"`
	Repair string `help:"Folder to make: a sound copy of what can be read." type:"path" placeholder:"TO"`
}

// exitCode ends the process with a code; what there was to say is said.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit %d", int(c)) }

// Run implements the command. It ends with 0 when all is well, 1 when something is damaged, 2
// when the folder can't be looked at.
func (c *checkCommand) Run() error {
	syscall.Umask(0o077)
	found := 0
	tell := func(problem string) {
		found++
		fmt.Println(problem)
	}
	o := persist.Options{Logger: slog.New(slog.DiscardHandler)}
	look := func() (persist.Checked, error) { return persist.Check(c.Dir, o, tell) }
	if c.Repair != "" {
		look = func() (persist.Checked, error) { return persist.Repair(c.Dir, c.Repair, o, tell) }
	}
	sum, err := look()
	if errors.As(err, new(persist.Unfit)) {
		fmt.Fprintln(os.Stderr, "inboxd: "+sentence(err))
		return exitCode(2)
	}
	if err != nil {
		found++
		fmt.Println(sentence(err))
	}
	fmt.Printf("%s: %d accounts, %d inboxes, %d messages; %d rows and %d files, %s read; problems: %d\n",
		c.Dir, sum.Accounts, sum.Inboxes, sum.Messages, sum.Rows, sum.Files, byteText(sum.Bytes), found)
	if c.Repair != "" && err == nil {
		fmt.Printf("%s: what could be read; start it with --data\n", c.Repair)
	}
	if found > 0 {
		return exitCode(1)
	}
	return nil
}
