package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Format of a manifest: blocks of 32 KiB; chunks do not cross blocks. A chunk is a checksum of what
// follows the length (4 bytes), the payload's length (2), the kind of chunk (1 to 4) and the
// payload.
const (
	manifestBlock = 32 << 10
	chunkHead     = sumLen + 2 + 1
	lastChunkKind = 4
)

// manifestEnd is how far a manifest is durable. The engine only appends to it, and syncs it after
// each record.
type manifestEnd struct {
	fileName string // of the file, without the folder
	length   int64
}

// CheckManifest refuses a damaged manifest of the engine. The engine would take the damage for the
// end that a crash left, and ignore what follows. It would then remove files with messages in them,
// and count the loss only afterwards. CheckManifest also records the missing value files that the
// manifest lists.
func (f *DataFolder) CheckManifest(path string) error {
	data, err := ReadFile(f.FS, path)
	if err != nil {
		return err
	}
	at := 0
	for next := 0; next >= 0; next = chunkEnd(data, at) {
		at = next
	}
	if end := f.Commits.previousMark.manifestEnd; end.fileName == f.FS.PathBase(path) && int64(at) < end.length {
		return f.DamageLog.NoteDamage(path, fmt.Sprintf("from byte %d on it can't be read, but it was on disk up to byte %d", at, end.length))
	}
	for behind := at + 1; behind < len(data); behind++ {
		if chunkEnd(data, behind) >= 0 {
			return f.DamageLog.NoteDamage(path, fmt.Sprintf("from byte %d on it can't be read, but it goes on at %d", at, behind))
		}
	}
	if !isTorn(data, at) {
		return f.DamageLog.NoteDamage(path, fmt.Sprintf("its last record, at byte %d, can't be read", at))
	}
	dir, live := f.FS.PathDir(path), filesOf(data)
	f.noteMissing(dir, live.values)
	return errors.Join(f.checkTables(dir, live.tables), f.checkTables(dir, live.backings))
}

// sectorSize is the unit in bytes that a disk writes atomically.
const sectorSize = 512

// isTorn reports whether a crash may have left the data after the last intact chunk of a manifest:
// nothing, less than its length says, or zeros in place of a sector. A complete chunk was written,
// so a failed checksum means that something changed it later.
func isTorn(data []byte, at int) bool {
	at = chunkBegin(at)
	if at+chunkHead > len(data) {
		return true
	}
	head := data[at : at+chunkHead]
	end := at + chunkHead + int(binary.LittleEndian.Uint16(head[sumLen:]))
	if end > len(data) { // or its length was changed
		return engineSum(data[at+chunkHead-1:]) != binary.LittleEndian.Uint32(head)
	}
	for from, to := at, 0; from < end; from = to {
		to = min(end, from-from%sectorSize+sectorSize)
		if len(bytes.Trim(data[from:to], "\x00")) == 0 {
			return true
		}
	}
	return false
}

// chunkEnd returns where the chunk at a position ends, -1 if it is not intact.
func chunkEnd(data []byte, at int) int {
	at = chunkBegin(at)
	if at+chunkHead > len(data) {
		return -1
	}
	head := data[at : at+chunkHead]
	kind := head[chunkHead-1]
	end := at + chunkHead + int(binary.LittleEndian.Uint16(head[sumLen:]))
	fits := end <= len(data) && (end-1)/manifestBlock == at/manifestBlock
	if kind == 0 || kind > lastChunkKind || !fits || engineSum(data[at+chunkHead-1:end]) != binary.LittleEndian.Uint32(head) {
		return -1
	}
	return end
}

// chunkBegin returns where the chunk at a position begins.
func chunkBegin(at int) int {
	if left := manifestBlock - at%manifestBlock; left < chunkHead {
		at += left // too short for a chunk: padding
	}
	return at
}
