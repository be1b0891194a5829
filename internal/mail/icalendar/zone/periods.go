package zone

import "time"

// Period is an observance of a named zone: it begins at Start and again at each of Dates.
type Period struct {
	Observance
	IsDaylight   bool
	Abbreviation string // CET
}

// PeriodsBetween returns the content of a VTIMEZONE for a named zone and the years first to last: the
// offset at their beginning, and each change. Equal changes share one Period.
func (z Zone) PeriodsBetween(first, last int) (list []Period) {
	loc := loadLocation(z.Name)
	t := time.Date(first, 1, 1, 0, 0, 0, 0, loc)
	name, offset := t.Zone()
	list = append(list, Period{Observance{Start: localAt(t, offset), From: offset, To: offset}, t.IsDST(), name})
	for next := nextChange(t); !next.IsZero() && next.Year() <= last; next = nextChange(next) {
		was := offset
		name, offset = next.Zone()
		p := Period{Observance{Start: localAt(next, was), From: was, To: offset}, next.IsDST(), name}
		if !mergePeriod(list[1:], &p) {
			list = append(list, p)
		}
	}
	return list
}

// nextChange is the next time at which the offset or its name changes; zero for never. Go ends a
// period on the last day of each leap year without a change, so the loop skips those.
func nextChange(t time.Time) time.Time {
	name, offset := t.Zone()
	for {
		_, next := t.ZoneBounds()
		if next.IsZero() {
			return next
		}
		if n, o := next.Zone(); n != name || o != offset {
			return next
		}
		if !next.After(t) {
			next = t.Add(48 * time.Hour)
		}
		t = next
	}
}

// localAt is the local time by an offset.
func localAt(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// mergePeriod adds a change to an equal period, if there is one.
func mergePeriod(list []Period, p *Period) bool {
	for i := range list {
		o := &list[i]
		if o.From == p.From && o.To == p.To && o.IsDaylight == p.IsDaylight && o.Abbreviation == p.Abbreviation {
			o.Dates = append(o.Dates, p.Start)
			return true
		}
	}
	return false
}
