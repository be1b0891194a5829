package disk

import (
	"encoding/binary"
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

// CheckManifest refuses a manifest of the engine that is damaged before its end. The engine would
// take the damage for the end of what a crash left, and what comes behind it for unwritten: it
// would remove files with mail in them, and count the loss only afterwards.
func (f *Folder) CheckManifest(path string) error {
	data, err := ReadFile(f.FS, path)
	if err != nil {
		return err
	}
	at := 0
	for next := 0; next >= 0; next = chunkEnd(data, at) {
		at = next
	}
	for behind := at + 1; behind < len(data); behind++ {
		if chunkEnd(data, behind) >= 0 {
			return f.Damage.Found(path, fmt.Sprintf("from byte %d on it can't be read, but it goes on at %d", at, behind))
		}
	}
	return nil
}

// chunkEnd is where the chunk at a place ends, -1 when there is no whole one.
func chunkEnd(data []byte, at int) int {
	if left := manifestBlock - at%manifestBlock; left < chunkHead {
		at += left // too short for a chunk: filled up
	}
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
