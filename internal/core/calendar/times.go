package calendar

import (
	"errors"
	"regexp"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
)

// Default and maximum length of a meeting.
const (
	defaultLength = 30 * time.Minute
	day           = 24 * time.Hour
	maxMinutes    = 365 * 24 * 60
)

// clientTime is a time that a client wrote: an instant or, for all-day events, a date at midnight UTC.
type clientTime struct {
	at     time.Time
	isDate bool
}

var (
	dateForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	// clockForm also accepts the times of API responses, whose milliseconds are zero.
	clockForm = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?:(:\d\d)(?:\.0{1,9})?)?(Z|[+-](\d\d:\d\d))?$`)
)

// momentOf parses the time of a field. where is the given time zone, nil: none.
func momentOf(field, s string, where *zone.Zone) (m clientTime, err error) {
	if dateForm.MatchString(s) {
		m.isDate = true
		m.at, err = time.Parse(time.DateOnly, s)
		return m, notATime(field, err)
	}
	parts := clockForm.FindStringSubmatch(s)
	if parts == nil {
		return m, notATime(field, errForm)
	}
	if parts[2] == "" {
		parts[2] = ":00"
	}
	if parts[3] != "" {
		m.at, err = instantOf(parts)
		return m, notATime(field, err)
	}
	local, err := time.Parse("2006-01-02T15:04:05", parts[1]+parts[2])
	if err != nil {
		return m, notATime(field, err)
	}
	if where == nil {
		return m, fault.InvalidField(field, "has no UTC offset, so 'timezone' is required")
	}
	m.at, err = resolveLocal(field, local, *where)
	return m, err
}

var errForm = errors.New("not of the form")

func notATime(field string, err error) error {
	if err == nil {
		return nil
	}
	return fault.InvalidField(field, "must be a time such as 2026-03-02T10:00:00+01:00 or, with 'all_day', a date such as 2026-03-02")
}

// instantOf parses what clockForm found: the time, its seconds, the offset, and the offset without
// its sign.
func instantOf(parts []string) (time.Time, error) {
	if parts[4] != "" { // package time accepts 24:60
		if _, err := time.Parse("15:04", parts[4]); err != nil {
			return time.Time{}, err
		}
	}
	t, err := time.Parse("2006-01-02T15:04:05Z07:00", parts[1]+parts[2]+parts[3])
	return t.UTC(), err
}

// resolveLocal is the single instant at which clocks show a local time.
func resolveLocal(field string, local time.Time, where zone.Zone) (time.Time, error) {
	clock := where.Clock()
	at := clock.ToInstant(local)
	if !clock.ToLocal(at).Equal(local) {
		return at, fault.InvalidField(field, "does not exist in %s, where clocks skip it. Give the time with an offset", where.Name)
	}
	later := at.Add(26 * time.Hour) // no zone is that far from UTC
	second := local.Add(later.Sub(clock.ToLocal(later)))
	if !second.Equal(at) && clock.ToLocal(second).Equal(local) {
		return at, fault.InvalidField(field, "occurs twice in %s, where clocks are set back. Give the time with an offset", where.Name)
	}
	return at, nil
}

// clientTimes are the times that a client wrote, each nil if not given.
type clientTimes struct {
	start, end *clientTime
	zone       *zone.Zone
}

// parseTimes parses what can be checked without the meeting.
func (f *MeetingFields) parseTimes() (w clientTimes, err error) {
	if f.End != nil && f.Minutes != nil {
		return w, fault.InvalidField("end", "and 'duration_minutes' cannot be given together")
	}
	if f.Minutes != nil && (*f.Minutes < 1 || *f.Minutes > maxMinutes) {
		return w, fault.InvalidField("duration_minutes", "is %d; it must be 1 to %d", *f.Minutes, maxMinutes)
	}
	if f.Timezone != nil {
		z, ok := zone.Find(*f.Timezone)
		if !ok {
			return w, fault.InvalidField("timezone", "is not a time zone of the IANA list, such as Europe/Berlin")
		}
		w.zone = &z
	}
	if w.start, err = readTime("start", f.Start, w.zone); err != nil {
		return w, err
	}
	w.end, err = readTime("end", f.End, w.zone)
	return w, err
}

func readTime(field string, s *string, where *zone.Zone) (*clientTime, error) {
	if s == nil {
		return nil, nil
	}
	m, err := momentOf(field, *s, where)
	return &m, err
}

// setTimes sets the given times of a meeting. A time that is not given stays, or is the default of
// a new meeting.
func (f *MeetingFields) setTimes(e *icalendar.Event, w clientTimes) error {
	fresh := e.Start.IsZero()
	if f.AllDay != nil && *f.AllDay != e.AllDay {
		if w.start == nil {
			return fault.InvalidField("all_day", "can't change without 'start'")
		}
		e.AllDay, fresh = *f.AllDay, true
	}
	if err := f.checkTimes(e.AllDay, w); err != nil {
		return err
	}
	length := e.End.Sub(e.Start)
	if fresh {
		length = lengthOf(e.AllDay)
	}
	if w.start != nil {
		e.Start = w.start.at
	}
	field := "start"
	switch {
	case w.end != nil:
		field, e.End = "end", w.end.at
	case f.Minutes != nil:
		field, e.End = "duration_minutes", e.Start.Add(time.Duration(*f.Minutes)*time.Minute)
	default:
		e.End = e.Start.Add(length)
	}
	e.TimeZone = zoneOf(e, w.zone, fresh)
	return checkTimes(e, field)
}

func lengthOf(allDay bool) time.Duration {
	if allDay {
		return day
	}
	return defaultLength
}

// checkTimes checks that the times are of the right kind.
func (f *MeetingFields) checkTimes(allDay bool, w clientTimes) error {
	if allDay && f.Minutes != nil {
		return fault.InvalidField("duration_minutes", "can't be given for an all-day event, which has an 'end'")
	}
	for _, t := range []struct {
		name string
		*clientTime
	}{{"start", w.start}, {"end", w.end}} {
		switch {
		case t.clientTime == nil, t.isDate == allDay:
		case allDay:
			return fault.InvalidField(t.name, "must be a date such as 2026-03-02, because the event is all-day")
		default:
			return fault.InvalidField(t.name, "is a date, which is valid only with 'all_day'")
		}
	}
	return nil
}

func zoneOf(e *icalendar.Event, given *zone.Zone, fresh bool) zone.Zone {
	switch {
	case e.AllDay:
		return zone.Zone{}
	case given != nil:
		return *given
	case fresh:
		return zone.UTC
	}
	return e.TimeZone
}

// checkTimes checks the limits of a meeting's times; field is the one that determined its end.
func checkTimes(e *icalendar.Event, field string) error {
	switch {
	case e.Start.Year() < icalendar.FirstYear, e.Start.Year() > icalendar.LastYear:
		return fault.InvalidField("start", "must be in the years %d to %d", icalendar.FirstYear, icalendar.LastYear)
	case e.End.After(icalendar.LastEnd):
		return fault.InvalidField(field, "must make the event end in the years %d to %d", icalendar.FirstYear, icalendar.LastYear)
	case !e.End.After(e.Start):
		return fault.InvalidField("end", "must be after 'start'")
	case e.End.After(e.Start.AddDate(1, 0, 0)):
		return fault.InvalidField(field, "must make the event last at most a year")
	}
	return nil
}
