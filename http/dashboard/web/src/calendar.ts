// The calendar of an inbox: as a list, as a month, and the actions on a meeting.
import type { VNode } from "snabbdom";
import * as api from "./api";
import { query } from "./api";
import * as boxes from "./inboxes";
import * as meeting from "./meeting";
import * as place from "./place";
import { paged, reload, more, type Fetch } from "./rows";
import { changed, part } from "./store";
import { button, chip, closeDialog, code, confirm, copyButton, el, empty, failed, field, form, full, icon, link, loading, openDialog, outside, run, say, trouble, troubleOf, when, wrong, type Child } from "./ui";
import type { Feed, Happening, Meeting, OwnerCopies } from "./wire";
import * as words from "./words";

const cal = part(() => ({ addr: "", list: paged<Meeting>(), month: new Date(), form: "agenda", past: false, feed: null as Feed | null, owner: null as OwnerCopies | null }));

const start = (d: Date) => new Date(d.getFullYear(), d.getMonth(), 1);
const days = 86_400_000;

function span(): { from?: string; to?: string } {
  if (cal.form === "agenda") return cal.past ? {} : { from: new Date(Date.now() - days / 24).toISOString() };
  const first = start(cal.month);
  return { from: new Date(first.getTime() - 7 * days).toISOString(), to: new Date(first.getTime() + 45 * days).toISOString() };
}

const fetchPage: Fetch<Meeting> = async (cursor) => {
  const r = await api.get<{ events: Meeting[]; next_cursor: string | null }>(api.path`/api/v1/inboxes/${cal.addr}/calendar/events` + query({ limit: 100, cursor, include_cancelled: true, ...span() }));
  return { items: r.events, next: r.next_cursor };
};

const load = (keep = true) => reload(cal.list, fetchPage, keep);

export function enter() {
  const addr = place.here.addr || boxes.latest();
  if (!addr) return void boxes.load(true).then(() => boxes.boxes.list.items.length && place.here.view === "calendar" && enter());
  if (!place.here.addr) return place.go(place.to("calendar", addr), true);
  boxes.boxes.last = addr;
  if (addr !== cal.addr) Object.assign(cal, { addr, feed: null, owner: null, list: paged<Meeting>() });
  boxes.want(addr).catch(wrong);
  void load();
  if (place.here.id) void one(place.here.id);
}

// Meetings that the inbox itself arranges have no event, but the invitation message has one.
export function happened(e: Happening) {
  if (/^(calendar|message\.(delivered|failed)$)/.test(e.event) && e.inbox === cal.addr) void load();
}

async function one(id: number) {
  try {
    const { event } = await api.get<{ event: Meeting }>(api.path`/api/v1/inboxes/${cal.addr}/calendar/events/${id}`);
    show(event);
  } catch (e) {
    wrong(e);
  }
}

// --- one meeting

function show(m: Meeting) {
  openDialog({ title: "Meeting", closed: () => place.here.id && place.stand(place.to("calendar", cal.addr)), body: () => {
    const e = cal.list.items.find((x) => x.id === m.id) ?? m, mine = e.source === "outbound", over = e.status === "cancelled";
    return [over && el("p", null, chip("cancelled", "bad")), meeting.details(e),
      !mine && !over && e.my_status !== null ? meeting.answer(cal.addr, e, () => (void load(), closeDialog())) : null,
      mine && !over ? el("div.buttons", null, button("Change", () => edit(e)), button("Cancel the meeting", () => cancel(e), {}, "button.danger")) : null,
      el("div.buttons", null, button("Remove", () => remove(e), {}, "button.danger"))];
  } });
}

function cancel(m: Meeting) {
  openDialog({ title: "Cancel the meeting?", body: () => [form("cancel-meeting", [{ name: "message", label: "Message to the guests", type: "textarea", rows: 3 }], "Cancel the meeting", async (v) => {
    await api.json("POST", api.path`/api/v1/inboxes/${cal.addr}/calendar/events/${m.id}/cancel`, v.message ? { message: v.message } : {}, { once: api.newOnce() });
    closeDialog();
    await load();
    say("The meeting is cancelled and the guests are notified.");
  }, [button("Keep it", closeDialog)])] });
}

function remove(m: Meeting) {
  openDialog({ title: "Remove the meeting?", body: () => [
    el("p", null, "The meeting is removed from this calendar. Nothing is sent, and no message restores it for 30 days."),
    form("remove-meeting", [], "Remove it", async () => {
      await api.json("DELETE", api.path`/api/v1/inboxes/${cal.addr}/calendar/events/${m.id}`);
      closeDialog();
      await load();
      say("The meeting is removed.");
    }, [button("Keep it", closeDialog)])] });
}

const local = (t: string) => {
  const d = new Date(t), two = (n: number) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`;
};

function edit(m: Meeting | null) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone, state = { allDay: m?.all_day ?? false };
  const next = new Date(Math.ceil((Date.now() + 1) / 3_600_000) * 3_600_000 + 3_600_000);
  const once = api.onceEach();
  openDialog({ title: m ? "Change the meeting" : "New meeting", body: () => [form("meeting", [
    { name: "title", label: "Title", required: true, value: m?.title, autofocus: true },
    el("div.live", { key: "all-day" }, full("label.inline", {}, full("input", { attrs: { type: "checkbox", name: "all_day" }, props: { checked: state.allDay }, on: { change: (e: Event) => ((state.allDay = (e.target as HTMLInputElement).checked), changed()) } }), " All day")),
    state.allDay ? el("div.two", { key: "days" }, field("meeting", { name: "start", label: "First day", type: "date", required: true, value: (m?.all_day ? m.start : local(m?.start ?? next.toISOString())).slice(0, 10) }), field("meeting", { name: "last", label: "Last day", type: "date", required: true, value: m?.all_day ? local(new Date(Date.parse(m.end + "T00:00") - days / 2).toISOString()).slice(0, 10) : local(m?.start ?? next.toISOString()).slice(0, 10) }))
      : el("div.two", { key: "times" }, field("meeting", { name: "start", label: "Begins", type: "datetime-local", required: true, value: local(m && !m.all_day ? m.start : next.toISOString()), hint: zone }), field("meeting", { name: "end", label: "Ends", type: "datetime-local", required: true, value: local(m && !m.all_day ? m.end : new Date(next.getTime() + 1_800_000).toISOString()) })),
    { name: "attendees", label: "Guests", required: true, value: m?.attendees.map((a) => a.email).join(", "), hint: "Addresses, separated by commas" },
    { name: "location", label: "Location", value: m?.location }, { name: "description", label: "Description", type: "textarea", rows: 3, value: m?.description },
    { name: "message", label: "Message to the guests, only in the invitation", type: "textarea", rows: 2 },
  ], m ? "Save and notify the guests" : "Invite", async (v) => {
    const order: Record<string, unknown> = { title: v.title, location: v.location, description: v.description, attendees: v.attendees.split(/[,;\s]+/).filter(Boolean) };
    if (v.message) order.message = v.message;
    if (state.allDay) Object.assign(order, { all_day: true, start: v.start, end: after(v.last) });
    else Object.assign(order, { ...(m?.all_day ? { all_day: false } : {}), start: v.start, end: v.end, timezone: zone });
    if (state.allDay && v.last < v.start) return trouble("meeting", "last", "The last day is before the first day.");
    if (m) await api.json("PATCH", api.path`/api/v1/inboxes/${cal.addr}/calendar/events/${m.id}`, unchanged(m, order, state.allDay));
    else await api.json("POST", api.path`/api/v1/inboxes/${cal.addr}/calendar/events`, order, { once: once(order) });
    closeDialog();
    await load();
    say(m ? "The meeting is changed and the guests are notified." : "The invitation is being sent.");
  })] });
}

/** unchanged omits the fields that did not change, because a new time asks all guests to respond again. */
function unchanged(m: Meeting, order: Record<string, unknown>, allDay: boolean): Record<string, unknown> {
  const o = { ...order };
  for (const k of ["title", "location", "description"] as const) if (o[k] === m[k]) delete o[k];
  if (String(o.attendees) === m.attendees.map((a) => a.email).join(",")) delete o.attendees;
  const same = allDay === m.all_day && (allDay ? o.start === m.start && o.end === m.end : o.start === local(m.start) && o.end === local(m.end));
  if (same) for (const k of ["start", "end", "timezone", "all_day"]) delete o[k];
  return o;
}

function after(day: string): string {
  return local(new Date(new Date(day + "T12:00").getTime() + days).toISOString()).slice(0, 10);
}

// --- the link for calendar programs, and the owner's copies

async function sharing() {
  const addr = cal.addr;
  cal.feed = cal.owner = null;
  follow(addr);
  try {
    cal.owner = await api.get<OwnerCopies>(api.path`/api/v1/inboxes/${addr}/calendar/owner`);
  } catch (e) {
    wrong(e);
  }
  changed();
}

const follow = (addr: string) => openDialog({ title: "Subscribe to this calendar", body: () => [...feedBody(addr), el("h3", null, "Copies for you"), ownerBody(addr)] });

function feedBody(addr: string): Child[] {
  const f = cal.feed;
  if (!f) return [el("p", null, "Calendar programs can subscribe to a link. Anyone who has the link can read the meetings, their guests and their responses."), troubleOf("feed", []), button("Show the link", () => void run("feed", async () => {
    cal.feed = await api.get<Feed>(api.path`/api/v1/inboxes/${addr}/calendar/feed`);
  }).catch(wrong), {}, "button.main")];
  return [el("p", null, "Anyone who has this link can read the meetings, their guests and their responses."), code(f.feed_url, "calendar link"),
    el("div.buttons.start", null, outside(f.subscribe_links.google, "Google Calendar"), outside(f.subscribe_links.apple, "Apple Calendar"), outside(f.subscribe_links.outlook, "Outlook")),
    el("p.quiet", null, f.last_fetched_at ? ["Last fetched ", when(f.last_fetched_at, words.long), f.last_client ? " by " + f.last_client : "", f.stale ? "; the calendar has changed since." : ".", f.fetch_count > 1 ? ` Fetched ${f.fetch_count} times.` : ""] : "The link was not fetched yet."),
    el("div.buttons.start", null,
      button("Replace the link", () => confirm("Replace the link?", "The old link stops working immediately, for all its subscribers.", "Replace", async () => {
        cal.feed = await api.json<Feed>("POST", api.path`/api/v1/inboxes/${addr}/calendar/feed/rotate`, undefined, { once: api.newOnce() });
        setTimeout(() => follow(addr));
      }), {}, "button.small"),
      button("Turn it off", () => confirm("Turn the link off?", "The link stops working immediately.", "Turn off", async () => {
        await api.json("DELETE", api.path`/api/v1/inboxes/${addr}/calendar/feed`);
        cal.feed = null;
        say("The link is off.");
      }), {}, "button.small.danger"))];
}

function ownerBody(addr: string): VNode {
  const o = cal.owner;
  if (!o) return loading("the setting");
  return el("div", null, el("div.field.check", null, full("input", { attrs: { type: "checkbox", id: "owner-copies" }, props: { checked: o.enabled }, on: { change: (e: Event) => {
    const enabled = (e.target as HTMLInputElement).checked;
    void run("owner", async () => {
      cal.owner = await api.json<OwnerCopies>("PUT", api.path`/api/v1/inboxes/${addr}/calendar/owner`, { enabled });
    }).catch(wrong);
  } } }), el("label", { for: "owner-copies" }, `Send me (${o.email}) each meeting that this inbox arranges, every change and every response`)),
    !o.available && el("p.note", null, "Your sign-in address is an inbox of this service, so no copies are sent to it."),
    o.blocked && el("p.note", null, "A message to your address bounced, so no copies are sent. Turn this on again to retry."), troubleOf("owner", []));
}

// --- the view

export function view(): VNode {
  const list = boxes.boxes.list.items, p = cal.list, box = boxes.find(cal.addr);
  if (!list.length && boxes.boxes.list.state === "ready") return el("section.pane.page", { "aria-label": "Calendar" }, el("header.bar.title", null, el("h1", null, "Calendar")), empty("No inbox yet", "Every inbox has its own calendar.", button("Make an inbox", boxes.create, {}, "button.main")));
  const addresses = [...new Set([cal.addr, ...list.slice(0, 200).map((b) => b.address)])].filter(Boolean);
  return el("section.pane.page", { "aria-label": "Calendar" },
    el("header.bar.title", null, el("h1", null, "Calendar"),
      full("select", { attrs: { "aria-label": "Inbox" }, props: { value: cal.addr }, on: { change: (e: Event) => place.go(place.to("calendar", (e.target as HTMLSelectElement).value)) } }, addresses.map((a) => el("option", { value: a, selected: a === cal.addr }, a))),
      el("div.filterset", { role: "group", "aria-label": "Form" }, toggle("agenda", "Agenda"), toggle("month", "Month")),
      box && !box.encrypted && button("Subscribe…", () => void sharing(), {}), box && !box.encrypted && button([icon("plus"), "New meeting"], () => edit(null), {}, "button.main")),
    box?.encrypted ? el("div.body", null, el("p.note", null, "This inbox is end-to-end encrypted, so it has no calendar. Invitations are in its messages.")) : el("div.body", null,
      p.state === "failed" ? failed(p.error, () => void load()) : p.state !== "ready" && !p.items.length ? loading("meetings") : cal.form === "month" ? month(p.items) : agenda(p.items),
      p.next && button("More", () => void more(p, fetchPage))));
}

const toggle = (id: string, label: string) => button(label, () => ((cal.form = id), void load()), { "aria-pressed": cal.form === id ? "true" : "false" }, "button.filter");

function agenda(list: Meeting[]): VNode {
  const past = button(cal.past ? "Only upcoming" : "Show earlier meetings", () => ((cal.past = !cal.past), void load()), {}, "button.small");
  if (!list.length) return empty("No meetings", "Invitations to this inbox and meetings that it arranges appear here.", past);
  let day = "";
  return el("div", null, past, el("ul.agenda", null, list.flatMap((m) => {
    const d = words.date(m.all_day ? m.start.slice(0, 10) : m.start), head = d === day ? [] : [el("li.day", null, el("h2", null, d))];
    day = d;
    return [...head, full("li", { key: m.id }, entry(m))];
  })));
}

const entry = (m: Meeting) => link(place.to("calendar", cal.addr, m.id), [
  el("span.time", null, m.all_day ? (meeting.lastDay(m) ? "until " + words.dayOnly(meeting.lastDay(m)) : "all day") : `${words.hour(m.start)} – ${words.hour(m.end)}`), el("span.name", null, m.title || "Untitled"), m.status === "cancelled" && chip("cancelled", "bad"), m.recurring && chip("repeats"),
  m.source === "inbound" && m.my_status ? chip(m.my_status === "needs-action" ? "no response yet" : meeting.statusWords[m.my_status], m.my_status === "accepted" ? "good" : m.my_status === "needs-action" ? "warn" : "") : null,
  m.location && el("span.quiet", null, m.location),
], { class: m.status === "cancelled" ? "entry over" : "entry" }, "a");

function month(list: Meeting[]): VNode {
  const first = start(cal.month), from = new Date(first);
  from.setDate(1 - ((first.getDay() + 6) % 7));
  const cells = Array.from({ length: 42 }, (_, i) => new Date(from.getFullYear(), from.getMonth(), from.getDate() + i)), today = new Date().toDateString();
  const on = (d: Date) => list.filter((m) => {
    const a = new Date(m.all_day ? m.start.slice(0, 10) + "T00:00" : m.start), b = new Date(m.all_day ? m.end.slice(0, 10) + "T00:00" : m.end);
    return a < new Date(d.getTime() + days) && b > d;
  });
  const move = (n: number) => ((cal.month = new Date(first.getFullYear(), first.getMonth() + n, 1)), void load());
  const name = (d: Date, o: Intl.DateTimeFormatOptions) => d.toLocaleDateString(undefined, o);
  return el("div", null, el("div.bar", null, button("‹", () => move(-1), { "aria-label": "Previous month" }, "button.small"), el("h2", { "aria-live": "polite" }, name(first, { month: "long", year: "numeric" })), button("›", () => move(1), { "aria-label": "Next month" }, "button.small"), button("Today", () => ((cal.month = new Date()), void load()), {}, "button.small")),
    el("table.month", null, el("thead", null, el("tr", null, cells.slice(0, 7).map((d) => el("th", { scope: "col", abbr: name(d, { weekday: "long" }) }, name(d, { weekday: "short" }))))),
      el("tbody", null, Array.from({ length: 6 }, (_, w) => el("tr", null, cells.slice(w * 7, w * 7 + 7).map((d) => el("td", { class: (d.getMonth() !== first.getMonth() ? "other " : "") + (d.toDateString() === today ? "today" : "") }, el("time", { datetime: local(d.toISOString()).slice(0, 10) }, String(d.getDate())),
        on(d).slice(0, 4).map((m) => link(place.to("calendar", cal.addr, m.id), [!m.all_day && el("span.at", null, words.hour(m.start) + " "), m.title || "Untitled"], { class: m.status === "cancelled" ? "entry over" : "entry", title: m.title })),
        on(d).length > 4 && el("span.quiet", null, `and ${on(d).length - 4} more`))))))),
    copyButton(cal.addr, "Copy the address to invite", {}, "button.small"));
}
