package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The form of a manifest: blocks of 32 KiB, which chunks don't cross. A chunk is a checksum of
// what follows the length (4 bytes), the payload's length (2), the kind of chunk (1 to 4) and
// the payload.
const (
	manifestBlock = 32 << 10
	chunkHead     = sumLen + 2 + 1
	lastChunkKind = 4
)

// manifestEnd is how far a manifest is on disk. The engine only appends to one, and syncs it after each record.
type manifestEnd struct {
	name   string // of the file, without the folder
	length int64
}

// CheckManifest refuses a manifest of the engine that is damaged. The engine would take the damage
// for the end of what a crash left, and what comes behind it for unwritten: it would remove files
// with mail in them, and count the loss only afterwards. It notes the value files of which the
// manifest tells and that are missing.
func (f *Folder) CheckManifest(path string) error {
	data, err := ReadFile(f.FS, path)
	if err != nil {
		return err
	}
	at := 0
	for next := 0; next >= 0; next = chunkEnd(data, at) {
		at = next
	}
	if end := f.Commits.previous.manifest; end.name == f.FS.PathBase(path) && int64(at) < end.length {
		return f.Damage.Found(path, fmt.Sprintf("from byte %d on it can't be read, but it was on disk up to byte %d", at, end.length))
	}
	for behind := at + 1; behind < len(data); behind++ {
		if chunkEnd(data, behind) >= 0 {
			return f.Damage.Found(path, fmt.Sprintf("from byte %d on it can't be read, but it goes on at %d", at, behind))
		}
	}
	if !isTorn(data, at) {
		return f.Damage.Found(path, fmt.Sprintf("its last record, at byte %d, can't be read", at))
	}
	dir, live := f.FS.PathDir(path), filesOf(data)
	f.noteMissing(dir, live.values)
	return errors.Join(f.checkTables(dir, live.tables), f.checkTables(dir, live.backings))
}

// sector is what a disk writes whole or not at all.
const sector = 512

// isTorn reports whether what is behind the last whole chunk of a manifest may be what a crash left of
// one that was being written: nothing, less than it says, or zeros in a sector's place. A chunk
// that is all there was written, and something else changed it.
func isTorn(data []byte, at int) bool {
	at = chunkBegin(at)
	if at+chunkHead > len(data) {
		return true
	}
	head := data[at : at+chunkHead]
	end := at + chunkHead + int(binary.LittleEndian.Uint16(head[sumLen:]))
	if end > len(data) { // or its length is what changed
		return engineSum(data[at+chunkHead-1:]) != binary.LittleEndian.Uint32(head)
	}
	for from, to := at, 0; from < end; from = to {
		to = min(end, from-from%sector+sector)
		if len(bytes.Trim(data[from:to], "\x00")) == 0 {
			return true
		}
	}
	return false
}

// chunkEnd is where the chunk at a place ends, -1 when there is no whole one.
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

// chunkBegin is where the chunk at a place begins.
func chunkBegin(at int) int {
	if left := manifestBlock - at%manifestBlock; left < chunkHead {
		at += left // too short for a chunk: filled up
	}
	return at
}
