package disk

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/record"
)

// The tags of a manifest's records, and of what follows a table in them: of Pebble's format, which
// only adds.
const (
	tagComparer      = 1
	tagLog           = 2
	tagNextFile      = 3
	tagLastSequence  = 4
	tagDeletedTable  = 6
	tagPreviousLog   = 9
	tagTable         = 103
	tagTableRanges   = 104
	tagBacking       = 105
	tagBackingGone   = 106
	tagValueFile     = 107
	tagValueFileGone = 108

	tableEnds      = 1
	tableVirtual   = 66
	tableValueRefs = 69
	tableHasPoints = 1 // bit of the byte before the bounds
)

// edit reads a record of a manifest, as far as the names of files need it. Its first error stays.
type edit struct {
	*bufio.Reader
	err error
}

func (e *edit) number() (n uint64) {
	if e.err == nil {
		n, e.err = binary.ReadUvarint(e)
	}
	return n
}

func (e *edit) numbers(n int) {
	for range n {
		e.number()
	}
}

// texts passes over n texts with their lengths.
func (e *edit) texts(n int) {
	for range n {
		if length := e.number(); e.err == nil {
			_, e.err = e.Discard(int(length))
		}
	}
}

// liveFiles are the files that a manifest says there are: value files, and tables with their sizes. Virtual tables lie in
// others, which are told apart from tables.
type liveFiles struct {
	values           map[uint64]bool
	tables, backings map[uint64]uint64
}

// table reads a table: level, number, size, bounds, two sequence numbers, and what else is told of it.
func (e *edit) table(ranges bool, live *liveFiles) {
	e.number()
	number, size := e.number(), e.number()
	live.tables[number] = size
	bounds := 2
	if ranges {
		marker, err := e.ReadByte()
		e.err = errors.Join(e.err, err)
		if marker&tableHasPoints != 0 {
			bounds += 2
		}
	}
	e.texts(bounds)
	e.numbers(2)
	for e.err == nil {
		switch e.number() {
		case tableEnds:
			return
		case tableVirtual:
			e.number()
			delete(live.tables, number)
		case tableValueRefs:
			e.number()
			for range e.number() {
				if e.numbers(2); e.err != nil {
					return
				}
			}
		default:
			e.texts(1)
		}
	}
}

var errUnknownEdit = errors.New("unknown tag")

// files notes the files that come and go with the record. A table that moves is gone before it is there.
func (e *edit) files(live *liveFiles) error {
	for {
		tag, err := binary.ReadUvarint(e)
		if err != nil {
			return e.err // the record's end
		}
		switch tag {
		case tagComparer:
			e.texts(1)
		case tagLog, tagNextFile, tagLastSequence, tagPreviousLog:
			e.number()
		case tagDeletedTable:
			e.number()
			delete(live.tables, e.number())
		case tagBacking:
			number := e.number()
			live.backings[number] = e.number()
		case tagBackingGone:
			delete(live.backings, e.number())
		case tagTable, tagTableRanges:
			e.table(tag == tagTableRanges, live)
		case tagValueFile:
			e.number()
			live.values[e.number()] = true
			e.numbers(3)
		case tagValueFileGone:
			e.number()
			delete(live.values, e.number())
		default:
			return errUnknownEdit
		}
		if e.err != nil {
			return e.err
		}
	}
}

// filesOf are the files that there should be. None where the manifest says what is not known here: that is for the
// engine to judge.
func filesOf(manifest []byte) liveFiles {
	live := liveFiles{map[uint64]bool{}, map[uint64]uint64{}, map[uint64]uint64{}}
	for records := record.NewReader(bytes.NewReader(manifest), 0); ; {
		r, err := records.Next()
		if err != nil {
			return live // the end, torn or not
		}
		if (&edit{Reader: bufio.NewReader(r)}).files(&live) != nil {
			return liveFiles{}
		}
	}
}

// noteMissing notes the value files that are not there. The engine checks tables only, and panics at
// the first read from a value file that it did not see when it opened: so it is shown them (waitFS),
// and opening one is an error.
func (f *Folder) noteMissing(dir string, live map[uint64]bool) {
	for number := range live {
		path := f.FS.PathJoin(dir, fmt.Sprintf("%06d.blob", number))
		if _, err := f.FS.Stat(path); errors.Is(err, os.ErrNotExist) {
			_ = f.Damage.Found(path, "it is missing")
			f.missing = append(f.missing, path)
		}
	}
}

// checkTables refuses a table that is missing or of another size, as the engine would in words of its own. Whoever only
// reads is shown those that are missing, too, and meets the damage when opening such a table: what other tables have
// there may be older, and is not read.
func (f *Folder) checkTables(dir string, tables map[uint64]uint64) error {
	for _, number := range slices.Sorted(maps.Keys(tables)) {
		path := f.FS.PathJoin(dir, fmt.Sprintf("%06d.sst", number))
		info, err := f.FS.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			f.missing = append(f.missing, path)
			err = f.Damage.Found(path, "it is missing")
		case err == nil && uint64(info.Size()) != tables[number]:
			err = f.Damage.Found(path, fmt.Sprintf("it has %d bytes of %d", info.Size(), tables[number]))
		}
		if err != nil && !f.reading {
			return LostTable{err}
		}
		if err != nil {
			f.broken[path] = err
		}
	}
	return nil
}

// LostTable is why a folder can't be opened whose other tables are whole.
type LostTable struct{ Err error }

func (l LostTable) Error() string { return l.Err.Error() }

// Unwrap gives the cause.
func (l LostTable) Unwrap() error { return l.Err }
