package inbox_test

import (
	"sync"
	"testing"
	"time"

	"inboxd/internal/core/inbox"
)

// at is a moment some hours after start.
func at(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }

// mixed contains received messages 1 (over at hour 10), 2 (read), 4 (over at hour 6, the newest
// received) and sent messages 3 and 5.
func mixed() *inbox.View {
	return inbox.NewView(&inbox.State{Messages: []*inbox.Message{
		{ID: 1, Direction: inbox.In, ReceivedAt: at(1), ExpiresAt: at(10), Subject: "first", OTP: "111111"},
		{ID: 2, Direction: inbox.In, ReceivedAt: at(2), ExpiresAt: at(20), Subject: "second", IsRead: true},
		{ID: 3, Direction: inbox.Out, ReceivedAt: at(3), ExpiresAt: at(20), Subject: "sent"},
		{ID: 4, Direction: inbox.In, ReceivedAt: at(4), ExpiresAt: at(6), Subject: "newest", OTP: "444444"},
		{ID: 5, Direction: inbox.Out, ReceivedAt: at(5), ExpiresAt: at(8), Subject: "sent too"},
	}})
}

func TestLatest(t *testing.T) {
	withCode := func(m *inbox.Message) bool { return m.OTP != "" }
	received := func(m *inbox.Message) bool { return m.Direction == inbox.In }
	nobody := func(*inbox.Message) bool { return false }
	for _, c := range []struct {
		hour  int
		match func(*inbox.Message) bool
		want  int64 // 0: none
	}{
		{5, nil, 5}, {8, nil, 3}, {5, received, 4}, {6, received, 2}, {19, received, 2}, {20, nil, 0},
		{5, withCode, 4}, {6, withCode, 1}, {10, withCode, 0}, {5, nobody, 0},
	} {
		m := mixed().LatestMatching(at(c.hour), c.match)
		if got := idOf(m); got != c.want {
			t.Errorf("hour %d: message %d, want %d", c.hour, got, c.want)
		}
	}
	if m := inbox.NewView(&inbox.State{}).LatestMatching(start, nil); m != nil {
		t.Errorf("an empty inbox holds %+v", m)
	}
}

func TestMessage(t *testing.T) {
	v := mixed()
	for _, c := range []struct {
		id   int64
		hour int
		want int64 // 0: none
	}{
		{4, 5, 4}, {4, 6, 0}, {3, 19, 3}, {1, 0, 1}, {0, 0, 0}, {6, 0, 0}, {-1, 0, 0},
	} {
		if got := idOf(v.Message(c.id, at(c.hour))); got != c.want {
			t.Errorf("message %d at hour %d: %d", c.id, c.hour, got)
		}
	}
}

func idOf(m *inbox.Message) int64 {
	if m == nil {
		return 0
	}
	return m.ID
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		hour, messages, unread int
		last                   time.Time
	}{
		{5, 5, 2, at(5)}, {6, 4, 1, at(5)}, {8, 3, 1, at(3)}, {10, 2, 0, at(3)}, {20, 0, 0, time.Time{}},
	} {
		messages, unread, last := mixed().MessageCounts(at(c.hour))
		if messages != c.messages || unread != c.unread || !last.Equal(c.last) {
			t.Errorf("hour %d: %d messages, %d unread, last %v; want %+v", c.hour, messages, unread, last, c)
		}
	}
}

// TestViewsNeverChange publishes a view after each command and checks all of them again at the end.
func TestViewsNeverChange(t *testing.T) {
	s := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	type shot struct {
		view     *inbox.View
		messages []inbox.Message
		profile  inbox.Profile
	}
	var shots []shot
	for _, cmd := range []inbox.Command{
		create(), mail("one"), mail("two"), inbox.MarkRead{ID: 1, Read: true}, mail("three"), inbox.DeleteMessage{ID: 2},
		mail("four"), inbox.MarkRead{ID: 4, Read: true}, inbox.MarkRead{ID: 1}, mail("five"), inbox.Burn{}, mail("six"), inbox.Delete{},
	} {
		evs, _, err := inbox.Decide(s, cmd, env(start))
		if err != nil {
			t.Fatal(err)
		}
		change(s, evs)
		now := shot{view: inbox.NewView(s), profile: s.Profile}
		for _, m := range s.Messages {
			now.messages = append(now.messages, *m)
		}
		shots = append(shots, now)
	}
	for n, shot := range shots {
		if shot.view.Profile != shot.profile || len(shot.view.Messages) != len(shot.messages) {
			t.Fatalf("view %d is now of %+v with %d messages", n, shot.view.Profile, len(shot.view.Messages))
		}
		for i, m := range shot.view.Messages {
			if *m != shot.messages[i] {
				t.Errorf("view %d: message %+v was %+v", n, *m, shot.messages[i])
			}
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestSuperseded wakes those that wait before and those that come after, in any order.
func TestSuperseded(t *testing.T) {
	v := mixed()
	early := v.SupersededSignal()
	if closed(early) || v.SupersededSignal() != early {
		t.Error("a view in force is superseded, or has two channels")
	}
	v.Supersede()
	v.Supersede()
	if !closed(early) || !closed(v.SupersededSignal()) {
		t.Error("a superseded view keeps somebody waiting")
	}
	nobodyWaited := mixed()
	nobodyWaited.Supersede()
	if !closed(nobodyWaited.SupersededSignal()) {
		t.Error("who comes after the end waits for ever")
	}
}

// TestSupersedeRace lets waiters and publishers use the same view: all waiters must wake.
func TestSupersedeRace(t *testing.T) {
	for range 200 {
		v := mixed()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { <-v.SupersededSignal() })
		}
		for range 2 {
			all.Go(v.Supersede)
		}
		all.Wait()
	}
}
