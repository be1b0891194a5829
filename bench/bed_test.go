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
	return prepared(t, ServerOptions{Inboxd: self, ServeArgs: serveArgs, Dir: t.TempDir(), Accounts: 2})
}

// prepared is a bed that the test's end closes.
func prepared(t *testing.T, opts ServerOptions) *Bed {
	t.Helper()
	bed, err := Prepare(t.Context(), "inbox-bench test", opts)
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
