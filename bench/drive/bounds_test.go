package drive

import (
	"cmp"
	"math"
	"testing"
	"time"
)

func TestBoundsNameTheFlag(t *testing.T) {
	for want, err := range map[string]error{
		"--rounds must be at least 1, not 0":        AtLeast(1, map[string]int{"--sessions": 1, "--rounds": 0}),
		"--rate must be at least 0, not -1.5":       AtLeast(0, map[string]float64{"--rate": -1.5}),
		"--rate must be at least 0, not NaN":        AtLeast(0, map[string]float64{"--rate": math.NaN()}),
		"--duration must be at least 1s, not -1m0s": AtLeast(time.Second, map[string]time.Duration{"--duration": -time.Minute}),
		"--inboxes must be at most 5, not 6":        AtMost(5, map[string]int{"--inboxes": 6, "--reads": 5}),
		"--mails must be more than 0, not 0":        Rate("--mails", 0),
		"--size must be at least 1250, not 1":       Size(1),
		"":                                          cmp.Or(AtLeast(1, map[string]int{"--rounds": 1}), AtMost(1, map[string]int{"--rounds": 1}), Rate("--mails", 0.1), Size(MailSize)),
	} {
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		} else if want != "" {
			t.Errorf("nothing, want %s", want)
		}
	}
}
