"""Reads calendar files with python3-icalendar: as npm/read.mjs, without the occurrences."""
import datetime, json, re, sys
import icalendar


def moment(t):
    if t is None:
        return ""
    if not isinstance(t, datetime.datetime):
        return t.isoformat()
    return t.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def first(c, name):
    return str(c.get(name, ""))


def plain(s):
    """python3-icalendar 4 does not know RFC 6868."""
    return re.sub(r"\^[n'^]", lambda m: {"^n": "\n", "^'": '"', "^^": "^"}[m[0]], s)


def many(c, name):
    v = c.get(name, [])
    return v if isinstance(v, list) else [v]


def address(v):
    return v[7:] if v.lower().startswith("mailto:") else str(v)


def attendee(v):
    p = v.params
    return "|".join([address(v), plain(p.get("CN", "")), p.get("ROLE", "").lower(), p.get("PARTSTAT", "").lower(), p.get("CUTYPE", ""), p.get("RSVP", "").replace("FALSE", "")])


def at(c, name):
    return moment(c.decoded(name)) if name in c else ""


def times(c, name):
    return sorted(moment(d.dt) for v in many(c, name) for d in v.dts)


def facts(c):
    o = c.get("ORGANIZER")
    return {
        "uid": first(c, "UID"), "sequence": int(c.get("SEQUENCE", 0)), "stamp": at(c, "DTSTAMP"), "id": at(c, "RECURRENCE-ID"),
        "start": at(c, "DTSTART"), "end": at(c, "DTEND"), "title": first(c, "SUMMARY"), "location": first(c, "LOCATION"),
        "description": first(c, "DESCRIPTION"), "status": first(c, "STATUS").lower(), "comment": first(c, "COMMENT"),
        "organizer": address(o) + "|" + plain(o.params.get("CN", "")) if o is not None else "",
        "attendees": [attendee(v) for v in many(c, "ATTENDEE")], "except": times(c, "EXDATE"), "also": times(c, "RDATE"),
    }


out = []
for text in json.load(sys.stdin):
    calendar = icalendar.Calendar.from_ical(text)
    out.append({"method": first(calendar, "METHOD"), "name": first(calendar, "NAME"), "events": [facts(c) for c in calendar.walk("VEVENT")]})
print(json.dumps(out))
