package drive

import (
	"math"
	"testing"
	"time"
)

func TestBoundsNameTheFlag(t *testing.T) {
	type Embedded struct {
		Size int `least:"1250"`
	}
	type options struct {
		Embedded
		PostConnections int           `least:"1"`
		Rate            float64       `least:"0"`
		Mails           float64       `above:"0"`
		Duration        time.Duration `least:"1s"`
		Inboxes         int           `least:"1" most:"5"`
		Sessions        []int         `least:"1" name:"pipelined"`
		Unbound         string
	}
	for want, change := range map[string]func(*options){
		"": func(*options) {},
		"--post-connections must be at least 1, not 0": func(o *options) { o.PostConnections = 0 },
		"--rate must be at least 0, not -1.5":          func(o *options) { o.Rate = -1.5 },
		"--rate must be at least 0, not NaN":           func(o *options) { o.Rate = math.NaN() },
		"--mails must be more than 0, not 0":           func(o *options) { o.Mails = 0 },
		"--duration must be at least 1s, not -1m0s":    func(o *options) { o.Duration = -time.Minute },
		"--inboxes must be at most 5, not 6":           func(o *options) { o.Inboxes = 6 },
		"--pipelined must be at least 1, not 0":        func(o *options) { o.Sessions = []int{1, 0} },
		"--size must be at least 1250, not 1":          func(o *options) { o.Size = 1 },
	} {
		o := options{Embedded{1250}, 1, 0, 0.1, time.Second, 5, []int{1}, ""}
		change(&o)
		got := ""
		if err := Check(o); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The bound of --size, which tags repeat, is the length of a message without filling.
func TestTheLeastSizeIsThatOfAnEmptyMail(t *testing.T) {
	if n := SignInMail(time.Time{}, 0).Len(); n != 1250 {
		t.Errorf("the shortest mail has %d bytes", n)
	}
}
