package icalendar

import (
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"inboxd/internal/mail/icalendar/zone"
)

// fileZones are the zones of one file, each interpreted once. One call of Read owns it.
type fileZones struct {
	defined       map[string]*zone.Definition
	resolvedZones map[string]zoneClock
}

// zoneClock is a zone with its clock.
type zoneClock struct {
	zone  zone.Zone
	clock zone.Clock
}

func zonesOf(calendar *ical.Component) *fileZones {
	z := &fileZones{defined: map[string]*zone.Definition{}, resolvedZones: map[string]zoneClock{}}
	for _, c := range calendar.Children {
		if c.Name != ical.CompTimezone {
			continue
		}
		if id := firstProperty(c, ical.PropTimezoneID); id != nil && z.defined[tzid(id.Value)] == nil {
			z.defined[tzid(id.Value)] = parseDefinition(c)
		}
	}
	return z
}

// tzid is a zone's name as its uses write it: a VTIMEZONE escapes it, a parameter does not.
func tzid(s string) string { return lineOf(textOf(s, maxUID), maxUID) }

func firstProperty(c *ical.Component, name string) *ical.Prop {
	if all := c.Props[name]; len(all) > 0 {
		return &all[0]
	}
	return nil
}

// firstValue is the value of the first property of a name, and whether there is one.
func firstValue(c *ical.Component, name string) (string, bool) {
	if p := firstProperty(c, name); p != nil {
		return p.Value, true
	}
	return "", false
}

func parseDefinition(c *ical.Component) *zone.Definition {
	d := &zone.Definition{}
	d.Location, _ = firstValue(c, "X-LIC-LOCATION")
	for _, child := range c.Children {
		if o, ok := parseObservance(child); ok {
			d.Observances = append(d.Observances, o)
		}
	}
	return d
}

// parseObservance parses a STANDARD or DAYLIGHT; false if it is invalid.
func parseObservance(c *ical.Component) (o zone.Observance, ok bool) {
	if c.Name != ical.CompTimezoneStandard && c.Name != ical.CompTimezoneDaylight {
		return o, false
	}
	start, _ := firstValue(c, ical.PropDateTimeStart)
	from, _ := firstValue(c, ical.PropTimezoneOffsetFrom)
	to, _ := firstValue(c, ical.PropTimezoneOffsetTo)
	begin, err := momentOf(start, false)
	if err != nil {
		return o, false
	}
	o.Start = begin.at
	if o.To, err = offsetOf(to); err != nil {
		return o, false
	}
	if o.From, err = offsetOf(from); err != nil {
		return o, false
	}
	if rule, _ := firstValue(c, ical.PropRecurrenceRule); len(rule) <= maxRuleText {
		o.Rule = ruleText(rule)
	}
	for _, p := range c.Props[ical.PropRecurrenceDates] {
		dates, _ := momentsOf(&p, maxDates-len(o.Dates))
		for _, m := range dates {
			if m.isUTC {
				m.at = m.at.Add(time.Duration(o.From) * time.Second)
			}
			if m.at.Year() > 0 && m.at.Year() < 10_000 && !m.at.Equal(o.Start) {
				o.Dates = append(o.Dates, m.at)
			}
		}
	}
	return o, true
}

// momentsOf are the valid values of a list property, at most the given number; whole reports
// whether they are complete.
func momentsOf(p *ical.Prop, most int) (list []dateOrTime, whole bool) {
	whole = true
	for item := range strings.SplitSeq(p.Value, ",") {
		m, err := momentOf(item, isDate(p))
		switch {
		case len(list) >= most:
			return list, false
		case err != nil:
			whole = false
		default:
			list = append(list, m)
		}
	}
	return list, whole
}

func isDate(p *ical.Prop) bool { return strings.EqualFold(p.Params.Get(ical.ParamValue), "DATE") }

// at is the zone of a property's time: UTC for "Z" and for floating times.
func (z *fileZones) at(p *ical.Prop, m dateOrTime) zoneClock {
	id := tzid(p.Params.Get(ical.ParamTimezoneID))
	if m.isUTC {
		id = ""
	}
	if known, ok := z.resolvedZones[id]; ok {
		return known
	}
	where := zone.UTC
	if id != "" {
		where = zone.ResolveTZID(id, z.defined[id])
	}
	z.resolvedZones[id] = zoneClock{where, where.Clock()}
	return z.resolvedZones[id]
}
