package persist

import (
	"flag"
	"os"
	"testing"
)

// TestMain limits the property tests, each of which draws whole histories of commits. -rapid.checks
// on the command line takes precedence.
func TestMain(m *testing.M) {
	watchAll()
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		_ = flag.Set("rapid.checks", "5")
		_ = flag.Set("rapid.steps", "15")
	}
	os.Exit(m.Run())
}
