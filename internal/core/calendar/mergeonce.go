package calendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar"
)

// maxOverrides is how many single occurrences of a meeting may differ: as many as one file can
// contain.
const maxOverrides = 200

// occurrenceChange is what a message says about one occurrence.
type occurrenceChange struct {
	icalendar.Override
	eventRevision
}

// occurrenceChanges are the message's occurrences, the newest revision of each.
func (x *messageMerger) occurrenceChanges() (list []occurrenceChange) {
	for i, o := range orNone(x.inv.Event.Recurrence).Overrides {
		t := occurrenceChange{o, x.messageRevision}
		if i < len(x.inv.Revisions) {
			t.eventRevision = x.revisionOf(x.inv.Revisions[i])
		}
		if x.inv.Method == "CANCEL" {
			t.Status = icalendar.StatusCancelled
		}
		at := slices.IndexFunc(list, func(have occurrenceChange) bool { return have.RecurrenceID.Equal(o.RecurrenceID) })
		if at < 0 {
			list = append(list, t)
		} else if t.isNewer(list[at].eventRevision) {
			list[at] = t
		}
	}
	return list
}

// occurrenceDetail is what the message says about that occurrence in addition to its override, if it
// describes this one.
func (x *messageMerger) occurrenceDetail(t *occurrenceChange) *OccurrenceDetail {
	e := &x.inv.Event
	if x.inv.Method == "CANCEL" || t.eventRevision != x.messageRevision || !t.RecurrenceID.Equal(e.RecurrenceID) {
		return nil
	}
	return &OccurrenceDetail{e.TimeZone, e.Description, e.Organizer, e.Attendees}
}

// takeOccurrences takes over the occurrences of a message about the whole meeting, or of the first
// one. It stores the revision of those that are newer than the meeting.
func (x *messageMerger) takeOccurrences(m *Meeting) {
	if m.Recurrence == nil {
		return
	}
	r := *m.Recurrence
	r.Overrides = nil
	m.Recurrence = &r
	single := !m.RecurrenceID.IsZero()
	for _, t := range x.occurrenceChanges() {
		if !m.putOverride(t.Override) {
			break
		}
		if single || t.isNewer(m.currentRevision()) {
			m.noteRevision(OccurrenceRevision{t.RecurrenceID, t.Sequence, t.StampedAt, !single, x.occurrenceDetail(&t)})
		}
	}
	m.showRemaining()
}

// keepNewerOccurrences takes over occurrences from the previous state of the meeting that came in
// messages of their own and are newer than m. m is the organizer's current version.
func (m *Meeting) keepNewerOccurrences(before *Meeting) {
	for _, h := range before.OccurrenceRevisions {
		if known, _ := m.knownRevision(h.RecurrenceID); h.FromWholeMeeting || !h.asEventRevision().isNewer(known) {
			continue
		}
		if i := before.overrideIndex(h.RecurrenceID); i >= 0 && m.putOverride(before.Recurrence.Overrides[i]) {
			m.noteRevision(h)
		}
	}
}

// changeOccurrences changes the occurrences that the message is about.
func (x *messageMerger) changeOccurrences() mergeOutcome {
	if x.inv.ThisAndFuture {
		return refuseMerge(RefusedOccurrence) // the later occurrences would not change
	}
	m, o := x.copyKnown(), mergeOutcome{action: ActionUnchanged}
	m.mayChange()
	counted, changed := false, false
	for _, t := range x.occurrenceChanges() {
		switch known, any := x.knownMeeting.knownRevision(t.RecurrenceID); {
		case any && x.isStale(&t, known):
			o = oldRevision(t.eventRevision, known)
		case !m.putOverride(t.Override):
			o = refuseMerge(RefusedRoom)
		default:
			m.noteRevision(OccurrenceRevision{t.RecurrenceID, t.Sequence, t.StampedAt, false, x.occurrenceDetail(&t)})
			counted = true
			changed = changed || x.changesOccurrence(&t, known)
		}
	}
	if !counted {
		return o
	}
	m.showRemaining()
	x.answerMyself(m)
	return x.updateOutcome(m, changed)
}

// isStale reports whether a message about an occurrence is too old to count.
func (x *messageMerger) isStale(t *occurrenceChange, known eventRevision) bool {
	if x.takesOver() {
		return false
	}
	if x.inv.Method == "CANCEL" && t.isTooOld(known) {
		return true
	}
	return !t.isNewer(known) && !x.cancelsOccurrence(t.RecurrenceID)
}

// cancelsOccurrence reports whether the message cancels an occurrence that is not cancelled yet.
func (x *messageMerger) cancelsOccurrence(id time.Time) bool {
	i := x.knownMeeting.overrideIndex(id)
	if i < 0 {
		return x.inv.Method == "CANCEL" && x.knownMeeting.CancelledRevision == nil
	}
	return x.inv.Method == "CANCEL" && x.knownMeeting.Recurrence.Overrides[i].Status != icalendar.StatusCancelled
}

// changesOccurrence reports whether the message contains something new about an occurrence, visible
// or not.
func (x *messageMerger) changesOccurrence(t *occurrenceChange, known eventRevision) bool {
	if x.inv.Method == "CANCEL" {
		return x.cancelsOccurrence(t.RecurrenceID)
	}
	return x.knownMeeting.overrideIndex(t.RecurrenceID) < 0 || t.Sequence > known.Sequence
}

// showRemaining handles a meeting of which only single occurrences are known or take place. The meeting
// shows the first one that takes place. If none does, it is cancelled.
func (m *Meeting) showRemaining() {
	whole, known := m.wholeRevision()
	if m.RecurrenceID.IsZero() && m.Status != icalendar.StatusCancelled || m.Recurrence == nil {
		return
	}
	all := m.Recurrence.Overrides
	if known {
		all = m.overridesSince(whole)
	}
	i := slices.IndexFunc(all, func(o icalendar.Override) bool { return o.Status != icalendar.StatusCancelled })
	switch {
	case i >= 0 && known:
		m.CancelledRevision, m.Recurrence = (*icalendar.Revision)(&whole), &icalendar.Recurrence{Overrides: all}
		m.OccurrenceRevisions = slices.DeleteFunc(m.OccurrenceRevisions, func(h OccurrenceRevision) bool { return m.overrideIndex(h.RecurrenceID) < 0 })
		fallthrough
	case i >= 0:
		m.showOccurrence(&all[i])
	case known:
		m.cancelWhole(whole)
	default:
		m.Status = icalendar.StatusCancelled
		for _, h := range m.OccurrenceRevisions {
			if h.asEventRevision().isNewer(m.currentRevision()) {
				m.Sequence, m.StampedAt = h.Sequence, h.Stamp
			}
		}
	}
}

// overridesSince are the occurrences that came in messages of their own and are newer than whole.
func (m *Meeting) overridesSince(whole eventRevision) (list []icalendar.Override) {
	for _, h := range m.OccurrenceRevisions {
		if i := m.overrideIndex(h.RecurrenceID); i >= 0 && !h.FromWholeMeeting && h.asEventRevision().isNewer(whole) {
			list = append(list, m.Recurrence.Overrides[i])
		}
	}
	return list
}

// showOccurrence makes m display the occurrence o.
func (m *Meeting) showOccurrence(o *icalendar.Override) {
	m.RecurrenceID, m.Start, m.End, m.AllDay, m.IsTransparent = o.RecurrenceID, o.Start, o.End, o.AllDay, o.IsTransparent
	m.Title, m.Location, m.Status = o.Title, o.Location, o.Status
	i := m.revisionIndex(o.RecurrenceID)
	if i < 0 {
		return
	}
	h := &m.OccurrenceRevisions[i]
	m.Sequence, m.StampedAt = h.Sequence, h.Stamp
	if d := h.Detail; d != nil {
		m.TimeZone, m.Description, m.Organizer, m.Attendees = d.Zone, d.Description, d.Organizer, d.Attendees
	}
}

// cancelWhole marks m as cancelled as a whole.
func (m *Meeting) cancelWhole(as eventRevision) {
	m.Status, m.Sequence, m.StampedAt = icalendar.StatusCancelled, as.Sequence, as.StampedAt
	m.RecurrenceID, m.CancelledRevision = time.Time{}, nil
}

// endEach cancels the occurrences of m by a cancellation of the whole, and drops their revisions.
// Occurrences that a later message of their own changed stay. An organizer that numbers each
// occurrence separately may give an old one a SEQUENCE above that of the cancellation; its DTSTAMP
// shows that it is older.
func (m *Meeting) endEach(as eventRevision, single bool) {
	if m.Recurrence == nil {
		return
	}
	all := m.OccurrenceRevisions
	m.OccurrenceRevisions = nil
	m.mayChange()
	for _, h := range all {
		if !h.FromWholeMeeting && h.asEventRevision().isNewer(as) && !h.Stamp.Before(as.StampedAt) {
			m.OccurrenceRevisions = append(m.OccurrenceRevisions, h)
		}
	}
	for i := range m.Recurrence.Overrides {
		if o := &m.Recurrence.Overrides[i]; single && m.revisionIndex(o.RecurrenceID) < 0 {
			o.Status = icalendar.StatusCancelled
		}
	}
}

// wholeRevision is the revision of m as a whole; false: only single occurrences are known.
func (m *Meeting) wholeRevision() (r eventRevision, known bool) {
	switch {
	case m.RecurrenceID.IsZero():
		return m.currentRevision(), true
	case m.CancelledRevision != nil:
		return eventRevision(*m.CancelledRevision), true
	}
	return r, false
}

// knownRevision is the known revision of an occurrence: that of the meeting, or its own. It is false if
// neither is known.
func (m *Meeting) knownRevision(id time.Time) (r eventRevision, any bool) {
	r, any = m.wholeRevision()
	if i := m.revisionIndex(id); i >= 0 && (!any || m.OccurrenceRevisions[i].asEventRevision().isNewer(r)) {
		return m.OccurrenceRevisions[i].asEventRevision(), true
	}
	return r, any
}

// mayChange copies the occurrences that the meeting shares with its previous state, so that they
// may be modified.
func (m *Meeting) mayChange() {
	r := orNone(m.Recurrence)
	r.Overrides = slices.Clone(r.Overrides)
	m.Recurrence, m.OccurrenceRevisions = &r, slices.Clone(m.OccurrenceRevisions)
}

// overrideIndex is the index of an occurrence's override; -1: none.
func (m *Meeting) overrideIndex(id time.Time) int {
	return slices.IndexFunc(orNone(m.Recurrence).Overrides, func(o icalendar.Override) bool { return o.RecurrenceID.Equal(id) })
}

// putOverride stores an override in order. It returns false if the meeting has no room for another one.
func (m *Meeting) putOverride(o icalendar.Override) bool {
	if i := m.overrideIndex(o.RecurrenceID); i >= 0 {
		m.Recurrence.Overrides[i] = o
		return true
	}
	if m.Recurrence == nil {
		m.Recurrence = &icalendar.Recurrence{}
	}
	all := m.Recurrence.Overrides
	if len(all) >= maxOverrides {
		return false
	}
	i, _ := slices.BinarySearchFunc(all, o.RecurrenceID, func(o icalendar.Override, id time.Time) int { return o.RecurrenceID.Compare(id) })
	m.Recurrence.Overrides = slices.Insert(all, i, o)
	return true
}

// noteRevision stores the revision of an occurrence, in order.
func (m *Meeting) noteRevision(h OccurrenceRevision) {
	if i := m.revisionIndex(h.RecurrenceID); i >= 0 {
		m.OccurrenceRevisions[i] = h
		return
	}
	i, _ := slices.BinarySearchFunc(m.OccurrenceRevisions, h.RecurrenceID, func(h OccurrenceRevision, id time.Time) int { return h.RecurrenceID.Compare(id) })
	m.OccurrenceRevisions = slices.Insert(m.OccurrenceRevisions, i, h)
}
