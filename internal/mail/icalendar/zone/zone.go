// Package zone says which zone the TZID of a calendar file means, and what instant a local time
// in it is. Names are looked up in a fixed list: text of strangers never reaches a file path. Local
// times are carried as times in UTC. It knows no events and no clock.
package zone

import (
	_ "embed"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the machine may have no zones, or others
)

//go:generate ./generate.sh

//go:embed names.txt
var nameList string

//go:embed windows.txt
var windowsList string

// lists are the names that are known, read once, by the first who asks for one.
var lists = sync.OnceValue(func() (l struct{ iana, windows, cities map[string]string }) {
	l.iana, l.windows, l.cities = map[string]string{}, map[string]string{}, map[string]string{}
	for name := range strings.Lines(nameList) {
		name = strings.TrimSpace(name)
		l.iana[strings.ToLower(name)] = name
		if city := cityOf(name); city != "" {
			l.cities[city] = name
		}
	}
	for row := range strings.Lines(windowsList) {
		windows, name, _ := strings.Cut(strings.TrimSpace(row), "\t")
		l.windows[strings.ToLower(windows)] = name
	}
	return l
})

// locations are the zones that were loaded, at most those of the list. Any goroutine may
// use it.
var locations sync.Map // name to *time.Location

// Zone is where an event takes place, in a form that can be kept: by its IANA name or, where only
// its file explains it, by that file's observances. The zero value is one that nobody knows, whose clock is
// that of UTC.
type Zone struct {
	Name        string
	Observances []Observance
}

// UTC is the zone of floating times.
var UTC = Zone{Name: "UTC"}

// Definition is what a file's VTIMEZONE says of a TZID.
type Definition struct {
	Location    string // X-LIC-LOCATION
	Observances []Observance
}

// Find returns the IANA zone or alias of that name, in any case, as the list writes it.
func Find(name string) (Zone, bool) {
	if known := lists().iana[strings.ToLower(name)]; known != "" {
		return Zone{Name: known}, true
	}
	return Zone{}, false
}

// Explain says what a TZID means: the zone that its name means, see named, else what the file's definition
// says, which is nil when there is none. The zero Zone when nobody knows.
func Explain(tzid string, def *Definition) Zone {
	if name := named(tzid); name != "" {
		return Zone{Name: name}
	}
	if def == nil {
		return Zone{}
	}
	if z, ok := Find(strings.TrimSpace(def.Location)); ok {
		return z
	}
	return Zone{Observances: def.Observances}
}

// longestName is more than any name of the list has.
const longestName = 64

// behindPrefix is the IANA name that a path ends in, such as "/freeassociation.sourceforge.net/Europe/Berlin";
// empty when it ends in none.
func behindPrefix(path string) string {
	for _, rest, ok := strings.Cut(path, "/"); ok; _, rest, ok = strings.Cut(rest, "/") {
		if len(rest) > longestName {
			continue
		}
		if z, found := Find(rest); found {
			return z.Name
		}
	}
	return ""
}

// Clock reads local times. One goroutine owns it.
type Clock interface {
	// Instant is when it is that local time: the first time of one that comes twice, and by
	// the offset before the gap for one that the zone skips (RFC 5545, section 3.3.5).
	Instant(local time.Time) time.Time
	// Local is what clocks show at that instant.
	Local(instant time.Time) time.Time
}

// Clock returns the zone's clock; a name that is not in the list, which no zone of this package
// has, is UTC.
func (z Zone) Clock() Clock {
	if z.Name == "" && len(z.Observances) > 0 {
		return newObserved(z.Observances)
	}
	return located{location(z.Name)}
}

func location(name string) *time.Location {
	if known, ok := locations.Load(name); ok {
		return known.(*time.Location)
	}
	z, ok := Find(name)
	if !ok {
		return time.UTC
	}
	loc, err := time.LoadLocation(z.Name)
	if err != nil {
		return time.UTC // every name of the list is embedded: TestEveryNameLoads
	}
	locations.Store(z.Name, loc)
	return loc
}

// located is the clock of a named zone.
type located struct{ loc *time.Location }

func (c located) offset(t time.Time) time.Duration {
	_, seconds := t.In(c.loc).Zone()
	return time.Duration(seconds) * time.Second
}

func (c located) Instant(local time.Time) time.Time {
	if c.loc == time.UTC {
		return local
	}
	before := c.offset(local.Add(-26 * time.Hour)) // no zone is that far from UTC
	t := local.Add(-before)
	if c.offset(t) == before {
		return t
	}
	after := c.offset(local.Add(26 * time.Hour))
	if u := local.Add(-after); c.offset(u) == after {
		return u
	}
	return t
}

func (c located) Local(instant time.Time) time.Time {
	return instant.UTC().Add(c.offset(instant))
}
