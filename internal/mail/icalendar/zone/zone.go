// Package zone finds the zone that the TZID of a calendar file means, and the instant of a local
// time in it. Names are looked up in a fixed list: text of strangers never reaches a file path.
// Local times are represented as times in UTC. The package does not know events or the current
// time.
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

// knownNames are the known names, parsed once at the first use.
var knownNames = sync.OnceValue(func() (l struct{ iana, windows, cities map[string]string }) {
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

// locationCache caches loaded zones, at most those of the list. Any goroutine may use it.
var locationCache sync.Map // name to *time.Location

// Zone is the zone of an event in a form that can be stored: its IANA name or, if only the file
// defines it, the file's observances. The zero value is an unknown zone, whose clock is UTC.
type Zone struct {
	Name        string
	Observances []Observance
}

// UTC is the zone of floating times.
var UTC = Zone{Name: "UTC"}

// Definition is a file's VTIMEZONE for a TZID.
type Definition struct {
	Location    string // X-LIC-LOCATION
	Observances []Observance
}

// Find returns the IANA zone or alias of that name, in any case, in the spelling of the list.
func Find(name string) (Zone, bool) {
	if known := knownNames().iana[strings.ToLower(name)]; known != "" {
		return Zone{Name: known}, true
	}
	return Zone{}, false
}

// ResolveTZID returns the zone of a TZID: the one that its name means, see named, else that of the
// file's definition, which may be nil. It returns the zero Zone if neither is known.
func ResolveTZID(tzid string, def *Definition) Zone {
	if name := resolveName(tzid); name != "" {
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

// longestName is longer than any name of the list.
const longestName = 64

// behindPrefix is the IANA name at the end of a path, such as
// "/freeassociation.sourceforge.net/Europe/Berlin", or "".
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

// Clock converts local times. One goroutine owns it.
type Clock interface {
	// ToInstant is the instant of a local time. For a time that occurs twice it is the first, and for
	// one that the zone skips it uses the offset before the gap (RFC 5545, section 3.3.5).
	ToInstant(local time.Time) time.Time
	// ToLocal is the local time at that instant.
	ToLocal(instant time.Time) time.Time
}

// Clock returns the zone's clock. A name that is not in the list, which no zone of this package
// has, is UTC.
func (z Zone) Clock() Clock {
	if z.Name == "" && len(z.Observances) > 0 {
		return newObserved(z.Observances)
	}
	return locationClock{loadLocation(z.Name)}
}

func loadLocation(name string) *time.Location {
	if known, ok := locationCache.Load(name); ok {
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
	locationCache.Store(z.Name, loc)
	return loc
}

// locationClock is the clock of a named zone.
type locationClock struct{ loc *time.Location }

func (c locationClock) offsetAt(t time.Time) time.Duration {
	_, seconds := t.In(c.loc).Zone()
	return time.Duration(seconds) * time.Second
}

func (c locationClock) ToInstant(local time.Time) time.Time {
	if c.loc == time.UTC {
		return local
	}
	before := c.offsetAt(local.Add(-26 * time.Hour)) // no zone is that far from UTC
	t := local.Add(-before)
	if c.offsetAt(t) == before {
		return t
	}
	after := c.offsetAt(local.Add(26 * time.Hour))
	if u := local.Add(-after); c.offsetAt(u) == after {
		return u
	}
	return t
}

func (c locationClock) ToLocal(instant time.Time) time.Time {
	return instant.UTC().Add(c.offsetAt(instant))
}
