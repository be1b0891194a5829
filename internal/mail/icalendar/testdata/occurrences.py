"""Expands calendar files with python3-recurring-ical-events: a JSON array of [text, from, to] gives the
times, in UTC or as dates, at which their events take place."""
import datetime, json, sys
import icalendar, recurring_ical_events


def moment(t):
    if not isinstance(t, datetime.datetime):
        return t.isoformat()
    return t.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def instant(s):
    return datetime.datetime.strptime(s, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)


out = []
for text, begin, end in json.load(sys.stdin):
    events = recurring_ical_events.of(icalendar.Calendar.from_ical(text)).between(instant(begin), instant(end))
    out.append(sorted(moment(e["DTSTART"].dt) for e in events))
print(json.dumps(out))
