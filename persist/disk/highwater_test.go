package disk

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestHighWaterForm pins what a start accepts.
func TestHighWaterForm(t *testing.T) {
	at, seen := time.UnixMilli(1_795_212_345_678).UTC(), time.UnixMilli(1_795_300_000_000).UTC()
	for want, m := range map[string]highWaterMark{
		"inboxd high-water 3\ncommits 12345\ntime 1795212345678\nseen 1795300000000\nmanifest MANIFEST-000019 408\nsum 4a0f0aaacd5c6f7c\n": {12345, at, seen, manifestEnd{"MANIFEST-000019", 408}},
		"inboxd high-water 2\ncommits 12345\ntime 1795212345678\nseen 1795300000000\nsum c8f333b14681cafd\n":                               {12345, at, seen, manifestEnd{}},        // until ADR 0049 was amended
		"inboxd high-water 1\ncommits 12345\ntime 1795212345678\nsum dda2455ed6aa6e8b\n":                                                   {12345, at, time.Time{}, manifestEnd{}}, // until ADR 0057
	} {
		if got := m.encodeMark(); string(got) != want {
			t.Errorf("written as %q, want %q", got, want)
		}
		if got, ok := readMark([]byte(want)); !ok || got != m {
			t.Errorf("%q is read as %+v, %v", want, got, ok)
		}
	}
}

// TestHighWaterIsNotedAtOnce checks that a commit after an idle period is recorded immediately, and
// later ones together.
func TestHighWaterIsNotedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &DataFolder{FS: vfs.NewMem(), Dir: "data", noTimers: true}
		must(t, f.FS.MkdirAll(f.Dir, 0o700))
		must(t, WriteFile(f.FS, f.Dir, lockName, nil))
		h, err := readHighWater(f, time.Now)
		must(t, err)
		stop := make(chan struct{})
		go h.runWriter(stop, func() bool { return false })
		defer close(stop)
		noted := func(want uint64) {
			t.Helper()
			synctest.Wait()
			if again, err := readHighWater(f, time.Now); err != nil || again.previousMark.commitCount != want {
				t.Errorf("%+v is noted, want %d, %v", again, want, err)
			}
		}
		time.Sleep(time.Hour)
		h.Ack()
		noted(1)
		h.Ack()
		h.Ack()
		noted(1)
		time.Sleep(highWaterEvery)
		noted(3)
		time.Sleep(time.Hour)
		h.Ack()
		noted(4)
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
