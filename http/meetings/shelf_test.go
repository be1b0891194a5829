package meetings

import (
	"testing"
	"time"
)

// TestShelvesAreBounded: what was not asked for the longest goes first, and all when nobody asks.
func TestShelvesAreBounded(t *testing.T) {
	s := newShelf[int]()
	for i, address := range []string{"a", "b", "c"} {
		s.put(address, i+1, shelfHolds/3)
	}
	if any := func(int) bool { return true }; s.of("a", any) != 1 || s.of("e", any) != 0 { // a is used
		t.Fatal("not what was kept")
	}
	if s.of("b", func(int) bool { return false }) != 0 {
		t.Error("what does not fit was given")
	}
	s.put("d", 4, shelfHolds/3)
	if s.kept["a"] == nil || s.kept["b"] != nil || s.kept["d"] == nil || s.Held() > shelfHolds || len(s.kept) != 3 {
		t.Errorf("%d kept, %d octets", len(s.kept), s.Held())
	}
	s.put("d", 5, 100)
	if s.Held() != shelfHolds/3*2+leastKept {
		t.Errorf("%d octets after one took the place of another", s.Held())
	}
	if s.put("d", 6, shelfHolds/2+1); s.kept["d"] != nil {
		t.Error("one fills half of the room, or what it replaces stays")
	}
	for _, k := range s.kept {
		k.used = time.Now().Add(-shelfIdle)
	}
	if s.dropIdle(); s.Held() != 0 || s.sweep != nil {
		t.Errorf("%d octets are held of what nobody asks for", s.Held())
	}
}
