package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable/blob"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// valueFile is one of the engine's value files (db/*.blob), open for reading. It verifies what is
// read before the engine does, because Pebble 2.1.7 handles damage badly. A damaged footer, and a
// damaged block during a rewrite, cause a panic; in the background such a panic ends the process,
// at each start again. An error that is not Pebble's own is returned like a disk error
// (docs/pebble-separated-value-error.md). It is immutable.
type valueFile struct {
	vfs.File
	damageLog    *DamageLog
	fileName     string
	blocksLength int64 // length of the part before the footer
}

// Format of a value file, version 1: blocks, each followed by its compression (1 byte) and checksum
// (4), and a footer: checksum (4), index (16), kind of the blocks' checksums (1), version (1),
// number (8), magic (8).
const (
	valueFooterLen = 38
	valueKindAt    = 20
	valueForm      = "\x01\x01" // CRC-32C, version 1
	valueMagic     = "\xf0\x9f\xaa\xb3\xf0\x9f\xa6\x80"
)

func isValueFile(name string) bool { return strings.HasSuffix(name, ".blob") }

// openValueFile verifies the footer of f. If the footer is damaged, it closes f.
func openValueFile(f vfs.File, name string, damage *DamageLog) (vfs.File, error) {
	v := &valueFile{File: f, damageLog: damage, fileName: name}
	err := v.readFooter()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return v, nil
}

func (v *valueFile) readFooter() error {
	info, err := v.Stat()
	if err != nil {
		return err
	}
	if v.blocksLength = info.Size() - valueFooterLen; v.blocksLength < 0 {
		return v.damageLog.NoteDamage(v.fileName, fmt.Sprintf("it has %d bytes", info.Size()))
	}
	footer := make([]byte, valueFooterLen)
	if _, err := v.File.ReadAt(footer, v.blocksLength); err != nil {
		return err
	}
	if engineSum(footer[sumLen:]) != binary.LittleEndian.Uint32(footer) || !strings.HasSuffix(string(footer), valueMagic) {
		return v.damageLog.NoteDamage(v.fileName, "the checksum of its footer differs")
	}
	if !strings.HasPrefix(string(footer[valueKindAt:]), valueForm) {
		return v.damageLog.NoteDamage(v.fileName, fmt.Sprintf("its format %x is unknown", footer[valueKindAt:valueKindAt+len(valueForm)]))
	}
	return nil
}

// ReadAt reads one block with its checksum, as the engine always does, or the footer.
func (v *valueFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := v.File.ReadAt(p, off)
	if end := len(p) - sumLen; err == nil && off < v.blocksLength && end > 0 && engineSum(p[:end]) != binary.LittleEndian.Uint32(p[end:]) {
		return 0, v.damageLog.NoteDamage(v.fileName, fmt.Sprintf("the checksum of its block at %d differs", off))
	}
	return n, err
}

// rewriteCategory is the write category of a rewritten value file.
const rewriteCategory vfs.DiskWriteCategory = "pebble-blob-file-rewrite"

// NoteRewrite records which value file the engine is about to rewrite; it rewrites one at a time.
func (f *DataFolder) NoteRewrite(name string) { f.rewritingFile.Store(&name) }

// fitToRewrite reads a value file completely before the engine rewrites it. A block that fails
// during a rewrite would end the process, whatever the error. A rewrite that cannot create its new
// file is only abandoned.
func (fs *waitFS) fitToRewrite() error {
	name := fs.folder.rewritingFile.Load()
	if name == nil {
		return nil
	}
	f, err := fs.Open(*name)
	if err != nil {
		return err
	}
	readable, err := objstorageprovider.NewFileReadable(f, fs, objstorageprovider.NewReadaheadConfig(), *name)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := blob.NewFileReader(context.Background(), readable, blob.FileReaderOptions{})
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(readBlocks(f, r), r.Close())
}

// readBlocks reads every block of f, a valueFile whose index r reads.
func readBlocks(f vfs.File, r *blob.FileReader) error {
	index, err := r.ReadIndexBlock(context.Background(), block.NoReadEnv, nil)
	if err != nil {
		return err
	}
	defer index.Release()
	const head, column = 4, 1 // the length of the header before the columns, and the column of the offsets
	var columns colblk.BlockDecoder
	columns.Init(index.BlockData(), head)
	offsets := colblk.DecodeColumn(&columns, column, columns.Rows()+1, colblk.DataTypeUint, colblk.DecodeUnsafeUints)
	for i := range columns.Rows() {
		begin, end := offsets.At(i), offsets.At(i+1)
		if _, err := f.ReadAt(make([]byte, end-begin), int64(begin)); err != nil {
			return err
		}
	}
	return nil
}
