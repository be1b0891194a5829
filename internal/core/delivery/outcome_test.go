package delivery

import (
	"slices"
	"testing"
	"time"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		code     int
		enhanced string
		want     AttemptOutcome
	}{
		{250, "2.1.5", OutcomeDelivered}, {251, "", OutcomeDelivered}, {299, "", OutcomeDelivered},
		{354, "", OutcomeTemporary}, {199, "", OutcomeTemporary}, {0, "", OutcomeTemporary}, {600, "", OutcomeTemporary}, {999, "5.0.0", OutcomeTemporary},
		{421, "4.7.0", OutcomeTemporary}, {450, "", OutcomeTemporary}, {451, "5.7.1", OutcomeTemporary}, {452, "4.2.2", OutcomeTemporary},
		{500, "", OutcomePermanent}, {550, "5.1.1", OutcomePermanent}, {550, "", OutcomePermanent}, {553, "", OutcomePermanent}, {554, "5.7.1", OutcomePermanent}, {599, "", OutcomePermanent},
		{550, "4.1.1", OutcomePermanent}, // the reply code decides
		{552, "5.2.2", OutcomePermanent}, {552, "", OutcomePermanent}, {552, "4.5.3", OutcomeTemporary}, {552, "5.5.3", OutcomeTemporary},
		{530, "5.7.0", OutcomeTemporary}, {535, "5.7.8", OutcomeTemporary}, {534, "", OutcomeTemporary}, {538, "", OutcomeTemporary},
	} {
		if got := ClassifyReply(c.code, c.enhanced); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.code, c.enhanced, got, c.want)
		}
	}
}

func TestCauses(t *testing.T) {
	permanent := []FailureCause{NullMX, NoDomain, BadAddress, NeedsSMTPUTF8, Needs8Bit, TooLarge, BadMessage}
	for c := NoCause; c <= BadMessage; c++ {
		want := OutcomeTemporary
		if slices.Contains(permanent, c) {
			want = OutcomePermanent
		}
		if c.Outcome() != want || c != NoCause && c.EnhancedCode() == "" {
			t.Errorf("cause %d: %s %q", c, c.Outcome(), c.EnhancedCode())
		}
	}
}

func TestSchedule(t *testing.T) {
	accepted := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var waits []time.Duration
	now, tries := accepted, 0
	for {
		tries++
		due, ok := RetrySchedule{}.NextRetry(tries, accepted, now, 0.5)
		if !ok {
			break
		}
		waits = append(waits, due.Sub(now))
		now = due
	}
	m, h := time.Minute, time.Hour
	want := []time.Duration{m, 5 * m, 15 * m, 30 * m, h, 2 * h, 4 * h}
	if !slices.Equal(waits[:7], want) || waits[7] != 4*h || waits[16] != 4*h {
		t.Errorf("waits %v", waits)
	}
	if now.Sub(accepted) != 48*h || tries != 19 {
		t.Errorf("the last of %d attempts is %s after acceptance", tries, now.Sub(accepted))
	}
}

func TestScheduleJitterAndEnd(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	s := RetrySchedule{RetryDelays: []time.Duration{time.Second, 10 * time.Second}, MaxAge: time.Minute}
	for _, c := range []struct {
		attempts int
		after    time.Duration
		jitter   float64
		want     time.Duration // -1: no further attempt
	}{
		{1, 0, 0, 900 * time.Millisecond},
		{1, 0, 0.5, time.Second},
		{2, 0, 1, 11 * time.Second},
		{99, 0, 0.5, 10 * time.Second},
		{0, 0, 0.5, time.Second},
		{2, 55 * time.Second, 0.5, 5 * time.Second},
		{2, time.Minute, 0.5, -1},
		{2, time.Hour, 0.5, -1},
	} {
		now := at.Add(c.after)
		due, ok := s.NextRetry(c.attempts, at, now, c.jitter)
		if ok != (c.want >= 0) || ok && due.Sub(now).Round(time.Millisecond) != c.want {
			t.Errorf("%+v: %s %v", c, due.Sub(now), ok)
		}
	}
}

func TestParseDelays(t *testing.T) {
	if got, err := ParseDelays("1m, 5m,15m"); err != nil || !slices.Equal(got, []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "1m,", "x", "0s", "-1m", "721h", "5"} {
		if got, err := ParseDelays(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
