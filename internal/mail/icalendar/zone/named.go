package zone

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// resolveName is the IANA name that a TZID certainly means; empty if that is not certain. Programs
// write an IANA name, one at the end of a path, or a Windows name, also followed by a number
// (Outlook numbers zones of the same name). They also write the name that Windows displays,
// "(UTC-05:00) Eastern Time (US & Canada)", an offset, or an abbreviation.
func resolveName(tzid string) string {
	tzid = strings.Trim(tzid, " \t\"")
	if z, ok := Find(tzid); ok {
		return z.Name
	}
	if name := behindPrefix(tzid); name != "" {
		return name
	}
	if len(tzid) > longestShown {
		return ""
	}
	shown := strings.ToLower(strings.Join(strings.Fields(tzid), " "))
	if m := offsetPattern.FindStringSubmatch(shown); m != nil {
		return byOffset(m)
	}
	for _, name := range [...]string{shown, numberSuffix.ReplaceAllString(shown, "")} {
		if found := windowsName(name); found != "" {
			return found
		}
		if found := zoneAbbreviations[name]; found != "" {
			return found
		}
	}
	return resolveDisplayName(shown)
}

// longestShown is more than the longest display name of Windows, in octets.
const longestShown = 200

var (
	numberSuffix = regexp.MustCompile(` \d{1,2}$`)
	// offsetPattern matches "GMT+0200", "UTC+2", "+02:00", "(UTC-05:00)" and the like.
	offsetPattern = regexp.MustCompile(`^\(?(?:utc|gmt|z)? ?([+-])(\d{1,2})[:.]?(\d{2})?\)?$`)
	// offsetPrefix matches the offset that Windows displays before a name.
	offsetPrefix = regexp.MustCompile(`^\((?:utc|gmt)(?:[+-]\d{1,2}[:.]?\d{2})?\) ?`)
)

// windowsName is the IANA name of a Windows zone, in lower case, or of a name that differs from one
// only in its season: "Eastern Daylight Time", "Eastern Time".
func windowsName(name string) string {
	windows := knownNames().windows
	if found := windows[name]; found != "" {
		return found
	}
	for _, season := range [...]string{" daylight time", " summer time", " time", ""} {
		if base, ok := strings.CutSuffix(name, season); ok && base != "" {
			if found := windows[base+" standard time"]; found != "" {
				return found
			}
		}
	}
	return ""
}

// resolveDisplayName is the zone that Windows displays as a list of cities or regions, with or
// without an offset. The first known one is taken, because all have the same time.
func resolveDisplayName(shown string) string {
	shown = offsetPrefix.ReplaceAllString(shown, "")
	for place := range strings.FieldsFuncSeq(shown, func(r rune) bool { return r == ',' || r == '/' || r == ';' }) {
		place = strings.TrimSpace(place)
		if name := knownNames().cities[place]; name != "" {
			return name
		}
		region, _, _ := strings.Cut(place, " (") // "Pacific Time (US & Canada)"
		if name := windowsName(region); name != "" {
			return name
		}
	}
	return shownAs[shown]
}

// shownAs are the zones whose Windows display name is in no list.
var shownAs = map[string]string{
	"brasilia": "America/Sao_Paulo", "indiana (east)": "America/Indiana/Indianapolis", "west central africa": "Africa/Lagos",
	"coordinated universal time": "UTC", "greenwich mean time": "Etc/GMT", "international date line west": "Etc/GMT+12",
	"baja california": "America/Tijuana", "solomon is., new caledonia": "Pacific/Guadalcanal", "cabo verde is.": "Atlantic/Cape_Verde",
	"cape verde is.": "Atlantic/Cape_Verde", "sri jayawardenepura": "Asia/Colombo", "yangon (rangoon)": "Asia/Yangon",
}

// cityOf is the last part of an IANA name, in lower case, by which it is also known. It is empty if
// that part is not a place, as in Brazil/East.
func cityOf(name string) string {
	regions := [...]string{"Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Canada", "Europe", "Indian", "Pacific", "US"}
	region, _, _ := strings.Cut(name, "/")
	city := strings.ToLower(strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "_", " "))
	if !slices.Contains(regions[:], region) || slices.Contains(notCities[:], city) {
		return ""
	}
	return city
}

var notCities = [...]string{"north", "south", "east", "west", "central", "act", "yancowinna", "samoa"}

// byOffset is a zone with this constant offset.
func byOffset(m []string) string {
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3])
	switch at := fmt.Sprintf("%s%d:%02d", m[1], hours, minutes); {
	case minutes != 0:
		return partHours[at]
	case hours == 0:
		return UTC.Name
	case m[1] == "+" && hours <= 14:
		return fmt.Sprintf("Etc/GMT-%d", hours) // the signs of these names are POSIX's
	case m[1] == "-" && hours <= 12:
		return fmt.Sprintf("Etc/GMT+%d", hours)
	}
	return ""
}

// partHours are zones without daylight saving time whose offsets are not whole hours.
var partHours = map[string]string{
	"+3:30": "Asia/Tehran", "+4:30": "Asia/Kabul", "+5:30": "Asia/Kolkata", "+5:45": "Asia/Kathmandu", "+6:30": "Asia/Yangon",
	"+8:45": "Australia/Eucla", "+9:30": "Australia/Darwin", "-9:30": "Pacific/Marquesas",
}

// zoneAbbreviations mean the same zone wherever they are written. CST, IST and BST do not.
var zoneAbbreviations = map[string]string{
	"edt": "America/New_York", "cdt": "America/Chicago", "mdt": "America/Denver", "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles",
	"et": "America/New_York", "pt": "America/Los_Angeles", "akst": "America/Anchorage", "akdt": "America/Anchorage", "hast": "Pacific/Honolulu",
	"cest": "Europe/Brussels", "mez": "Europe/Berlin", "mesz": "Europe/Berlin", "eest": "Europe/Athens", "west": "Europe/Lisbon", "msk": "Europe/Moscow",
	"jst": "Asia/Tokyo", "kst": "Asia/Seoul", "hkt": "Asia/Hong_Kong", "sgt": "Asia/Singapore", "aest": "Australia/Brisbane", "aedt": "Australia/Sydney",
	"awst": "Australia/Perth", "nzst": "Pacific/Auckland", "nzdt": "Pacific/Auckland", "sast": "Africa/Johannesburg", "brt": "America/Sao_Paulo",
	"z": "UTC", "utc time": "UTC", "greenwich mean time": "Etc/GMT",
}
