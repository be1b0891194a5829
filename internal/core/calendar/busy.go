package calendar

import (
	"cmp"
	"slices"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/mail/icalendar"
)

// Limits of a list of busy times.
const (
	maxBusyDays  = 92
	maxSlots     = 10_000
	maxConflicts = 10
)

// BusySlot is a time at which a meeting makes the inbox busy.
type BusySlot struct {
	Start, End time.Time
	MeetingID  int64
	Status     string // the inbox's answer; icalendar.StatusAccepted for its own meetings
}

// FindBusySlots returns the times within [from, to) at which the inbox is busy, by start. Meetings
// count that it organizes, accepted or did not answer yet; adjoining times of one meeting are
// merged. stops is the number of rules that were not expanded to their end. At most the 10,000
// earliest are returned.
func FindBusySlots(b *Book, from, to time.Time) (list []BusySlot, stops int, err error) {
	switch {
	case from.IsZero():
		return nil, 0, fault.InvalidField("from", "is required")
	case to.IsZero():
		return nil, 0, fault.InvalidField("to", "is required")
	case !to.After(from):
		return nil, 0, fault.InvalidField("to", "must be after 'from'")
	case to.After(from.Add(maxBusyDays * day)):
		return nil, 0, fault.InvalidField("to", "must be within %d days of 'from'", maxBusyDays)
	}
	meetings := b.busyMeetings(0)
	search := searchOf(meetings, from, to)
	for _, m := range meetings {
		list = append(list, slotsOf(m, search.In(&m.Event))...)
	}
	slices.SortFunc(list, func(a, b BusySlot) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.MeetingID, b.MeetingID))
	})
	if len(list) > maxSlots {
		list, search.IncompleteEvents = list[:maxSlots], search.IncompleteEvents+1
	}
	return list, search.IncompleteEvents, nil
}

// slotsOf are the times of a meeting's occurrences, which are ordered by start. Adjoining ones are
// merged.
func slotsOf(m *Meeting, all []icalendar.Occurrence) (list []BusySlot) {
	for _, o := range all {
		last := len(list) - 1
		switch {
		case m.transparentAt(o), !o.End.After(o.Start):
		case last >= 0 && !o.Start.After(list[last].End):
			if o.End.After(list[last].End) {
				list[last].End = o.End
			}
		default:
			list = append(list, BusySlot{o.Start, o.End, m.ID, bindingStatus(m)})
		}
	}
	return list
}

// bindingStatus is the status with which a meeting makes the inbox busy; empty: it does not.
func bindingStatus(m *Meeting) string {
	switch {
	case m.Status == icalendar.StatusCancelled, m.MyStatus == icalendar.StatusDeclined, m.takesNoTime():
		return ""
	case m.Source == SourceOutbound:
		return icalendar.StatusAccepted
	}
	return m.MyStatus // empty: not invited
}

// transparentAt reports whether an occurrence makes nobody busy.
func (m *Meeting) transparentAt(o icalendar.Occurrence) bool {
	if o.Override != nil {
		return o.Override.IsTransparent
	}
	return m.IsTransparent
}

// takesNoTime reports whether a meeting is transparent (RFC 5545, section 3.8.2.7) and has no
// opaque occurrence.
func (m *Meeting) takesNoTime() bool {
	opaque := func(o icalendar.Override) bool { return !o.IsTransparent && o.Status != icalendar.StatusCancelled }
	return m.IsTransparent && !slices.ContainsFunc(orNone(m.Recurrence).Overrides, opaque)
}

// busyMeetings are the meetings that make the inbox busy, except one.
func (b *Book) busyMeetings(but int64) (list []*Meeting) {
	if b == nil {
		return nil
	}
	for _, m := range b.Meetings {
		if m.ID != but && bindingStatus(m) != "" {
			list = append(list, m)
		}
	}
	return list
}

// ConflictingMeetings are other meetings at the time of m's next occurrence, at most 10, by id. It
// is nil if m is over or cancelled. For a declined meeting they are the conflicts if it were
// accepted.
func ConflictingMeetings(b *Book, m *Meeting, now time.Time) []int64 {
	if m.Status == icalendar.StatusCancelled {
		return nil
	}
	next, ok := nextOf(m, now)
	if !ok {
		return nil
	}
	if m.transparentAt(next) {
		return []int64{}
	}
	others := b.busyMeetings(m.ID)
	search := searchOf(others, next.Start, next.End)
	search.FirstOnly = true
	list := []int64{}
	for _, other := range others {
		if len(list) == maxConflicts {
			break
		}
		if len(slotsOf(other, search.In(&other.Event))) > 0 {
			list = append(list, other.ID)
		}
	}
	return list
}

// nextOf is the first occurrence that is not over.
func nextOf(m *Meeting, now time.Time) (icalendar.Occurrence, bool) {
	search := searchOf([]*Meeting{m}, now, time.Time{})
	search.FirstOnly = true
	all := search.In(&m.Event)
	if len(all) == 0 {
		return icalendar.Occurrence{}, false
	}
	return all[0], true
}
