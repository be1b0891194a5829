package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// responses makes n responses for different addresses.
func responses(n int) (out []*Response) {
	for i := range n {
		out = append(out, NewResponse(fmt.Sprint(i, "@x.test"), []byte(strings.Repeat("x", i%7)), []byte(`"1"`), time.Time{}))
	}
	return out
}

// TestShortcutsNeverLeadElsewhere: addresses with the same table line replace each other, and never
// get each other's response.
func TestShortcutsNeverLeadElsewhere(t *testing.T) {
	var s shortcuts
	s.init()
	crowd := responses(5 * firstShortcuts * shortcutWays)
	for range 2 {
		for _, r := range crowd {
			s.keep(r)
			if s.find(r.address()) != r {
				t.Fatalf("%s was kept and is not found", r.address())
			}
		}
		for _, r := range crowd {
			if got := s.find(r.address()); got != nil && got != r {
				t.Errorf("%s: the response of %s", r.address(), got.address())
			}
		}
	}
	if s.find([]byte("nobody@x.test")) != nil {
		t.Error("an address that nobody kept has an answer")
	}
}

// TestShortcutsMakeRoom: the table grows with the number of inboxes, so that nearly all find a
// place, but not beyond its limit.
func TestShortcutsMakeRoom(t *testing.T) {
	var s shortcuts
	s.init()
	crowd := responses(10_000)
	for range 3 { // responses lost when the table grew are stored again when they are polled
		for _, r := range crowd {
			if s.find(r.address()) == nil {
				s.keep(r)
			}
		}
	}
	missing := 0
	for _, r := range crowd {
		if s.find(r.address()) == nil {
			missing++
		}
	}
	lines := len(*s.table.Load())
	if missing > len(crowd)/50 || lines*shortcutWays > 8*len(crowd) {
		t.Errorf("%d of %d have no place in %d lines", missing, len(crowd), lines)
	}
	s.resize(mostShortcuts)
	if s.crowded() || len(*s.table.Load()) != mostShortcuts {
		t.Error("the table outgrows its bound")
	}
}

// TestALineOfShortcutsIsACacheLine, and the table has the documented size.
func TestALineOfShortcutsIsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(shortcutLine{}); size != 64 || size*mostShortcuts != 4<<20 {
		t.Errorf("%d bytes", size)
	}
}
