package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// responses makes n responses for different addresses.
func responses(n int) (out []*PollResponse) {
	for i := range n {
		out = append(out, NewResponse(fmt.Sprint(i, "@x.test"), []byte(strings.Repeat("x", i%7)), []byte(`"1"`), time.Time{}))
	}
	return out
}

// TestShortcutsNeverLeadElsewhere: addresses with the same table line replace each other, and never
// get each other's response.
func TestShortcutsNeverLeadElsewhere(t *testing.T) {
	var s responseTable
	s.init()
	crowd := responses(5 * firstShortcuts * shortcutWays)
	for range 2 {
		for _, r := range crowd {
			s.keepResponse(r)
			if s.findResponse(r.pollAddress()) != r {
				t.Fatalf("%s was kept and is not found", r.pollAddress())
			}
		}
		for _, r := range crowd {
			if got := s.findResponse(r.pollAddress()); got != nil && got != r {
				t.Errorf("%s: the response of %s", r.pollAddress(), got.pollAddress())
			}
		}
	}
	if s.findResponse([]byte("nobody@x.test")) != nil {
		t.Error("an address that nobody kept has an answer")
	}
}

// TestShortcutsMakeRoom: the table grows with the number of inboxes, so that nearly all find a
// place, but not beyond its limit.
func TestShortcutsMakeRoom(t *testing.T) {
	var s responseTable
	s.init()
	crowd := responses(10_000)
	for range 3 { // responses lost when the table grew are stored again when they are polled
		for _, r := range crowd {
			if s.findResponse(r.pollAddress()) == nil {
				s.keepResponse(r)
			}
		}
	}
	missing := 0
	for _, r := range crowd {
		if s.findResponse(r.pollAddress()) == nil {
			missing++
		}
	}
	lines := len(*s.linesTable.Load())
	if missing > len(crowd)/50 || lines*shortcutWays > 8*len(crowd) {
		t.Errorf("%d of %d have no place in %d lines", missing, len(crowd), lines)
	}
	s.resize(mostShortcuts)
	if s.growCrowded() || len(*s.linesTable.Load()) != mostShortcuts {
		t.Error("the table outgrows its bound")
	}
}

// TestALineOfShortcutsIsACacheLine, and the table has the documented size.
func TestALineOfShortcutsIsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(shortcutLine{}); size != 64 || size*mostShortcuts != 4<<20 {
		t.Errorf("%d bytes", size)
	}
}
