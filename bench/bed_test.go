package bench

import (
	"os"
	"testing"

	"inboxd/bench/benchtest"
)

func TestMain(m *testing.M) { benchtest.Main(m) }

// fakeBed is a bed on the fake, started the way the real server is.
func fakeBed(t *testing.T, serveArgs ...string) *Bed {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bed, err := Prepare(t.Context(), "inbox-bench test",
		ServerOptions{Inboxd: self, ServeArgs: serveArgs, Dir: t.TempDir(), Accounts: 2, Commit: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}
