package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
)

// Damage records which files were found damaged, so that each is logged and counted only once,
// however often it is read. Any goroutine may use it: mu guards files.
type Damage struct {
	log *Logger

	mu    sync.Mutex
	files map[string]struct{}
}

// File records that the file at this path does not hold what was written.
func (d *Damage) File(path string, why error) {
	d.mu.Lock()
	_, known := d.files[path]
	d.files[path] = struct{}{}
	d.mu.Unlock()
	if !known {
		d.log.Error("storage: file damaged, data in the damaged part cannot be read", "file", path, "err", why)
	}
}

// Files returns how many files were found damaged.
func (d *Damage) Files() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.files)
}

// ErrDamaged is in every error that Found returns.
var ErrDamaged = errors.New("is damaged")

// DamagedFile is a file that does not hold what was written.
type DamagedFile struct{ path, how string }

// Error implements error.
func (d DamagedFile) Error() string {
	return fmt.Sprintf("the file %s %v: %s", d.path, ErrDamaged, d.how)
}

// Unwrap returns ErrDamaged.
func (DamagedFile) Unwrap() error { return ErrDamaged }

// Found records a damaged file and returns the error for its reader.
func (d *Damage) Found(path, how string) error {
	err := DamagedFile{path, how}
	d.File(path, err)
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
