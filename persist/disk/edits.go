package disk

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

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

// edit reads a record of a manifest, as far as value files need it. Its first error stays.
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

// table passes over a table: level, number, size, bounds, two sequence numbers, and what else is
// told of it.
func (e *edit) table(ranges bool) {
	e.numbers(3)
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

// values notes the value files that come and go with the record.
func (e *edit) values(live map[uint64]bool) error {
	for {
		tag, err := binary.ReadUvarint(e)
		if err != nil {
			return e.err // the record's end
		}
		switch tag {
		case tagComparer:
			e.texts(1)
		case tagLog, tagNextFile, tagLastSequence, tagPreviousLog, tagBackingGone:
			e.number()
		case tagDeletedTable, tagBacking:
			e.numbers(2)
		case tagTable, tagTableRanges:
			e.table(tag == tagTableRanges)
		case tagValueFile:
			e.number()
			live[e.number()] = true
			e.numbers(3)
		case tagValueFileGone:
			e.number()
			delete(live, e.number())
		default:
			return errUnknownEdit
		}
		if e.err != nil {
			return e.err
		}
	}
}

// liveValueFiles are the numbers of the value files that there should be. None where the manifest
// says what is not known here: that is for the engine to judge.
func liveValueFiles(manifest []byte) map[uint64]bool {
	live := map[uint64]bool{}
	for records := record.NewReader(bytes.NewReader(manifest), 0); ; {
		r, err := records.Next()
		if err != nil {
			return live // the end, torn or not
		}
		if (&edit{Reader: bufio.NewReader(r)}).values(live) != nil {
			return nil
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
