package persist

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes the properties fit a test run: each draws whole histories of commits.
// -rapid.checks on the command line wins.
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
