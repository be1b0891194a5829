// A meeting as a card, with the buttons to respond to it.
import type { VNode } from "snabbdom";
import * as api from "./api";
import { chip, el, full, isBusy, run, say, troubleOf, when, wrong, outside } from "./ui";
import { changed, forgetting } from "./store";
import type { Happening, Meeting, SaidMeeting } from "./wire";
import * as words from "./words";

export const statusWords: Record<string, string> = { accepted: "accepted", declined: "declined", tentative: "tentative", "needs-action": "no response" };
const kinds: Record<string, string> = { accepted: "good", declined: "bad", tentative: "warn", "needs-action": "" };

type Span = { start: string; end: string; all_day: boolean };

/**
 * lastDay is the last day of an all-day meeting, whose end is the day after. It is "" for a meeting
 * of one day.
 */
export function lastDay(m: Span): string {
  const d = new Date(m.end.slice(0, 10) + "T00:00Z");
  const last = new Date(d.getTime() - 86_400_000).toISOString().slice(0, 10);
  return last > m.start.slice(0, 10) ? last : "";
}

export function time(m: Span): VNode {
  if (m.all_day) return el("span", null, words.date(m.start.slice(0, 10)), lastDay(m) ? " – " + words.date(lastDay(m)) : ", all day");
  const same = new Date(m.start).toDateString() === new Date(m.end).toDateString();
  return el("span", null, when(m.start, (t) => `${words.date(t)}, ${words.hour(t)}`), " – ", when(m.end, same ? words.hour : words.long));
}

let current = new Map<string, Meeting>(); // current state in the calendar of the meetings that messages mentioned

/** now fetches the current state of a meeting. */
async function now(addr: string, id: number) {
  try {
    current.set(addr + " " + id, (await api.get<{ event: Meeting }>(api.path`/api/v1/inboxes/${addr}/calendar/events/${id}`)).event);
    changed();
  } catch (e) {
    if (!(e instanceof api.Failure) && !(e instanceof api.Left)) throw e;
  }
}

forgetting(() => (current = new Map()));

/** happened fetches a meeting again if its card was shown. */
export function happened(e: Happening) {
  const id = e.calendar_event?.id ?? 0;
  if (current.has(e.inbox + " " + id)) void now(e.inbox, id);
}

/** card shows what a message says about a meeting, with buttons to respond. */
export function card(addr: string, e: SaidMeeting, sealed: boolean): VNode {
  const id = e.event_id, m = id !== null ? current.get(addr + " " + id) : undefined;
  const said: Record<string, string> = { created: "Invitation", updated: "Change", cancelled: "Cancelled", replied: "Response", unchanged: "No change" };
  return full("div.meeting", { key: addr + id, hook: { insert: () => void (id !== null && !sealed && now(addr, id)) } },
    el("p", null, chip(said[e.action] ?? e.action, e.action === "cancelled" ? "bad" : "")), details(m ?? e),
    sealed ? el("p.note", null, "This inbox is end-to-end encrypted, so it has no calendar and cannot respond.") : m && m.source === "inbound" && m.status !== "cancelled" && m.my_status !== null ? answer(addr, m) : null);
}

/** details shows the time, place and people of a meeting. */
export function details(e: Omit<Meeting, "id">): VNode {
  return el("div", null, el("h2", null, e.title || "Untitled"), el("p.time", null, time(e), e.timezone && !e.all_day ? el("span.quiet", null, " · planned in " + e.timezone) : null),
    e.recurring && el("p.quiet", null, "The meeting repeats" + (e.recurrence?.rrule ? ": " + e.recurrence.rrule : ".")),
    e.timezone_unknown && el("p.note", null, "The invitation has an unknown time zone. Check the time with the organizer."),
    e.location && el("p", null, el("b", null, "Where "), e.location), outsideOf(e.location),
    e.join_url && e.join_url !== e.location ? el("p", null, el("b", null, "Join "), outside(e.join_url)) : null,
    e.organizer && el("p", null, el("b", null, "By "), words.person(e.organizer), e.organizer.name ? el("span.quiet", null, ` ${e.organizer.email}`) : null, e.organizer_verified === false ? chip("not verified") : null),
    e.transparency === "transparent" && el("p.quiet", null, "This meeting blocks no time and is shown as free."),
    e.attendees.length > 0 && el("ul.guests", { "aria-label": "Guests" }, e.attendees.map((a) => el("li", null, el("span.name", { title: a.email }, words.person(a)), a.role === "opt-participant" && chip("optional"), chip(statusWords[a.status] ?? a.status, kinds[a.status])))),
    e.description && el("pre.text", null, e.description));
}

const outsideOf = (where: string) => (/^https?:\/\/\S+$/.test(where) ? outside(where) : null);

/** answer shows the three responses to an invitation. */
export function answer(addr: string, m: Meeting, done: () => void = () => {}): VNode {
  const form = "rsvp", one = (response: string, label: string) => full("button", {
    attrs: { type: "submit", name: "response", value: response, "aria-pressed": m.my_status === response ? "true" : "false", class: response === "accepted" ? "main" : "", disabled: isBusy(form) },
  }, label);
  return full("form.rsvp", { key: "rsvp" + m.id, on: { submit: (e: Event) => {
    e.preventDefault();
    const at = e.target as HTMLFormElement, response = ((e as SubmitEvent).submitter as HTMLButtonElement | null)?.value ?? "accepted";
    const comment = (at.elements.namedItem("comment") as HTMLInputElement).value;
    void run(form, async () => {
      const r = await api.json<{ event: Meeting }>("POST", api.path`/api/v1/inboxes/${addr}/calendar/events/${m.id}/rsvp`, { response, ...(comment ? { comment } : {}) }, { once: api.newOnce() });
      current.set(addr + " " + m.id, r.event);
      say("The response is being sent.");
      done();
    }).catch(wrong);
  } } },
    el("p", null, m.my_status === "needs-action" ? "Will you come?" : `Your response: ${statusWords[m.my_status ?? ""] ?? m.my_status}.`),
    m.conflicts?.length ? el("p.note", null, `The meeting overlaps with ${words.plural(m.conflicts.length, "other meeting")}.`) : null,
    el("div.field", null, el("label", { for: "rsvp-comment" }, "Comment"), el("input", { id: "rsvp-comment", name: "comment", maxlength: 10000, autocomplete: "off" })),
    troubleOf(form, []),
    el("div.buttons", null, one("accepted", "Accept"), one("tentative", "Tentative"), one("declined", "Decline")));
}
