package mailqueue

import (
	"fmt"
	"testing"
	"time"

	"inboxd/internal/core/inbox"
)

func TestBacklogFollowsEveryMove(t *testing.T) {
	at := func(minutes int) time.Time { return time.Unix(int64(minutes)*60, 0) }
	c := backlog{}
	for _, step := range []struct {
		move inbox.Queued
		want string // depth and age of the oldest, at minute 100
	}{
		{inbox.Queued{To: at(10), Since: at(10)}, "1 1h30m0s"},
		{inbox.Queued{To: at(20), Since: at(20)}, "2 1h30m0s"},
		{inbox.Queued{From: at(10), To: at(40), Since: at(10), Leased: true}, "2 1h30m0s"},
		{inbox.Queued{From: at(40), Since: at(10)}, "1 1h20m0s"},
		{inbox.Queued{From: at(20), Since: at(20)}, "0 0s"},
	} {
		c.note(step.move)
		if mails, oldest := c.depth(at(100)); fmt.Sprint(mails, oldest) != step.want {
			t.Errorf("after %+v: %d %v, want %s", step.move, mails, oldest, step.want)
		}
	}
	if len(c) != 0 {
		t.Errorf("minutes are left: %v", c)
	}
}
