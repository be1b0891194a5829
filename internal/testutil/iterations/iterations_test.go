package iterations

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// said is a test that records its messages.
type said struct {
	testing.TB
	log, fatal string
}

func (s *said) Logf(format string, args ...any) { s.log = fmt.Sprintf(format, args...) }

func (s *said) Fatalf(format string, args ...any) {
	s.fatal = fmt.Sprintf(format, args...)
	panic(s.fatal)
}

const variable = "OFTEN_TEST"

// tries returns the numbers of the runs. Each run takes a second.
func tries(t testing.TB, n, each int) (numbers []uint64) {
	for i := range GroupedRuns(t, variable, n, each) {
		numbers = append(numbers, i)
		time.Sleep(time.Second) // of virtual time
	}
	return numbers
}

// TestRuns checks the number of runs by count and by duration, and the total that is logged.
func TestRuns(t *testing.T) {
	for _, c := range []struct {
		says, log string
		n, each   int
		runs      int
	}{
		{"", "4 by OFTEN_TEST in 4s", 4, 1, 4},
		{"", "60 by OFTEN_TEST in 3s", 50, 20, 3}, // 60, since only whole runs count
		{"7", "7 by OFTEN_TEST in 7s", 4, 1, 7},
		{"1", "20 by OFTEN_TEST in 1s", 50, 20, 1},
		{"3s", "3 by OFTEN_TEST in 3s", 4, 1, 3},
		{"1m", "1200 by OFTEN_TEST in 1m0s", 4, 20, 60},
		{"1ms", "1 by OFTEN_TEST in 1s", 4, 1, 1}, // at least one
	} {
		t.Setenv(variable, c.says)
		synctest.Test(t, func(t *testing.T) {
			s := &said{TB: t}
			numbers := tries(s, c.n, c.each)
			if len(numbers) != c.runs || s.log != c.log {
				t.Errorf("%q: %d runs, %q, want %d, %q", c.says, len(numbers), s.log, c.runs, c.log)
			}
			for i := range numbers {
				if numbers[i] != numbers[0]+uint64(i) {
					t.Fatalf("%q: run %d has the number %d, the first %d", c.says, i, numbers[i], numbers[0])
				}
			}
		})
	}
}

// TestNumbers checks that every run by count has the same numbers, and that a run by duration has
// new ones.
func TestNumbers(t *testing.T) {
	for says, same := range map[string]bool{"": true, "2": true, "1ms": false} {
		t.Setenv(variable, says)
		synctest.Test(t, func(t *testing.T) {
			first := map[uint64]bool{}
			for range 3 {
				first[tries(&said{TB: t}, 1, 1)[0]] = true
			}
			if (len(first) == 1) != same || same && !first[0] {
				t.Errorf("%q: three runs begin with %v", says, first)
			}
		})
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for _, says := range []string{"many", "0", "-3", "-1s", "0s"} {
		t.Setenv(variable, says)
		s := &said{TB: t}
		func() {
			defer func() { _ = recover() }()
			tries(s, 4, 1)
		}()
		if want := variable + "=" + says + " is neither a number nor a duration"; s.fatal != want {
			t.Errorf("%q: %q", says, s.fatal)
		}
	}
}
