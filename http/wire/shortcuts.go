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

// shortcuts map an address to the response of its inbox in one step. An entry is valid as long as
// its response: a newer view removes it from its place before anybody can see that view. Any
// goroutine may use them: everything that changes is atomic.
type shortcuts struct {
	seed  maphash.Seed
	table atomic.Pointer[[]shortcutLine]
}

// shortcutLine holds the places of addresses whose hashes select this line. A tag is one byte of
// the hash. A stale tag costs a comparison or an ordinary look-up, never a wrong response.
type shortcutLine struct {
	tags   atomic.Uint64 // one byte for each place; the highest byte is unused
	places [shortcutWays]place
}

const eachByte = 0x01010101010101

func (s *shortcuts) init() {
	s.seed = maphash.MakeSeed()
	s.resize(firstShortcuts)
}

func (s *shortcuts) resize(lines int) {
	table := make([]shortcutLine, lines)
	s.table.Store(&table)
}

func (s *shortcuts) of(address []byte) (line *shortcutLine, tag uint64) {
	h, table := maphash.Bytes(s.seed, address), *s.table.Load()
	return &table[h&uint64(len(table)-1)], h >> 56
}

// find returns the response to polls of address if it has a place. The response may be superseded:
// its reader shows that.
func (s *shortcuts) find(address []byte) *Response {
	line, tag := s.of(address)
	differ := line.tags.Load() ^ tag*eachByte
	// A byte that is zero gets its highest bit set. The byte above it may get it too, which is
	// harmless.
	for same := (differ - eachByte) & ^differ & (eachByte << 7); same != 0; same &= same - 1 {
		r := line.places[bits.TrailingZeros64(same)/8].get()
		if r != nil && bytes.Equal(r.address(), address) {
			return r
		}
	}
	return nil
}

// keep gives r a place. If none is free, it enlarges the table or replaces another response.
func (s *shortcuts) keep(r *Response) {
	line, tag := s.of(r.address())
	way := line.free()
	if way < 0 && s.crowded() {
		line, tag = s.of(r.address())
		way = line.free()
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
	line.places[way].put(r)
}

func (l *shortcutLine) free() int {
	for i := range l.places {
		if l.places[i].get() == nil {
			return i
		}
	}
	return -1
}

// crowded doubles the table if it is half full. It samples the first lines, because a hash spreads
// evenly. The new table starts empty, and polls fill it.
func (s *shortcuts) crowded() bool {
	table := *s.table.Load()
	taken := 0
	for i := range firstShortcuts {
		for k := range table[i].places {
			if table[i].places[k].get() != nil {
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
