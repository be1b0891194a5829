package account

import (
	"fmt"
	"reflect"
	"time"

	"inboxd/internal/base/fault"
)

// Suppression is an address that the account sends no mail to, because it came back.
type Suppression struct {
	Email   string // lower-case
	Inbox   string // that sent the mail
	Message int64
	Reason  string // what the bounce said
	At      time.Time
}

// Sends counts the mails that were accepted on one day (UTC), for the plan's quota.
type Sends struct {
	Day     int64 // days since 1970-01-01
	Count   int64
	Answers int64 // copies of guests' answers to the account's owner, which are none of Count
}

// AnswerCopiesPerDay is how many copies of guests' answers the owner of an account gets on one day: guests cause
// them, so they have a quota of their own.
const AnswerCopiesPerDay = 200

// On is the count of the day that now falls on.
func (s Sends) On(now time.Time) int64 {
	return s.on(now).Count
}

// on is what was counted on the day of a time: nothing, of another day.
func (s Sends) on(t time.Time) Sends {
	if s.Day == day(t) {
		return s
	}
	return Sends{Day: day(t)}
}

func day(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// CountSend checks a mail against the plan and takes its place in the day's quota
// (specification, Plans). ReturnSend gives a place back whose mail was not
// accepted after all; At is the time that CountSend was decided for. CountAnswerCopy takes the place of a copy of
// guests' answers in the quota of those; Answer gives one back.
type (
	CountSend struct {
		Recipients int
		Files      int
		FileBytes  int64
	}
	CountAnswerCopy struct{}
	ReturnSend      struct {
		At     time.Time
		Answer bool
	}
)

func (c CountSend) decide(s *State, env Env) ([]Event, error) {
	plan := env.Plans.Of(s.Plan)
	title := s.Plan.Title()
	switch {
	case c.Recipients > plan.MaxRecipients:
		return nil, fault.New(fault.Refused, fmt.Sprintf("%s plan allows at most %d recipients per message; this one has %d", title, plan.MaxRecipients, c.Recipients))
	case c.Files > plan.MaxAttachments:
		return nil, fault.New(fault.Refused, fmt.Sprintf("%s plan allows at most %s per message; this one has %d", title, files(plan.MaxAttachments), c.Files))
	case c.FileBytes > plan.MaxAttachmentBytes:
		return nil, fault.New(fault.Refused, fmt.Sprintf("%s plan allows at most %s of attachments per message; this one has %d bytes", title, size(plan.MaxAttachmentBytes), c.FileBytes))
	case s.Sends.On(env.Now) >= plan.SendsPerDay:
		return nil, fault.New(fault.Refused, fmt.Sprintf("%s plan allows at most %d sends a day (UTC). The next day begins in %s", title, plan.SendsPerDay, untilMidnight(env.Now)))
	}
	today := s.Sends.on(env.Now)
	today.Count++
	return []Event{sendsCounted{today}}, nil
}

func (CountAnswerCopy) decide(s *State, env Env) ([]Event, error) {
	today := s.Sends.on(env.Now)
	if today.Answers >= AnswerCopiesPerDay {
		return nil, fault.New(fault.Refused, fmt.Sprintf("An account's owner gets at most %d copies of answers a day (UTC). The next day begins in %s",
			AnswerCopiesPerDay, untilMidnight(env.Now)))
	}
	today.Answers++
	return []Event{sendsCounted{today}}, nil
}

func (c ReturnSend) decide(s *State, _ Env) ([]Event, error) {
	sends := s.Sends
	count := &sends.Count
	if c.Answer {
		count = &sends.Answers
	}
	if sends.Day != day(c.At) || *count == 0 {
		return nil, nil // of a day that is over
	}
	*count--
	return []Event{sendsCounted{sends}}, nil
}

func files(n int) string {
	if n == 1 {
		return "1 attachment"
	}
	return fmt.Sprintf("%d attachments", n)
}

// size writes bytes in the largest unit that divides them.
func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// NextDay is when the next day of quotas begins.
func NextDay(now time.Time) time.Time { return time.Unix((day(now)+1)*24*60*60, 0).UTC() }

func untilMidnight(now time.Time) string {
	left := NextDay(now).Sub(now)
	return fmt.Sprintf("%d h %d min", int(left.Hours()), int(left.Minutes())%60)
}

type sendsCounted struct{ Sends Sends }

func (e sendsCounted) apply(s *State)         { s.Sends = e.Sends }
func (e sendsCounted) rows(s *State, r *Rows) { r.Sends = &e.Sends }

// OnlyCounts reports that the rows hold nothing but the day's count. They need no sync of
// their own: the mail they count is committed behind their position.
func (r *Rows) OnlyCounts() bool {
	rest := *r
	rest.ID, rest.Sends = ID{}, nil
	return r.Sends != nil && reflect.ValueOf(rest).IsZero() // whatever rows there will be
}
