package persist

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/core/inbox"
)

// smallInbox is a store with an inbox that was configured once and then received messages. Many
// other inboxes move the content of these messages to other blocks than their rows. A middle and
// the last message are deleted.
func smallInbox(t *testing.T) (fs *vfs.MemFS, left []int64) {
	t.Helper()
	fs = vfs.NewCrashableMem()
	s := open(t, fs)
	for n := range 200 {
		must(t, s.CommitInbox(mail(fmt.Sprintf("other%d@example.org", n), 1, "x")))
	}
	for id := int64(1); id <= 15; id++ {
		r := mail(victim, id, large(id))
		r.Profile.Label = "billing"
		r.WriteSpareCopy = id == 1
		must(t, s.CommitInbox(r))
		left = append(left, id)
	}
	must(t, s.CommitInbox(&inbox.Rows{Address: victim, DropMessages: []*inbox.Message{{ID: 4}, {ID: 15}}}))
	must(t, s.db.Flush())
	must(t, s.db.Compact(t.Context(), []byte{0}, []byte{255}, false))
	closeStore(t, s)
	return fs, slices.DeleteFunc(left, func(id int64) bool { return id == 4 || id == 15 })
}

// withoutProfile is smallInbox with a damaged block, the one with the profile.
func withoutProfile(t *testing.T) (fs *vfs.MemFS, left []int64) {
	t.Helper()
	mem, left := smallInbox(t)
	tables := filesOf(t, mem, ".sst")
	for _, path := range tables {
		for at := 100; at < int(must1(mem.Stat(path))(t).Size())/2; at += 600 {
			fs := mem.CrashClone(vfs.CrashCloneCfg{})
			flip(t, fs, path, at)
			s, err := Open(folder, options(fs))
			if err != nil {
				continue
			}
			_, own := s.hasKey(appendText(nil, kindInbox, victim))
			spare, _ := s.hasKey(appendText(nil, kindSpare, victim))
			closeStore(t, s)
			if own != nil && spare {
				return fs, left
			}
		}
	}
	t.Fatal("no flip costs the profile and not its spare")
	return nil, nil
}

// TestLostProfile covers an inbox whose profile and adjacent rows are unreadable. Every remaining
// message is listed, and the inbox keeps its configuration. No id is reused, and its due entry is
// found.
func TestLostProfile(t *testing.T) {
	fs, left := withoutProfile(t)
	o := options(fs)
	o.Now = func() time.Time { return at(500) }
	s := must1(Open(folder, o))(t)
	st := must1(s.LoadInbox(victim))(t)
	var named []int64
	for _, m := range st.Messages {
		if m.IsDamaged {
			named = append(named, m.ID)
		}
	}
	if !slices.Equal(named, left) {
		t.Errorf("%d are named, %d are left", named, left)
	}
	if st.Label != "billing" || st.RetentionHours != 1 || st.Account != accountID(1) || !st.CreatedAt.Equal(at(0)) || st.LastID < 1<<40 || st.LastEvent < 1<<40 || !st.DueAt.Equal(at(500)) {
		t.Errorf("it goes on as %+v", st.Profile)
	}
	if id, err := s.AccountOf(victim); err != nil || id != accountID(1) {
		t.Errorf("it is %x's, %v", id, err)
	}
	r := mail(victim, st.LastID+1, "new")
	must(t, s.CommitInbox(r))
	st = must1(s.LoadInbox(victim))(t)
	if st.LastID != r.Profile.LastID || len(st.Messages) != len(left)+1 {
		t.Errorf("after a mail it has %d messages and ids up to %d", len(st.Messages), st.LastID)
	}
	closeStore(t, s)
}

// TestRepairOfALostProfile checks that the copy has the profile again.
func TestRepairOfALostProfile(t *testing.T) {
	fs, _ := withoutProfile(t)
	must1(RepairFolder(folder, "/repaired", options(fs), func(string) {}))(t)
	if problems := fmt.Sprint(problemsOf(t, fs, "/repaired")); strings.Contains(problems, "profile") {
		t.Error(problems)
	}
	copied := must1(Open("/repaired", options(fs)))(t)
	defer closeStore(t, copied)
	if st := must1(copied.LoadInbox(victim))(t); st.Label != "billing" || !st.IsLive() {
		t.Errorf("the copy has %+v", st.Profile)
	}
}
