package wire

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

const (
	// shortcutWays is how many places an address can have: as many as fit into a cache line
	// together with their tags.
	shortcutWays = 7
	// firstShortcuts and mostShortcuts are the smallest and largest number of lines of a table,
	// powers of two. The first table has 4 KiB, so that it stays in the processor's cache when
	// there are few inboxes. The largest has 4 MiB, for 300,000 inboxes.
	firstShortcuts = 1 << 6
	mostShortcuts  = 1 << 16
)

// responseTable map an address to the response of its inbox in one step. An entry is valid as long as
// its response: a newer view removes it from its place before anybody can see that view. Any
// goroutine may use them: everything that changes is atomic.
type responseTable struct {
	hashSeed   maphash.Seed
	linesTable atomic.Pointer[[]shortcutLine]
}

// shortcutLine holds the places of addresses whose hashes select this line. A tag is one byte of
// the hash. A stale tag costs a comparison or an ordinary look-up, never a wrong response.
type shortcutLine struct {
	tags   atomic.Uint64 // one byte for each place; the highest byte is unused
	places [shortcutWays]responsePlace
}

const eachByte = 0x01010101010101

func (s *responseTable) init() {
	s.hashSeed = maphash.MakeSeed()
	s.resize(firstShortcuts)
}

func (s *responseTable) resize(lines int) {
	table := make([]shortcutLine, lines)
	s.linesTable.Store(&table)
}

func (s *responseTable) of(address []byte) (line *shortcutLine, tag uint64) {
	h, table := maphash.Bytes(s.hashSeed, address), *s.linesTable.Load()
	return &table[h&uint64(len(table)-1)], h >> 56
}

// findResponse returns the response to polls of address if it has a place. The response may be
// superseded: its reader shows that.
func (s *responseTable) findResponse(address []byte) *PollResponse {
	line, tag := s.of(address)
	differ := line.tags.Load() ^ tag*eachByte
	// A byte that is zero gets its highest bit set. The byte above it may get it too, which is
	// harmless.
	for same := (differ - eachByte) & ^differ & (eachByte << 7); same != 0; same &= same - 1 {
		r := line.places[bits.TrailingZeros64(same)/8].loadResponse()
		if r != nil && bytes.Equal(r.pollAddress(), address) {
			return r
		}
	}
	return nil
}

// keepResponse gives r a place. If none is free, it enlarges the table or replaces another response.
func (s *responseTable) keepResponse(r *PollResponse) {
	line, tag := s.of(r.pollAddress())
	way := line.freePlace()
	if way < 0 && s.growCrowded() {
		line, tag = s.of(r.pollAddress())
		way = line.freePlace()
	}
	if way < 0 {
		way = int(tag) % shortcutWays
	}
	for {
		old := line.tags.Load()
		if line.tags.CompareAndSwap(old, old&^(0xff<<(8*way))|tag<<(8*way)) {
			break
		}
	}
	line.places[way].storeResponse(r)
}

func (l *shortcutLine) freePlace() int {
	for i := range l.places {
		if l.places[i].loadResponse() == nil {
			return i
		}
	}
	return -1
}

// growCrowded doubles the table if it is half full. It samples the first lines, because a hash spreads
// evenly. The new table starts empty, and polls fill it.
func (s *responseTable) growCrowded() bool {
	table := *s.linesTable.Load()
	taken := 0
	for i := range firstShortcuts {
		for k := range table[i].places {
			if table[i].places[k].loadResponse() != nil {
				taken++
			}
		}
	}
	if len(table) == mostShortcuts || taken < firstShortcuts*shortcutWays/2 {
		return false
	}
	s.resize(2 * len(table))
	return true
}
