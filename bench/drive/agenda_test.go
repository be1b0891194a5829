package drive

import (
	"testing"
	"time"
)

func TestAgendaComesBackToEachAgentExactly(t *testing.T) {
	start := time.Now().Add(-time.Minute) // all of it is due by now
	a := NewAgenda(start, start.Add(2*time.Minute), 2*time.Second, []time.Duration{0, 300 * time.Millisecond, 1900 * time.Millisecond})
	for n := range 30 {
		agent, from, ok := a.Next()
		want := start.Add(time.Duration(n/3)*2*time.Second + []time.Duration{0, 300 * time.Millisecond, 1900 * time.Millisecond}[n%3])
		if !ok || agent != n%3 || !from.Equal(want) {
			t.Fatalf("call %d: agent %d, due %v after the start, want %v", n, agent, from.Sub(start), want.Sub(start))
		}
	}
}

func TestStreamKeepsSeconds(t *testing.T) {
	s := NewStream("polls", "inboxd", time.Now().Add(-2500*time.Millisecond))
	s.Record(3 * time.Millisecond)
	s.Record(5 * time.Millisecond)
	s.Refuse("503")
	s.Fail("500")
	s.Unsent(time.Second)
	line := s.Timeline()
	if len(line.Seconds) != 3 {
		t.Fatalf("%+v", line)
	}
	now := line.Seconds[2]
	if now.Count != 2 || now.Refused != 1 || now.Errors != 1 || now.P99 < 900 || line.Seconds[1].Count != 0 {
		t.Errorf("%+v", line)
	}
	res := s.Result(2 * time.Second)
	if res.Count != 2 || res.Refused != 1 || res.FirstRefusal != "503" || res.Errors != 1 || res.FirstError != "500" || res.Unsent != 1 || res.PerSecond != 1 {
		t.Errorf("%+v", res)
	}
	if last, ok := s.Last(); !ok || last.Count != 0 {
		t.Errorf("the last second that is over: %+v, %v", last, ok)
	}
}
