package disk

import (
	"io"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A log that is written can be read up to where it was written when it was opened. Behind that
// place lies what the file held before it became this log, and a copy of it that is made
// meanwhile may have an old block before a new one: the engine then takes the copy for damaged,
// for the new block tells that the old one was synced (Pebble issue 5142).

// liveLog counts what is written to a log. The engine's goroutine that writes has it; length may
// be read by any.
type liveLog struct {
	vfs.File
	fs     *waitFS
	name   string
	length atomic.Int64
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// live makes f, which is empty or old, the log of this name.
func (fs *waitFS) live(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !isLog(name) || fs.elsewhere(name) {
		return f, err
	}
	l := &liveLog{File: f, fs: fs, name: name}
	fs.logs.Store(name, l)
	return l, nil
}

func (l *liveLog) Write(p []byte) (int, error) {
	n, err := l.File.Write(p)
	l.length.Add(int64(n))
	return n, err
}

func (l *liveLog) Close() error {
	l.fs.logs.Delete(l.name)
	return l.File.Close()
}

// written is f as far as it is a log.
func (fs *waitFS) written(name string, f vfs.File) vfs.File {
	l, is := fs.logs.Load(name)
	if !is {
		return f
	}
	return &prefix{f, io.LimitedReader{R: f, N: l.(*liveLog).length.Load()}}
}

// prefix reads the beginning of a file.
type prefix struct {
	vfs.File
	part io.LimitedReader
}

func (p *prefix) Read(b []byte) (int, error) { return p.part.Read(b) }
