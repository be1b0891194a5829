package zone

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func local(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", s+":00"[:3*(2-strings.Count(s, ":"))])
	if err != nil {
		panic(err)
	}
	return t
}

func TestExplain(t *testing.T) {
	berlin := []Observance{{Start: local("1601-01-01 00:00"), From: 3600, To: 3600}}
	for _, row := range []struct {
		tzid string
		def  *Definition
		want Zone
	}{
		{"Europe/Berlin", nil, Zone{Name: "Europe/Berlin"}},
		{" Europe/Berlin ", nil, Zone{Name: "Europe/Berlin"}},
		{"europe/berlin", nil, Zone{Name: "Europe/Berlin"}},
		{"US/Eastern", nil, Zone{Name: "US/Eastern"}},
		{"UTC", nil, UTC},
		{"/freeassociation.sourceforge.net/Asia/Tokyo", nil, Zone{Name: "Asia/Tokyo"}},
		{"/mozilla.org/20050126_1/America/Argentina/Ushuaia", nil, Zone{Name: "America/Argentina/Ushuaia"}},
		{"/" + strings.Repeat("a/", 5000) + "GB", nil, Zone{Name: "GB"}},
		{"prefix/Europe/Berlin", nil, Zone{Name: "Europe/Berlin"}},
		{"W. Europe Standard Time", nil, Zone{Name: "Europe/Berlin"}},
		{"pacific standard time", nil, Zone{Name: "America/Los_Angeles"}},
		{"W. Europe Standard Time", &Definition{Location: "Europe/Paris"}, Zone{Name: "Europe/Berlin"}},
		{"Mine", &Definition{Location: "Europe/Paris", Observances: berlin}, Zone{Name: "Europe/Paris"}},
		{"Mine", &Definition{Location: "Europe/Atlantis", Observances: berlin}, Zone{Observances: berlin}},
		{"Mine", &Definition{}, Zone{}},
		{"Factory", nil, Zone{}},
		{"", nil, Zone{}},
		{"/etc/localtime", nil, Zone{}},
		{"../zoneinfo/Europe/Berlin", nil, Zone{Name: "Europe/Berlin"}},
		{"Local", nil, Zone{}},
		// Names that programs write for an unknown zone.
		{"GMT Standard Time 1", nil, Zone{Name: "Europe/London"}},
		{"W. Europe Standard Time 1", nil, Zone{Name: "Europe/Berlin"}},
		{"Eastern Standard Time 12", &Definition{Observances: berlin}, Zone{Name: "America/New_York"}},
		{"Eastern Time (US & Canada)", nil, Zone{Name: "America/New_York"}},
		{"(UTC-05:00) Eastern Time (US & Canada)", nil, Zone{Name: "America/New_York"}},
		{"\"(UTC-08:00)  Pacific Time (US & Canada)\"", nil, Zone{Name: "America/Los_Angeles"}},
		{"Central Daylight Time", nil, Zone{Name: "America/Chicago"}},
		{"Mountain Time", nil, Zone{Name: "America/Denver"}},
		{"Central European Summer Time", nil, Zone{Name: "Europe/Warsaw"}},
		{"(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", nil, Zone{Name: "Europe/Amsterdam"}},
		{"(GMT+01.00) Amsterdam / Berlin / Bern / Rome / Stockholm / Vienna", nil, Zone{Name: "Europe/Amsterdam"}},
		{"(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi", nil, Zone{Name: "Asia/Kolkata"}},
		{"(UTC-03:00) Brasilia", nil, Zone{Name: "America/Sao_Paulo"}},
		{"(UTC-10:00) Hawaii", nil, Zone{Name: "US/Hawaii"}},
		{"(UTC) Coordinated Universal Time", nil, UTC},
		{"tzone://Microsoft/Utc", nil, UTC},
		{"GMT+0200", nil, Zone{Name: "Etc/GMT-2"}},
		{"UTC+2", nil, Zone{Name: "Etc/GMT-2"}},
		{"UTC-3", nil, Zone{Name: "Etc/GMT+3"}},
		{"GMT-11", nil, Zone{Name: "Etc/GMT+11"}},
		{"(UTC-05:00)", nil, Zone{Name: "Etc/GMT+5"}},
		{"+05:30", nil, Zone{Name: "Asia/Kolkata"}},
		{"UTC+00:00", nil, UTC},
		{"Etc/GMT+5", nil, Zone{Name: "Etc/GMT+5"}},
		{"PDT", nil, Zone{Name: "America/Los_Angeles"}},
		{"jst", nil, Zone{Name: "Asia/Tokyo"}},
		// Names that mean several zones, or none.
		{"CST", nil, Zone{}},
		{"IST", &Definition{Observances: berlin}, Zone{Observances: berlin}},
		{"UTC+25", nil, Zone{}},
		{"UTC-05:17", nil, Zone{}},
		{"(UTC+01:00) Atlantis", nil, Zone{}},
		{"NoSuchZone", nil, Zone{}},
		{"East", nil, Zone{}},
		{"()", nil, Zone{}},
		{strings.Repeat("(UTC) ", 100), nil, Zone{}},
	} {
		if got := ResolveTZID(row.tzid, row.def); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%.60q is %v, want %v", row.tzid, got, row.want)
		}
	}
}

func TestEveryNameLoads(t *testing.T) {
	for _, name := range knownNames().iana {
		if loc := loadLocation(name); loc == time.UTC && !slices.Contains([]string{"UTC"}, name) && loc.String() != name {
			t.Errorf("%s does not load", name)
		}
	}
	for windows, name := range knownNames().windows {
		if _, ok := Find(name); !ok {
			t.Errorf("%s is %s, which is not in the list", windows, name)
		}
	}
	if n, w := len(knownNames().iana), len(knownNames().windows); n < 590 || w < 130 {
		t.Errorf("%d names, %d of Windows", n, w)
	}
}

// TestListIsThatOfGo compares the list with this version of Go. For a newer one, run generate.sh
// again.
func TestListIsThatOfGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skipf("no zoneinfo.zip beside this Go: %v", err)
	}
	defer r.Close()
	var names []string
	for _, f := range r.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	if got := strings.Fields(nameList); !slices.Equal(got, names) {
		t.Errorf("%d names in the list, %d in Go", len(got), len(names))
	}
}

func europe() []Observance {
	return []Observance{
		{Start: local("1601-01-01 03:00"), From: 7200, To: 3600, Rule: "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10"},
		{Start: local("1601-01-01 02:00"), From: 3600, To: 7200, Rule: "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3"},
	}
}

func TestClocks(t *testing.T) {
	named, observed := Zone{Name: "Europe/Berlin"}.Clock(), Zone{Observances: europe()}.Clock()
	for _, row := range []struct{ what, local, utc string }{
		{"winter", "2026-01-15 12:00", "2026-01-15 11:00"},
		{"summer", "2026-07-15 12:00", "2026-07-15 10:00"},
		{"before the gap", "2026-03-29 01:59", "2026-03-29 00:59"},
		{"in the gap", "2026-03-29 02:30", "2026-03-29 01:30"},
		{"behind the gap", "2026-03-29 03:00", "2026-03-29 01:00"},
		{"before what comes twice", "2026-10-25 01:59", "2026-10-24 23:59"},
		{"what comes twice, first", "2026-10-25 02:30", "2026-10-25 00:30"},
		{"behind it", "2026-10-25 03:00", "2026-10-25 02:00"},
		{"at the year's end", "2026-12-31 23:59", "2026-12-31 22:59"},
	} {
		for name, c := range map[string]Clock{"named": named, "observed": observed} {
			if got := c.ToInstant(local(row.local)); !got.Equal(local(row.utc)) {
				t.Errorf("%s, %s: %v is %v, want %s", name, row.what, row.local, got, row.utc)
			}
			back := c.ToLocal(local(row.utc))
			if row.what != "in the gap" && !back.Equal(local(row.local)) {
				t.Errorf("%s, %s: %v UTC shows %v, want %s", name, row.what, row.utc, back, row.local)
			}
		}
	}
}

// TestObservancesAgreeWithTheName compares a named zone with its VTIMEZONE, every half hour for
// three years.
func TestObservancesAgreeWithTheName(t *testing.T) {
	named, observed := Zone{Name: "Europe/Berlin"}.Clock(), Zone{Observances: europe()}.Clock()
	for at := local("2024-01-01 00:00"); at.Year() < 2027; at = at.Add(30 * time.Minute) {
		if a, b := named.ToInstant(at), observed.ToInstant(at); !a.Equal(b) {
			t.Fatalf("%v is %v by name, %v by observances", at, a, b)
		}
		if a, b := named.ToLocal(at), observed.ToLocal(at); !a.Equal(b) {
			t.Fatalf("%v UTC shows %v by name, %v by observances", at, a, b)
		}
	}
}

func TestObservances(t *testing.T) {
	dst := func(rule string, dates ...time.Time) []Observance {
		return []Observance{
			{Start: local("2000-01-01 00:00"), From: 0, To: 0},
			{Start: local("2000-06-01 00:00"), From: 0, To: 3600, Rule: rule, Dates: dates},
		}
	}
	for _, row := range []struct {
		what  string
		zone  []Observance
		local string
		want  int // seconds east
	}{
		{"before the first, by its offset before", []Observance{{Start: local("2000-01-01 00:00"), From: -3600, To: 3600}}, "1999-01-01 00:00", -3600},
		{"by DTSTART", dst(""), "2000-07-01 00:00", 3600},
		{"by RDATE", dst("", local("2010-06-01 00:00")), "2010-07-01 00:00", 3600},
		{"a rule that ended by UNTIL", append(dst("FREQ=YEARLY;UNTIL=20050601T000000Z"), Observance{Start: local("2005-12-01 00:00"), From: 3600, To: 0}), "2020-07-01 00:00", 0},
		{"a rule that ended by COUNT", append(dst("FREQ=YEARLY;COUNT=3"), Observance{Start: local("2001-12-01 00:00"), From: 3600, To: 0}), "2020-07-01 00:00", 3600},
		{"sub-daily rules are none", dst("FREQ=SECONDLY"), "2020-07-01 00:00", 3600},
		{"no such day", dst("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"), "2020-07-01 00:00", 3600},
	} {
		at := local(row.local)
		if got := int(at.Sub(Zone{Observances: row.zone}.Clock().ToInstant(at)).Seconds()); got != row.want {
			t.Errorf("%s: %d s, want %d", row.what, got, row.want)
		}
	}
}

// TestPeriodsGoOnBehindTheTable covers the years after the zone's table, for which Go ends a period
// on the last day of each leap year without a change.
func TestPeriodsGoOnBehindTheTable(t *testing.T) {
	list := Zone{Name: "Europe/Berlin"}.PeriodsBetween(2035, 2050)
	if len(list) != 3 || len(list[1].Dates) != 15 || len(list[2].Dates) != 15 {
		t.Errorf("%d periods: %+v", len(list), list)
	}
}
