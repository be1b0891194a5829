package inbox_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"inboxd/internal/core/inbox"
)

// lane is a rendering that records whether it was retired.
type lane struct {
	ended atomic.Int32
	at    int64
}

func (l *lane) Retire()         { l.ended.Add(1) }
func (l *lane) PolledAt() int64 { return l.at }

// tagged is an inbox with messages 1 and 2 to +one, 3 to +two, none to +none, and a lane for each.
func tagged(t *testing.T) (s *inbox.State, v *inbox.View, lanes map[string]*lane) {
	s = &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	for _, cmd := range []inbox.Command{create(), to("one"), to("one"), to("two")} {
		decided(t, s, cmd)
	}
	v, lanes = inbox.NewView(s), map[string]*lane{}
	for _, tag := range []string{"one", "two", "none"} {
		lanes[tag] = new(lane)
		if !v.KeepRendering(lanePrefix+tag, lanes[tag]) {
			t.Fatalf("no place for %s", tag)
		}
	}
	return s, v, lanes
}

const lanePrefix = "a+"

func to(tag string) inbox.Receive {
	m := mail(tag)
	m.EnvelopeTo = lanePrefix + tag
	return m
}

func both(tag, other string) inbox.Receive {
	m := to(tag)
	m.NamedRecipients = []string{m.EnvelopeTo, lanePrefix + other}
	return m
}

func decided(t *testing.T, s *inbox.State, cmd inbox.Command) {
	t.Helper()
	evs, _, err := inbox.Decide(s, cmd, env(start))
	if err != nil {
		t.Fatal(err)
	}
	change(s, evs)
}

// TestLanesPassOn checks that the next view keeps the lanes of unchanged tags; the others are
// retired.
func TestLanesPassOn(t *testing.T) {
	for name, c := range map[string]struct {
		cmd  inbox.Command
		left []string
	}{
		"a mail to one":           {to("one"), []string{"none", "two"}},
		"the first mail to a tag": {to("none"), []string{"one", "two"}},
		"a mail to nobody's lane": {to("other"), []string{"none", "one", "two"}},
		"a mail to two":           {both("one", "none"), []string{"two"}},
		"the newest of one read":  {inbox.MarkRead{ID: 2, Read: true}, []string{"none", "two"}},
		"the last of all read":    {inbox.MarkRead{ID: 3, Read: true}, []string{"none", "one"}},
		"an older of one deleted": {inbox.DeleteMessage{ID: 1}, []string{"none", "two"}},
		"the newest of two gone":  {inbox.DeleteMessage{ID: 3}, []string{"none", "one"}},
		"all gone":                {inbox.Burn{}, []string{"none"}},
		"another retention":       {inbox.UpdateSettings{RetentionHours: new(int)}, []string{"none", "one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, v, lanes := tagged(t)
			decided(t, s, c.cmd)
			next := inbox.NewView(s)
			v.SupersedeBy(next)
			for tag, l := range lanes {
				left := slices.Contains(c.left, tag)
				if carried := next.RecipientRendering(lanePrefix+tag) == inbox.Rendering(l); carried != left || l.ended.Load() == 0 != left {
					t.Errorf("%s: carried on %v, ended %d times", tag, carried, l.ended.Load())
				}
			}
			if v.KeepRendering(lanePrefix+"late", new(lane)) {
				t.Error("a superseded view took a lane")
			}
			next.Supersede()
			for tag, l := range lanes {
				if l.ended.Load() != 1 || next.RecipientRendering(lanePrefix+tag) != nil {
					t.Errorf("%s: ended %d times with its inbox", tag, l.ended.Load())
				}
			}
		})
	}
}

// TestLanesAreBounded also checks that a new rendering retires the previous one.
func TestLanesAreBounded(t *testing.T) {
	s, v, lanes := tagged(t)
	for i := range inbox.MaxRecipientRenderings - len(lanes) {
		if !v.KeepRendering(fmt.Sprint("a+", i), new(lane)) {
			t.Fatalf("%d lanes were enough", i+len(lanes))
		}
	}
	if v.KeepRendering("a+more", new(lane)) || v.RecipientRendering("a+more") != nil {
		t.Error("there is no end of lanes")
	}
	again := &lane{at: 7}
	if !v.KeepRendering("a+one", again) || lanes["one"].ended.Load() != 1 || v.RecipientRendering("a+one") != inbox.Rendering(again) {
		t.Error("a lane has no place for its own successor")
	}
	if v.PolledAt() != 7 {
		t.Errorf("polled at %d", v.PolledAt())
	}
	decided(t, s, to("two"))
	next := inbox.NewView(s)
	v.SupersedeBy(next)
	if !next.KeepRendering("a+more", new(lane)) {
		t.Error("the place of a lane that ended is lost")
	}
}

// TestLanesRace checks that a concurrent rendering is either stored or refused, and that the last
// view contains no retired one.
func TestLanesRace(t *testing.T) {
	s, v, _ := tagged(t)
	var now atomic.Pointer[inbox.View]
	now.Store(v)
	var all sync.WaitGroup
	ended := make([]map[string]*lane, 4)
	for i := range ended {
		ended[i] = map[string]*lane{}
		all.Go(func() {
			for range 500 {
				tag, l := fmt.Sprint("a+", i), new(lane)
				if now.Load().KeepRendering(tag, l) {
					ended[i][tag] = l
				}
			}
		})
	}
	for i := range 100 {
		decided(t, s, to(fmt.Sprint(i%8)))
		next := inbox.NewView(s)
		old := now.Swap(next)
		old.SupersedeBy(next)
	}
	all.Wait()
	last := now.Load()
	for _, lanes := range ended {
		for tag := range maps.Keys(lanes) {
			if l, _ := last.RecipientRendering(tag).(*lane); l != nil && l.ended.Load() != 0 {
				t.Errorf("%s is carried although it ended", tag)
			}
		}
	}
}
