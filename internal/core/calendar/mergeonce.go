package calendar

import (
	"slices"
	"time"

	"inboxd/internal/mail/icalendar"
)

// maxOverrides is how many single occurrences of a meeting may differ: as many as one file can
// contain.
const maxOverrides = 200

// telling is what a message says about one occurrence.
type telling struct {
	icalendar.Override
	revision
}

// tellings are the message's occurrences, the newest revision of each.
func (x *merger) tellings() (list []telling) {
	for i, o := range orNone(x.inv.Event.Recurrence).Overrides {
		t := telling{o, x.revision}
		if i < len(x.inv.Revisions) {
			t.revision = x.revisionOf(x.inv.Revisions[i])
		}
		if x.inv.Method == "CANCEL" {
			t.Status = icalendar.Cancelled
		}
		at := slices.IndexFunc(list, func(have telling) bool { return have.RecurrenceID.Equal(o.RecurrenceID) })
		if at < 0 {
			list = append(list, t)
		} else if t.newer(list[at].revision) {
			list[at] = t
		}
	}
	return list
}

// detail is what the message says about that occurrence in addition to its override, if it
// describes this one.
func (x *merger) detail(t *telling) *Detail {
	e := &x.inv.Event
	if x.inv.Method == "CANCEL" || t.revision != x.revision || !t.RecurrenceID.Equal(e.RecurrenceID) {
		return nil
	}
	return &Detail{e.Zone, e.Description, e.Organizer, e.Attendees}
}

// hear takes over the occurrences of a message about the whole meeting, or of the first one. It
// stores the revision of those that are newer than the meeting.
func (x *merger) hear(m *Meeting) {
	if m.Recurrence == nil {
		return
	}
	r := *m.Recurrence
	r.Overrides = nil
	m.Recurrence = &r
	single := !m.RecurrenceID.IsZero()
	for _, t := range x.tellings() {
		if !m.put(t.Override) {
			break
		}
		if single || t.newer(m.revision()) {
			m.hearOf(Heard{t.RecurrenceID, t.Sequence, t.Stamp, !single, x.detail(&t)})
		}
	}
	m.settle()
}

// remember takes over occurrences from the previous state of the meeting that came in messages of
// their own and are newer than m. m is the organizer's current version.
func (m *Meeting) remember(before *Meeting) {
	for _, h := range before.Heard {
		if told, _ := m.told(h.RecurrenceID); h.Within || !h.revision().newer(told) {
			continue
		}
		if i := before.override(h.RecurrenceID); i >= 0 && m.put(before.Recurrence.Overrides[i]) {
			m.hearOf(h)
		}
	}
}

// occurrences changes the occurrences that the message is about.
func (x *merger) occurrences() outcome {
	if x.inv.Following {
		return refuse(RefusedOccurrence) // the later occurrences would not change
	}
	m, o := x.successor(), outcome{action: Unchanged}
	m.mayChange()
	counted, changed := false, false
	for _, t := range x.tellings() {
		switch told, any := x.known.told(t.RecurrenceID); {
		case any && x.stale(&t, told):
			o = old(t.revision, told)
		case !m.put(t.Override):
			o = refuse(RefusedRoom)
		default:
			m.hearOf(Heard{t.RecurrenceID, t.Sequence, t.Stamp, false, x.detail(&t)})
			counted = true
			changed = changed || x.changes(&t, told)
		}
	}
	if !counted {
		return o
	}
	m.settle()
	x.answerMyself(m)
	return x.updated(m, changed)
}

// stale reports whether a message about an occurrence is too old to count.
func (x *merger) stale(t *telling, told revision) bool {
	if x.takesOver() {
		return false
	}
	if x.inv.Method == "CANCEL" && t.below(told) {
		return true
	}
	return !t.newer(told) && !x.cancels(t.RecurrenceID)
}

// cancels reports whether the message cancels an occurrence that is not cancelled yet.
func (x *merger) cancels(id time.Time) bool {
	i := x.known.override(id)
	if i < 0 {
		return x.inv.Method == "CANCEL" && x.known.Outlived == nil
	}
	return x.inv.Method == "CANCEL" && x.known.Recurrence.Overrides[i].Status != icalendar.Cancelled
}

// changes reports whether the message contains something new about an occurrence, visible or not.
func (x *merger) changes(t *telling, told revision) bool {
	if x.inv.Method == "CANCEL" {
		return x.cancels(t.RecurrenceID)
	}
	return x.known.override(t.RecurrenceID) < 0 || t.Sequence > told.Sequence
}

// settle handles a meeting of which only single occurrences are known or take place. The meeting
// shows the first one that takes place. If none does, it is cancelled.
func (m *Meeting) settle() {
	whole, known := m.whole()
	if m.RecurrenceID.IsZero() && m.Status != icalendar.Cancelled || m.Recurrence == nil {
		return
	}
	all := m.Recurrence.Overrides
	if known {
		all = m.since(whole)
	}
	i := slices.IndexFunc(all, func(o icalendar.Override) bool { return o.Status != icalendar.Cancelled })
	switch {
	case i >= 0 && known:
		m.Outlived, m.Recurrence = (*icalendar.Revision)(&whole), &icalendar.Recurrence{Overrides: all}
		m.Heard = slices.DeleteFunc(m.Heard, func(h Heard) bool { return m.override(h.RecurrenceID) < 0 })
		fallthrough
	case i >= 0:
		m.show(&all[i])
	case known:
		m.cancelWhole(whole)
	default:
		m.Status = icalendar.Cancelled
		for _, h := range m.Heard {
			if h.revision().newer(m.revision()) {
				m.Sequence, m.Stamp = h.Sequence, h.Stamp
			}
		}
	}
}

// since are the occurrences that came in messages of their own and are newer than whole.
func (m *Meeting) since(whole revision) (list []icalendar.Override) {
	for _, h := range m.Heard {
		if i := m.override(h.RecurrenceID); i >= 0 && !h.Within && h.revision().newer(whole) {
			list = append(list, m.Recurrence.Overrides[i])
		}
	}
	return list
}

// show makes m display the occurrence o.
func (m *Meeting) show(o *icalendar.Override) {
	m.RecurrenceID, m.Start, m.End, m.AllDay, m.Transparent = o.RecurrenceID, o.Start, o.End, o.AllDay, o.Transparent
	m.Title, m.Location, m.Status = o.Title, o.Location, o.Status
	i := m.heard(o.RecurrenceID)
	if i < 0 {
		return
	}
	h := &m.Heard[i]
	m.Sequence, m.Stamp = h.Sequence, h.Stamp
	if d := h.Detail; d != nil {
		m.Zone, m.Description, m.Organizer, m.Attendees = d.Zone, d.Description, d.Organizer, d.Attendees
	}
}

// cancelWhole marks m as cancelled as a whole.
func (m *Meeting) cancelWhole(as revision) {
	m.Status, m.Sequence, m.Stamp = icalendar.Cancelled, as.Sequence, as.Stamp
	m.RecurrenceID, m.Outlived = time.Time{}, nil
}

// endEach cancels the occurrences of m by a cancellation of the whole, and drops their revisions.
// Occurrences that a later message of their own changed stay. An organizer that numbers each
// occurrence separately may give an old one a SEQUENCE above that of the cancellation; its DTSTAMP
// shows that it is older.
func (m *Meeting) endEach(as revision, single bool) {
	if m.Recurrence == nil {
		return
	}
	all := m.Heard
	m.Heard = nil
	m.mayChange()
	for _, h := range all {
		if !h.Within && h.revision().newer(as) && !h.Stamp.Before(as.Stamp) {
			m.Heard = append(m.Heard, h)
		}
	}
	for i := range m.Recurrence.Overrides {
		if o := &m.Recurrence.Overrides[i]; single && m.heard(o.RecurrenceID) < 0 {
			o.Status = icalendar.Cancelled
		}
	}
}

// whole is the revision of m as a whole; false: only single occurrences are known.
func (m *Meeting) whole() (r revision, known bool) {
	switch {
	case m.RecurrenceID.IsZero():
		return m.revision(), true
	case m.Outlived != nil:
		return revision(*m.Outlived), true
	}
	return r, false
}

// told is the known revision of an occurrence: that of the meeting, or its own. It is false if
// neither is known.
func (m *Meeting) told(id time.Time) (r revision, any bool) {
	r, any = m.whole()
	if i := m.heard(id); i >= 0 && (!any || m.Heard[i].revision().newer(r)) {
		return m.Heard[i].revision(), true
	}
	return r, any
}

// mayChange copies the occurrences that the meeting shares with its previous state, so that they
// may be modified.
func (m *Meeting) mayChange() {
	r := orNone(m.Recurrence)
	r.Overrides = slices.Clone(r.Overrides)
	m.Recurrence, m.Heard = &r, slices.Clone(m.Heard)
}

// override is the index of an occurrence's override; -1: none.
func (m *Meeting) override(id time.Time) int {
	return slices.IndexFunc(orNone(m.Recurrence).Overrides, func(o icalendar.Override) bool { return o.RecurrenceID.Equal(id) })
}

// put stores an override in order. It returns false if the meeting has no room for another one.
func (m *Meeting) put(o icalendar.Override) bool {
	if i := m.override(o.RecurrenceID); i >= 0 {
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

// hearOf stores the revision of an occurrence, in order.
func (m *Meeting) hearOf(h Heard) {
	if i := m.heard(h.RecurrenceID); i >= 0 {
		m.Heard[i] = h
		return
	}
	i, _ := slices.BinarySearchFunc(m.Heard, h.RecurrenceID, func(h Heard, id time.Time) int { return h.RecurrenceID.Compare(id) })
	m.Heard = slices.Insert(m.Heard, i, h)
}
