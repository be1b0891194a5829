package rule

import (
	"testing"
	"time"
)

// FuzzRule checks that times come in order, from the first on, and that the walk ends.
func FuzzRule(f *testing.F) {
	for _, s := range []string{"FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY;BYDAY=MO,SU;WKST=SU", "FREQ=MONTHLY;BYDAY=-1FR;BYSETPOS=1", "FREQ=YEARLY;BYWEEKNO=1,-1;BYHOUR=9", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;UNTIL=20300101"} {
		f.Add(s, int64(1772445600))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		first := time.Unix(unix%(1<<32), 0).UTC()
		last, n := first.Add(-time.Second), 0
		r.Walk(first, first, first.AddDate(200, 0, 0), func(at time.Time) bool {
			if !at.After(last) {
				t.Fatalf("%v after %v", at, last)
			}
			last = at
			n++
			return n < 1000
		})
	})
}
