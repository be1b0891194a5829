package meetings

import (
	"testing"
)

func TestPagesEndBehindTheFirstThatIsTooMuch(t *testing.T) {
	all := book("a", "b", "c").Meetings
	for most, want := range map[int]int{1: 0, 2: 1, 200: 1, 1 << 20: 3} {
		if text, n := AppendPage([]byte("["), all, most); n != want || n > 0 && (n < 3) != (len(text) >= most) {
			t.Errorf("%d meetings and %d octets of at most %d", n, len(text), most)
		}
	}
}

// TestSizeOfCoversThePage: a page larger than its buffer is copied, which costs as much as
// rendering it.
func TestSizeOfCoversThePage(t *testing.T) {
	all := book("Quarterly review", "Stand-up", "Lunch").Meetings
	for _, m := range all {
		m.RowBytes = int64(len(m.UID) + len(m.Title)) // at least: a row contains its texts
	}
	page, n := AppendPage(nil, all, 1<<20)
	if size := SizeOf(all); n != len(all) || size < int64(len(page)) || size > 2*int64(len(page)) {
		t.Errorf("%d meetings in %d bytes, reckoned as %d", n, len(page), size)
	}
}
