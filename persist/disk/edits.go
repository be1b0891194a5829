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

// Tags of a manifest's records and of a table's fields, from Pebble's format. That format only adds
// tags.
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

// manifestEdit parses a manifest record, as far as file names need it. It keeps the first error.
type manifestEdit struct {
	*bufio.Reader
	firstErr error
}

func (e *manifestEdit) readNumber() (n uint64) {
	if e.firstErr == nil {
		n, e.firstErr = binary.ReadUvarint(e)
	}
	return n
}

func (e *manifestEdit) skipNumbers(n int) {
	for range n {
		e.readNumber()
	}
}

// skipTexts skips n length-prefixed texts.
func (e *manifestEdit) skipTexts(n int) {
	for range n {
		if length := e.readNumber(); e.firstErr == nil {
			_, e.firstErr = e.Discard(int(length))
		}
	}
}

// liveFiles are the files that a manifest lists: value files, and tables with their sizes. A
// virtual table lies in another file, its backing, which is listed separately.
type liveFiles struct {
	values           map[uint64]bool
	tables, backings map[uint64]uint64
}

// readTable parses a table: level, number, size, bounds, two sequence numbers, and further fields.
func (e *manifestEdit) readTable(ranges bool, live *liveFiles) {
	e.readNumber()
	number, size := e.readNumber(), e.readNumber()
	live.tables[number] = size
	bounds := 2
	if ranges {
		marker, err := e.ReadByte()
		e.firstErr = errors.Join(e.firstErr, err)
		if marker&tableHasPoints != 0 {
			bounds += 2
		}
	}
	e.skipTexts(bounds)
	e.skipNumbers(2)
	for e.firstErr == nil {
		switch e.readNumber() {
		case tableEnds:
			return
		case tableVirtual:
			e.readNumber()
			delete(live.tables, number)
		case tableValueRefs:
			e.readNumber()
			for range e.readNumber() {
				if e.skipNumbers(2); e.firstErr != nil {
					return
				}
			}
		default:
			e.skipTexts(1)
		}
	}
}

var errUnknownEdit = errors.New("unknown tag")

// readFiles applies the added and removed files of the record. For a moved table, the removal precedes
// the addition.
func (e *manifestEdit) readFiles(live *liveFiles) error {
	for {
		tag, err := binary.ReadUvarint(e)
		if err != nil {
			return e.firstErr // end of the record
		}
		switch tag {
		case tagComparer:
			e.skipTexts(1)
		case tagLog, tagNextFile, tagLastSequence, tagPreviousLog:
			e.readNumber()
		case tagDeletedTable:
			e.readNumber()
			delete(live.tables, e.readNumber())
		case tagBacking:
			number := e.readNumber()
			live.backings[number] = e.readNumber()
		case tagBackingGone:
			delete(live.backings, e.readNumber())
		case tagTable, tagTableRanges:
			e.readTable(tag == tagTableRanges, live)
		case tagValueFile:
			e.readNumber()
			live.values[e.readNumber()] = true
			e.skipNumbers(3)
		case tagValueFileGone:
			e.readNumber()
			delete(live.values, e.readNumber())
		default:
			return errUnknownEdit
		}
		if e.firstErr != nil {
			return e.firstErr
		}
	}
}

// filesOf returns the files that a manifest lists. It returns none if the manifest has unknown
// tags: the engine must decide about those.
func filesOf(manifest []byte) liveFiles {
	live := liveFiles{map[uint64]bool{}, map[uint64]uint64{}, map[uint64]uint64{}}
	for records := record.NewReader(bytes.NewReader(manifest), 0); ; {
		r, err := records.Next()
		if err != nil {
			return live // the end, torn or not
		}
		if (&manifestEdit{Reader: bufio.NewReader(r)}).readFiles(&live) != nil {
			return liveFiles{}
		}
	}
}

// noteMissing records the missing value files. The engine checks only tables when it opens, and
// panics at the first read from a value file that it did not list. So waitFS lists the missing
// files, and opening one returns an error.
func (f *DataFolder) noteMissing(dir string, live map[uint64]bool) {
	for number := range live {
		path := f.FS.PathJoin(dir, fmt.Sprintf("%06d.blob", number))
		if _, err := f.FS.Stat(path); errors.Is(err, os.ErrNotExist) {
			_ = f.DamageLog.NoteDamage(path, "it is missing")
			f.missingFiles = append(f.missingFiles, path)
		}
	}
}

// checkTables refuses a table that is missing or has another size; the engine would do the same
// with a less clear error. A reader is shown missing tables, too, and gets the error when it opens
// them: for their key range, other tables may hold only older data, which must not be read.
func (f *DataFolder) checkTables(dir string, tables map[uint64]uint64) error {
	for _, number := range slices.Sorted(maps.Keys(tables)) {
		path := f.FS.PathJoin(dir, fmt.Sprintf("%06d.sst", number))
		info, err := f.FS.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			f.missingFiles = append(f.missingFiles, path)
			err = f.DamageLog.NoteDamage(path, "it is missing")
		case err == nil && uint64(info.Size()) != tables[number]:
			err = f.DamageLog.NoteDamage(path, fmt.Sprintf("it has %d bytes of %d", info.Size(), tables[number]))
		}
		if err != nil && !f.isReadOnly {
			return LostTable{err}
		}
		if err != nil {
			f.tableErrors[path] = err
		}
	}
	return nil
}

// LostTable is the reason why a folder cannot be opened although its other tables are intact.
type LostTable struct{ Err error }

// Error implements error.
func (l LostTable) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l LostTable) Unwrap() error { return l.Err }
