package groups

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"inboxd/internal/base/partition"
)

// reported records the calls of holders.
type reported []string

func (l *reported) holder(name string, fails bool) GroupHolder {
	return holder{
		gain: func(g partition.Group) error {
			*l = append(*l, fmt.Sprint("gain ", name, g))
			if fails {
				return errors.New("no")
			}
			return nil
		},
		lose: func(g partition.Group) error { *l = append(*l, fmt.Sprint("lose ", name, g)); return nil },
	}
}

type holder struct{ gain, lose func(partition.Group) error }

func (h holder) AcquireGroup(g partition.Group) error { return h.gain(g) }
func (h holder) ReleaseGroup(g partition.Group) error { return h.lose(g) }

// TestOrder checks that a loss runs in reverse order, and so does a failed gain, from the holder
// that failed.
func TestOrder(t *testing.T) {
	var l reported
	whole := New(l.holder("a", false), l.holder("b", false))
	if err := errors.Join(whole.AcquireGroup(7), whole.ReleaseGroup(7)); err != nil {
		t.Error(err)
	}
	if err := New(l.holder("a", false), l.holder("b", true), l.holder("c", false)).AcquireGroup(8); err == nil {
		t.Error("a gain that failed is told as one")
	}
	want := reported{"gain a7", "gain b7", "lose b7", "lose a7", "gain a8", "gain b8", "lose b8", "lose a8"}
	if !slices.Equal(l, want) {
		t.Errorf("%v", l)
	}
}

// TestRows checks that nothing is admitted any more while ReleaseGroup waits for pending writes,
// and that a failed drain is returned.
func TestRows(t *testing.T) {
	own, failed := partition.NewOwner(partition.OwnershipMap{}), errors.New("no")
	drained := false
	r := RowHolder{own, func(g partition.Group) error {
		drained = g == 7 && !own.OwnsGroup(7)
		return failed
	}}
	if err := r.AcquireGroup(7); err != nil || !own.OwnsGroup(7) {
		t.Errorf("gained: %v", err)
	}
	if err := r.ReleaseGroup(7); !errors.Is(err, failed) || !drained {
		t.Errorf("lost: %v, drained %v", err, drained)
	}
}
