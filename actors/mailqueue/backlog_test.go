package mailqueue

import (
	"fmt"
	"testing"
	"time"

	"inboxd/internal/core/inbox"
)

func TestBacklogFollowsEveryMove(t *testing.T) {
	at := func(minutes int) time.Time { return time.Unix(int64(minutes)*60, 0) }
	c := minuteBacklog{}
	for _, step := range []struct {
		move inbox.QueueMove
		want string // depth and age of the oldest, at minute 100
	}{
		{inbox.QueueMove{To: at(10), AcceptedAt: at(10)}, "1 1h30m0s"},
		{inbox.QueueMove{To: at(20), AcceptedAt: at(20)}, "2 1h30m0s"},
		{inbox.QueueMove{From: at(10), To: at(40), AcceptedAt: at(10), AttemptLeased: true}, "2 1h30m0s"},
		{inbox.QueueMove{From: at(40), AcceptedAt: at(10)}, "1 1h20m0s"},
		{inbox.QueueMove{From: at(20), AcceptedAt: at(20)}, "0 0s"},
	} {
		c.noteMove(step.move)
		if mailCount, oldest := c.countWaiting(at(100)); fmt.Sprint(mailCount, oldest) != step.want {
			t.Errorf("after %+v: %d %v, want %s", step.move, mailCount, oldest, step.want)
		}
	}
	if len(c) != 0 {
		t.Errorf("minutes are left: %v", c)
	}
}
