package disk

import (
	"io"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// An open log can be read up to where it was written when it was opened. After that position lies
// the old content of the file. A copy made during writes may have an old block before a new one.
// The engine then reports the copy as damaged, because the new block records that the old one was
// synced (Pebble issue 5142).

// liveLog counts the bytes written to a log. Only the engine's writing goroutine uses it; any
// goroutine may read length.
type liveLog struct {
	vfs.File
	fs        *waitFS
	logName   string
	logLength atomic.Int64
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// trackLog makes f, which is empty or reused, the log of this name.
func (fs *waitFS) trackLog(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !isLog(name) || fs.isForeign(name) {
		return f, err
	}
	l := &liveLog{File: f, fs: fs, logName: name}
	fs.liveLogs.Store(name, l)
	return l, nil
}

func (l *liveLog) Write(p []byte) (int, error) {
	n, err := l.File.Write(p)
	l.logLength.Add(int64(n))
	return n, err
}

func (l *liveLog) Close() error {
	l.fs.liveLogs.Delete(l.logName)
	return l.File.Close()
}

// wrapLog returns f, limited to its written part if it is a live log.
func (fs *waitFS) wrapLog(name string, f vfs.File) vfs.File {
	l, is := fs.liveLogs.Load(name)
	if !is {
		return f
	}
	return &prefixReader{f, io.LimitedReader{R: f, N: l.(*liveLog).logLength.Load()}}
}

// prefixReader reads the first part of a file.
type prefixReader struct {
	vfs.File
	limitedPart io.LimitedReader
}

func (p *prefixReader) Read(b []byte) (int, error) { return p.limitedPart.Read(b) }
