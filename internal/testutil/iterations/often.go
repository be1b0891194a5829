// Package iterations says how many times a test tries what it draws at random: a few in every run, and as many as the
// environment says, or for as long as it says, where somebody lets it run for hours. It refuses to know what is tried.
package iterations

import (
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Times yields the number of each try: 0 to n-1, or as many as the variable says. Where that is a duration, such as 3m,
// tries begin until it is over, at least one, and their numbers begin at a random one, so that a test that draws by
// them draws what was not drawn before. How many there were is logged.
func Times(t testing.TB, variable string, n int) iter.Seq[uint64] { return Runs(t, variable, n, 1) }

// Runs is Times for what is tried some at a time: it yields the numbers of runs, of which each counts for so many.
func Runs(t testing.TB, variable string, n, each int) iter.Seq[uint64] {
	first, within := uint64(0), time.Duration(0)
	if said := os.Getenv(variable); said != "" {
		var err error
		if n, err = strconv.Atoi(said); err != nil {
			first = uint64(rand.Uint32())
			within, err = time.ParseDuration(said)
		}
		if err != nil || n <= 0 && within <= 0 {
			t.Fatalf("%s=%s is neither a number nor a duration", variable, said)
		}
	}
	return func(yield func(uint64) bool) {
		began, done := time.Now(), 0
		defer func() { t.Logf("%d by %s in %v", done, variable, time.Since(began).Round(time.Millisecond)) }()
		for k := uint64(0); done < n || within > 0 && (k == 0 || time.Since(began) < within); k++ {
			done += each
			if !yield(first + k) {
				return
			}
		}
	}
}
