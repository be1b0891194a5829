package account

import (
	"fmt"
	"reflect"
	"time"

	"inboxd/internal/base/fault"
)

// Suppression is an address that the account no longer sends to, because a message to it bounced.
type Suppression struct {
	Email   string // lower-case
	Inbox   string // that sent the message
	Message int64
	Reason  string // from the bounce
	At      time.Time
}

// SendCount counts the messages that were accepted on one day (UTC), for the plan's quota.
type SendCount struct {
	UTCDay       int64 // days since 1970-01-01
	Count        int64
	AnswerCopies int64 // copies of guests' answers to the account's owner, not included in Count
}

// AnswerCopiesPerDay limits the copies of guests' answers that the owner of an account gets on one
// day. Guests cause them, so they have a quota of their own.
const AnswerCopiesPerDay = 200

// On is the count of the day of now.
func (s SendCount) On(now time.Time) int64 {
	return s.on(now).Count
}

// on returns the counts of the day of t, which are zero if s is of another day.
func (s SendCount) on(t time.Time) SendCount {
	if s.UTCDay == utcDay(t) {
		return s
	}
	return SendCount{UTCDay: utcDay(t)}
}

func utcDay(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// CountSend checks a message against the plan and takes a place in the day's quota (specification,
// Plans). ReturnSend releases the place of a message that was not accepted after all; At is the
// time that CountSend was decided for. CountAnswerCopy takes a place in the quota for copies of
// guests' answers; with IsAnswerCopy, ReturnSend releases one of those.
type (
	CountSend struct {
		RecipientCount int
		FileCount      int
		FileBytes      int64
	}
	CountAnswerCopy struct{}
	ReturnSend      struct {
		At           time.Time
		IsAnswerCopy bool
	}
)

func (c CountSend) decideEvents(s *State, env Env) ([]Event, error) {
	plan := env.Plans.Of(s.Plan)
	switch {
	case c.RecipientCount > plan.MaxRecipients:
		return nil, plan.limitError("%d recipients per message; this one has %d", plan.MaxRecipients, c.RecipientCount)
	case c.FileCount > plan.MaxAttachments:
		return nil, plan.limitError("%s per message; this one has %d", fileCount(plan.MaxAttachments), c.FileCount)
	case c.FileBytes > plan.MaxAttachmentBytes:
		return nil, plan.limitError("%s of attachments per message; this one has %d bytes", formatBytes(plan.MaxAttachmentBytes), c.FileBytes)
	case s.DailySends.On(env.Now) >= plan.SendsPerDay:
		return nil, plan.limitError("%d sends a day (UTC). The next day begins in %s", plan.SendsPerDay, untilMidnight(env.Now))
	}
	today := s.DailySends.on(env.Now)
	today.Count++
	return []Event{sendsCounted{today}}, nil
}

func (CountAnswerCopy) decideEvents(s *State, env Env) ([]Event, error) {
	today := s.DailySends.on(env.Now)
	if today.AnswerCopies >= AnswerCopiesPerDay {
		return nil, fault.Refuse(fault.CodeLimitReached, "The owner of an account gets at most %d copies of responses a day (UTC). The next day begins in %s",
			AnswerCopiesPerDay, untilMidnight(env.Now))
	}
	today.AnswerCopies++
	return []Event{sendsCounted{today}}, nil
}

func (c ReturnSend) decideEvents(s *State, _ Env) ([]Event, error) {
	sends := s.DailySends
	count := &sends.Count
	if c.IsAnswerCopy {
		count = &sends.AnswerCopies
	}
	if sends.UTCDay != utcDay(c.At) || *count == 0 {
		return nil, nil // the day is over
	}
	*count--
	return []Event{sendsCounted{sends}}, nil
}

func fileCount(n int) string {
	if n == 1 {
		return "1 attachment"
	}
	return fmt.Sprintf("%d attachments", n)
}

// formatBytes formats bytes in the largest unit that divides them.
func formatBytes(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// NextDay is when the next day of quotas begins.
func NextDay(now time.Time) time.Time { return time.Unix((utcDay(now)+1)*24*60*60, 0).UTC() }

func untilMidnight(now time.Time) string {
	left := NextDay(now).Sub(now)
	return fmt.Sprintf("%d h %d min", int(left.Hours()), int(left.Minutes())%60)
}

type sendsCounted struct{ Sends SendCount }

func (e sendsCounted) applyTo(s *State)              { s.DailySends = e.Sends }
func (e sendsCounted) collectRows(s *State, r *Rows) { r.Sends = &e.Sends }

// OnlyCounts reports whether the rows contain only the day's count. Such rows need no sync of their
// own, because the message that they count is committed after them in the log.
func (r *Rows) OnlyCounts() bool {
	rest := *r
	rest.ID, rest.Sends = ID{}, nil
	return r.Sends != nil && reflect.ValueOf(rest).IsZero() // also covers fields added later
}
