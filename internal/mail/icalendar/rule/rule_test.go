package rule

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, good := range map[string]bool{
		"FREQ=DAILY":                                 true,
		"freq=weekly;byday=mo,we;":                   true,
		"FREQ=MONTHLY;BYDAY=1MO,-1FR;BYSETPOS=-1":    true,
		"FREQ=YEARLY;BYWEEKNO=-53,53;WKST=SU":        true,
		"FREQ=YEARLY;BYYEARDAY=-366,366":             true,
		"FREQ=DAILY;INTERVAL=1000;COUNT=10000":       true,
		"FREQ=DAILY;UNTIL=20260101":                  true,
		"FREQ=DAILY;UNTIL=20260101T000000Z":          true,
		"FREQ=DAILY;UNTIL=20260101T000000":           true,
		"FREQ=DAILY;BYHOUR=9;BYMINUTE=30;BYSECOND=0": true,
		"":                                   false,
		"INTERVAL=2":                         false,
		"FREQ=HOURLY":                        false,
		"FREQ=MINUTELY":                      false,
		"FREQ=SECONDLY":                      false,
		"FREQ=FORTNIGHTLY":                   false,
		"FREQ=DAILY;FREQ=DAILY":              false,
		"FREQ=DAILY;INTERVAL=0":              false,
		"FREQ=DAILY;INTERVAL=1001":           false,
		"FREQ=DAILY;COUNT=0":                 false,
		"FREQ=DAILY;COUNT=10001":             false,
		"FREQ=DAILY;COUNT=-1":                false,
		"FREQ=DAILY;UNTIL=tomorrow":          false,
		"FREQ=DAILY;UNTIL=20260230":          false,
		"FREQ=DAILY;BYHOUR=9,10":             false,
		"FREQ=DAILY;BYHOUR=24":               false,
		"FREQ=DAILY;BYMINUTE=60":             false,
		"FREQ=DAILY;BYSECOND=60":             false,
		"FREQ=YEARLY;BYMONTH=13":             false,
		"FREQ=YEARLY;BYMONTH=0":              false,
		"FREQ=MONTHLY;BYMONTHDAY=0":          false,
		"FREQ=MONTHLY;BYMONTHDAY=-32":        false,
		"FREQ=YEARLY;BYYEARDAY=367":          false,
		"FREQ=YEARLY;BYWEEKNO=54":            false,
		"FREQ=YEARLY;BYDAY=54MO":             false,
		"FREQ=MONTHLY;BYDAY=0MO":             false,
		"FREQ=MONTHLY;BYDAY=4TH":             true,
		"FREQ=MONTHLY;BYDAY=XX":              false,
		"FREQ=MONTHLY;BYDAY=UM":              false,
		"FREQ=WEEKLY;BYDAY=1MO":              false,
		"FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO":   false,
		"FREQ=MONTHLY;BYSETPOS=367;BYDAY=MO": false,
		"FREQ=DAILY;RSCALE=CHINESE":          false,
		"FREQ=DAILY;COUNT":                   false,
		"FREQ=DAILY;COUNT=3;UNTIL=20260101":  false,
		"FREQ=DAILY;WKST=1MO":                false,
		"FREQ=DAILY;BYMONTH=" + strings.Repeat("1,", 2000) + "1": false,
	} {
		if _, err := Parse(text); (err == nil) != good {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// TestExamplesOfTheRFC contains the examples of RFC 5545, section 3.8.5.3, that are not sub-daily,
// by their first times.
func TestExamplesOfTheRFC(t *testing.T) {
	for _, row := range []struct{ start, rule, want string }{
		{"19970902T090000", "FREQ=DAILY;INTERVAL=2", "0902 0904 0906 0908 0910"},
		{"19970902T090000", "FREQ=DAILY;INTERVAL=10;COUNT=5", "0902 0912 0922 1002 1012"},
		{"19980101T090000", "FREQ=YEARLY;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA", "0101 0102 0103"},
		{"19970902T090000", "FREQ=WEEKLY;INTERVAL=2;WKST=SU", "0902 0916 0930 1014"},
		{"19970901T090000", "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO,WE,FR", "0901 0903 0905 0915 0917"},
		{"19970905T090000", "FREQ=MONTHLY;BYDAY=1FR", "0905 1003 1107 1205"},
		{"19970907T090000", "FREQ=MONTHLY;INTERVAL=2;BYDAY=1SU,-1SU", "0907 0928 1102 1130 0104"},
		{"19970922T090000", "FREQ=MONTHLY;BYDAY=-2MO", "0922 1020 1117 1222"},
		{"19970928T090000", "FREQ=MONTHLY;BYMONTHDAY=-3", "0928 1029 1128 1229"},
		{"19970902T090000", "FREQ=MONTHLY;BYMONTHDAY=2,15", "0902 0915 1002 1015"},
		{"19970930T090000", "FREQ=MONTHLY;BYMONTHDAY=1,-1", "0930 1001 1031 1101"},
		{"19970910T090000", "FREQ=MONTHLY;INTERVAL=18;BYMONTHDAY=10,11,12,13,14,15", "0910 0911 0912 0913 0914 0915 0310"},
		{"19970610T090000", "FREQ=YEARLY;BYMONTH=6,7", "0610 0710 0610 0710"},
		{"19970101T090000", "FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,200", "0101 0410 0719 0101 0409 0718"},
		{"19970519T090000", "FREQ=YEARLY;BYDAY=20MO", "0519 0518 0517"},
		{"19970512T090000", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "0512 0511 0517"},
		{"19970512T090000", "FREQ=YEARLY;BYWEEKNO=20", "0512 0511 0517"},
		{"19970313T090000", "FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "0313 0320 0327 0305"},
		{"19970902T090000", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "0213 0313 1113 0813 1013 0413 0713"},
		{"19970913T090000", "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "0913 1011 1108 1213"},
		{"19961105T090000", "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "1105 1107 1102"},
		{"19970904T090000", "FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3", "0904 1007 1106"},
		{"19970929T090000", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "0929 1030 1127 1230"},
		{"19970805T090000", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO", "0805 0810 0819 0824"},
		{"19970805T090000", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU", "0805 0817 0819 0831"},
		{"20070115T090000", "FREQ=MONTHLY;BYMONTHDAY=15,30", "0115 0130 0215 0315 0330"},
		{"20080229T090000", "FREQ=YEARLY", "0229 0229"},
		{"20260131T090000", "FREQ=MONTHLY", "0131 0331 0531"},
	} {
		r, err := Parse(row.rule)
		if err != nil {
			t.Errorf("%s: %v", row.rule, err)
			continue
		}
		first, _ := time.Parse("20060102T150405", row.start)
		var got []string
		n := len(strings.Fields(row.want))
		r.Walk(first, first, first.AddDate(130, 0, 0), func(at time.Time) bool {
			if h, m, s := at.Clock(); h != 9 || m+s != 0 {
				t.Errorf("%s: %v", row.rule, at)
			}
			got = append(got, at.Format("0102"))
			return len(got) < n
		})
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s from %s: %v, want %s", row.rule, row.start, got, row.want)
		}
	}
}

func TestWalkEnds(t *testing.T) {
	first := time.Date(1970, 1, 1, 9, 0, 0, 0, time.UTC)
	never, _ := Parse("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30")
	count := func(end time.Time) (n int, whole bool) {
		whole = never.Walk(first, first, end, func(time.Time) bool { n++; return true })
		return n, whole
	}
	if n, whole := count(first.AddDate(1000, 0, 0)); n != 0 || whole {
		t.Errorf("a day that never comes: %d, whole %v", n, whole)
	}
	if n, whole := count(first.AddDate(10, 0, 0)); n != 0 || !whole {
		t.Errorf("a day that never comes, within ten years: %d, whole %v", n, whole)
	}
}

// TestJumpsLandOnPeriods checks that a walk that begins near the end gives the same times there as
// a walk from the start.
func TestJumpsLandOnPeriods(t *testing.T) {
	first := time.Date(1999, 12, 31, 9, 0, 0, 0, time.UTC)
	for _, text := range []string{"FREQ=DAILY;INTERVAL=7", "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,SU", "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=1,-1", "FREQ=YEARLY;INTERVAL=4;BYYEARDAY=60,-1"} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		near, end := first.AddDate(20, 3, 5), first.AddDate(31, 0, 0)
		seen := map[time.Time]bool{}
		r.Walk(first, first, end, func(at time.Time) bool { seen[at] = at.After(near); return true })
		r.Walk(first, near, end, func(at time.Time) bool {
			if _, ok := seen[at]; !ok {
				t.Errorf("%s: %v only from near", text, at)
			}
			delete(seen, at)
			return true
		})
		for at, behind := range seen {
			if behind {
				t.Errorf("%s: %v only from the start", text, at)
			}
		}
	}
}

// TestSpell checks the rules for readers of feeds, and which invalid rules are refused because a
// reader would reject the whole feed.
func TestSpell(t *testing.T) {
	until := func(end time.Time, instant bool) string {
		return end.Format("20060102T150405") + map[bool]string{true: "Z"}[instant]
	}
	for text, want := range map[string]string{
		"freq=weekly;byday=mo,we;":                      "FREQ=WEEKLY;BYDAY=MO,WE",
		"FREQ=HOURLY;INTERVAL=5000;BYMINUTE=0,30":       "FREQ=HOURLY;INTERVAL=5000;BYMINUTE=0,30",
		"FREQ=SECONDLY;BYSECOND=60;COUNT=20000":         "FREQ=SECONDLY;BYSECOND=60;COUNT=20000",
		"FREQ=MINUTELY;BYHOUR=9,10":                     "FREQ=MINUTELY;BYHOUR=9,10",
		"FREQ=DAILY;UNTIL=20260102":                     "FREQ=DAILY;UNTIL=20260102T235959",
		"FREQ=DAILY;UNTIL=20260102T100000Z":             "FREQ=DAILY;UNTIL=20260102T100000Z",
		"FREQ=YEARLY;BYYEARDAY=-1;BYSETPOS=-1;WKST=SU":  "FREQ=YEARLY;BYYEARDAY=-1;BYSETPOS=-1;WKST=SU",
		"FREQ=YEARLY;BYWEEKNO=53;BYMONTH=2;BYDAY=-53MO": "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=2;BYDAY=-53MO",
		"FREQ=MONTHLY;BYMONTHDAY=-31":                   "FREQ=MONTHLY;BYMONTHDAY=-31",
		"":                                              "",
		"COUNT=3":                                       "",
		"FREQ=NOPE;X":                                   "",
		"FREQ=DAILY;COUNT=abc":                          "",
		"FREQ=DAILY;COUNT=+3":                           "",
		"FREQ=DAILY;INTERVAL=x":                         "",
		"FREQ=DAILY;INTERVAL=0":                         "",
		"FREQ=DAILY;INTERVAL=99999999999":               "",
		"FREQ=DAILY;BYDAY=XX":                           "",
		"FREQ=DAILY;BYDAY=":                             "",
		"FREQ=DAILY;BYMONTHDAY=40":                      "",
		"FREQ=DAILY;BYMONTH=13":                         "",
		"FREQ=DAILY;BYSETPOS=999":                       "",
		"FREQ=DAILY;BYHOUR=99":                          "",
		"FREQ=DAILY;BYMINUTE=60":                        "",
		"FREQ=DAILY;BYSECOND=61":                        "",
		"FREQ=DAILY;BYWEEKNO=99":                        "",
		"FREQ=DAILY;BYYEARDAY=0":                        "",
		"FREQ=DAILY;WKST=XX":                            "",
		"FREQ=DAILY;UNTIL=garbage":                      "",
		"FREQ=DAILY;UNTIL=20271301":                     "",
		"FREQ=DAILY;UNTIL=20270101;COUNT=3":             "",
		"FREQ=DAILY;COUNT=3;COUNT=3":                    "",
		"RSCALE=CHINESE;FREQ=YEARLY":                    "",
	} {
		if got, ok := NormalizeRule(text, until); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %t, want %q", text, got, ok, want)
		}
	}
}
