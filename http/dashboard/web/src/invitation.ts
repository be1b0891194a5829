// Reads an invitation in an encrypted message in the browser. This chunk is loaded when there is
// one.
import ICAL from "ical.js";
import type { Attendee, SaidMeeting } from "./wire";

const email = (v: unknown) => String(v ?? "").replace(/^mailto:/i, "");

/**
 * invitation reads the first meeting of a calendar. It returns null if there is none, or if the
 * calendar is not readable.
 */
export async function invitation(ics: string): Promise<SaidMeeting | null> {
  try {
    const root = new ICAL.Component(ICAL.parse(ics.slice(0, 1 << 20)));
    const parts = root.getAllSubcomponents("vevent"), part = parts.find((p) => !p.hasProperty("recurrence-id")) ?? parts[0];
    if (!part) return null;
    for (const z of root.getAllSubcomponents("vtimezone")) ICAL.TimezoneService.register(z);
    const e = new ICAL.Event(part), method = String(root.getFirstPropertyValue("method") ?? "").toUpperCase(), by = part.getFirstProperty("organizer");
    const moment = (t: typeof e.startDate) => (t.isDate ? t.toString() : t.toJSDate().toISOString());
    const attendees: Attendee[] = e.attendees.slice(0, 500).map((a) => ({
      email: email(a.getFirstValue()), name: text(a.getParameter("cn")), role: text(a.getParameter("role"))?.toLowerCase() ?? "req-participant",
      status: text(a.getParameter("partstat"))?.toLowerCase() ?? "needs-action",
    }));
    return {
      id: null, event_id: null, uid: e.uid ?? "", title: e.summary ?? "", start: moment(e.startDate), end: moment(e.endDate), all_day: e.startDate.isDate,
      timezone: null, location: e.location ?? "", description: e.description ?? "", organizer: by ? { email: email(by.getFirstValue()), name: text(by.getParameter("cn")) } : null,
      attendees, status: method === "CANCEL" ? "cancelled" : "confirmed", source: "inbound", sequence: e.sequence ?? 0, recurring: e.isRecurring(), my_status: null,
      recurrence: part.hasProperty("rrule") ? { rrule: String(part.getFirstPropertyValue("rrule")) } : null,
      action: method === "CANCEL" ? "cancelled" : method === "REPLY" ? "replied" : "created",
    };
  } catch {
    return null; // a calendar that cannot be read is still among the attachments
  }
}

const text = (v: unknown): string | null => (Array.isArray(v) ? String(v[0]) : typeof v === "string" ? v : null);
