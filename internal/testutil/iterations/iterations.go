// Package iterations sets how many times a test repeats its random part: a few times in every run,
// or the number or duration in an environment variable for runs of hours. It does not know what is
// tested.
package iterations

import (
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Times yields the number of each iteration: 0 to n-1, or as many as the variable says. If the
// variable is a duration, such as 3m, iterations begin until it has passed, at least one. Their
// numbers then start at a random one, so that a test seeded by them uses new random data. The total
// is logged.
func Times(t testing.TB, variable string, n int) iter.Seq[uint64] {
	return GroupedRuns(t, variable, n, 1)
}

// GroupedRuns is Times for tests that make several iterations per run. It yields the numbers of
// runs; each counts as each iterations.
func GroupedRuns(t testing.TB, variable string, n, each int) iter.Seq[uint64] {
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
