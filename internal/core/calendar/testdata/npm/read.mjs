// Reads calendar files with ical.js. Takes a JSON array of texts, gives one of {method, name, events}
// each, in which times are RFC 3339 in UTC, or dates.
import ICAL from "ical.js";
import { readFileSync } from "node:fs";

const texts = JSON.parse(readFileSync(0, "utf8"));

function moment(t) {
  if (t === null || t === undefined) return "";
  if (t.isDate) return t.toString();
  return new Date(t.toUnixTime() * 1000).toISOString().replace(".000Z", "Z");
}

const first = (c, name) => c.getFirstPropertyValue(name) ?? "";
const address = (p) => p.getFirstValue().replace(/^mailto:/i, "");
const times = (c, name) => c.getAllProperties(name).flatMap((p) => p.getValues()).map(moment).sort();

function attendee(p) {
  return [address(p), p.getParameter("cn") ?? "", (p.getParameter("role") ?? "").toLowerCase(), (p.getParameter("partstat") ?? "").toLowerCase(),
    p.getParameter("cutype") ?? "", p.getParameter("rsvp") === "TRUE" ? "TRUE" : ""].join("|");
}

function facts(c, all) {
  const start = c.getFirstPropertyValue("dtstart");
  const organizer = c.getFirstProperty("organizer");
  const own = all.filter((o) => first(o, "uid") === first(c, "uid"));
  return {
    uid: first(c, "uid"), sequence: Number(first(c, "sequence")), stamp: moment(c.getFirstPropertyValue("dtstamp")), id: moment(c.getFirstPropertyValue("recurrence-id")),
    start: moment(start), end: moment(c.getFirstPropertyValue("dtend")), title: first(c, "summary"), location: first(c, "location"),
    description: first(c, "description"), status: first(c, "status").toLowerCase(), comment: first(c, "comment"),
    organizer: organizer ? `${address(organizer)}|${organizer.getParameter("cn") ?? ""}` : "", attendees: c.getAllProperties("attendee").map(attendee),
    except: times(c, "exdate"), also: times(c, "rdate"), occurs: occurrences(c, own),
  };
}

// occurrences are the first eight, of an event that comes back.
function occurrences(c, own) {
  if (!c.hasProperty("rrule") && !c.hasProperty("rdate")) return [];
  const event = new ICAL.Event(c, { exceptions: own.filter((o) => o !== c) });
  const walk = event.iterator();
  const list = [];
  for (let next = walk.next(); next && list.length < 8; next = walk.next()) {
    const at = event.getOccurrenceDetails(next);
    list.push(`${moment(at.startDate)}/${moment(at.endDate)}`);
  }
  return list;
}

console.log(JSON.stringify(texts.map((text) => {
  ICAL.TimezoneService.reset();
  const calendar = new ICAL.Component(ICAL.parse(text));
  for (const zone of calendar.getAllSubcomponents("vtimezone")) {
    ICAL.TimezoneService.register(new ICAL.Timezone(zone));
  }
  const events = calendar.getAllSubcomponents("vevent");
  return { method: first(calendar, "method"), name: first(calendar, "name"), events: events.map((c) => facts(c, events)) };
})));
