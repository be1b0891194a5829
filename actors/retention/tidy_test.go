package retention

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// TestTidyGoesWithTheGroups checks that a round processes the accounts of acquired groups, and
// those noted before the last round. Lost groups are dropped, and another node's accounts are not
// retried.
func TestTidyGoesWithTheGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []account.ID // in three groups
		for n := 0; len(all) < 3; n++ {
			id := account.ID{byte(n), byte(n >> 8)}
			if !slices.ContainsFunc(all, func(o account.ID) bool { return o.HomePartition().Group() == id.HomePartition().Group() }) {
				all = append(all, id)
			}
		}
		var tidied []int
		moved := -1
		tidy := NewContentCleaner(func(after account.ID, limit int) ([]account.ID, error) {
			return all[slices.Index(all, after)+1:], nil
		}, slog.New(slog.DiscardHandler), func(_ context.Context, id account.ID, _ uint64, _ int) (uint64, bool, error) {
			n := slices.Index(all, id)
			tidied = append(tidied, n)
			if n == moved {
				return 0, false, partition.ErrMoved
			}
			return 0, false, nil
		})
		group := func(n int) partition.Group { return all[n].HomePartition().Group() }
		is := func(when string, want ...int) {
			t.Helper()
			tidied = nil
			tidy.runRound(t.Context())
			if slices.Sort(tidied); !slices.Equal(tidied, want) {
				t.Errorf("%s: %v, want %v", when, tidied, want)
			}
		}
		_, _, _ = tidy.AcquireGroup(group(1)), tidy.AcquireGroup(group(2)), tidy.ReleaseGroup(group(2))
		is("gained one, and one for a moment", 1)
		for n := range 3 {
			tidy.NoteRemoved(all[n])
		}
		_ = tidy.ReleaseGroup(group(0))
		is("just noted")
		_ = tidy.ReleaseGroup(group(1))
		moved = 2
		is("noted before, but for what was lost", 2)
		is("moved")
		is("moved, and no more")
	})
}
