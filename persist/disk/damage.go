package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
)

// DamageLog records which files were found damaged, so that each is logged and counted only once,
// however often it is read. Any goroutine may use it: mu guards files.
type DamageLog struct {
	log *StoreLogger

	mu           sync.Mutex
	damagedFiles map[string]struct{}
}

// NoteFile records that the file at this path does not hold what was written.
func (d *DamageLog) NoteFile(path string, why error) {
	d.mu.Lock()
	_, known := d.damagedFiles[path]
	d.damagedFiles[path] = struct{}{}
	d.mu.Unlock()
	if !known {
		d.log.Error("storage: file damaged, data in the damaged part cannot be read", "file", path, "err", why)
	}
}

// FileCount returns how many files were found damaged.
func (d *DamageLog) FileCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.damagedFiles)
}

// ErrDamaged is in every error that NoteDamage returns.
var ErrDamaged = errors.New("is damaged")

// DamagedFile is a file that does not hold what was written.
type DamagedFile struct{ filePath, damageText string }

// Error implements error.
func (d DamagedFile) Error() string {
	return fmt.Sprintf("the file %s %v: %s", d.filePath, ErrDamaged, d.damageText)
}

// Unwrap returns ErrDamaged.
func (DamagedFile) Unwrap() error { return ErrDamaged }

// NoteDamage records a damaged file and returns the error for its reader.
func (d *DamageLog) NoteDamage(path, how string) error {
	err := DamagedFile{path, how}
	d.NoteFile(path, err)
	return err
}

// sumLen is the length of a checksum in the engine's files.
const sumLen = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// engineSum is the engine's checksum: CRC-32C, rotated, plus a constant.
func engineSum(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}
