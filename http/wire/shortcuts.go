package wire

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

const (
	// shortcutWays is how many places an address can have: as many as fit into a cache line
	// beside their tags.
	shortcutWays = 7
	// firstShortcuts and mostShortcuts are lines of a table, powers of two: 4 KiB at first, so
	// that a small fleet's table stays close to the processor, and 4 MiB for 300,000 inboxes.
	firstShortcuts = 1 << 6
	mostShortcuts  = 1 << 16
)

// shortcuts lead from an address to its inbox's response in one step. They are right as long
// as the response is: a newer view takes it out of its place before anybody hears of it.
// Any goroutine may use them: all that changes is atomic.
type shortcuts struct {
	seed  maphash.Seed
	table atomic.Pointer[[]shortcutLine]
}

// shortcutLine is the places of addresses whose hashes meet here. A tag is a byte of the
// hash; one that is out of date costs a comparison or an ordinary look-up.
type shortcutLine struct {
	tags   atomic.Uint64 // one byte for each place, the highest unused
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

// find returns the response to polls of address if it has a place. It may be out of date: its
// reader tells.
func (s *shortcuts) find(address []byte) *Response {
	line, tag := s.of(address)
	differ := line.tags.Load() ^ tag*eachByte
	// A byte that is zero gets its highest bit, and so may, harmlessly, one above it.
	for same := (differ - eachByte) & ^differ & (eachByte << 7); same != 0; same &= same - 1 {
		r := line.places[bits.TrailingZeros64(same)/8].get()
		if r != nil && bytes.Equal(r.address(), address) {
			return r
		}
	}
	return nil
}

// keep gives r a place, if need be that of another, or in a bigger table.
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

// crowded makes the table twice as large when it is half full, going by its first lines: a
// hash has no favourites. The new one starts empty, and polls fill it.
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
