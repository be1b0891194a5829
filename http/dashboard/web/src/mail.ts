// The list of messages: of one inbox, or the newest of all inboxes. It also opens messages.
import type { VNode } from "snabbdom";
import * as api from "./api";
import { query } from "./api";
import * as boxes from "./inboxes";
import * as place from "./place";
import * as reader from "./reader";
import { forgetScroll, hold, more, paged, reload, reveal, windowed, type Fetch } from "./rows";
import { changed, part } from "./store";
import { button, chip, copyButton, el, empty, full, icon, link, tell, when, wrong } from "./ui";
import { rowFields, type Happening, type Row } from "./wire";
import * as words from "./words";

/** opened holds the subjects of decrypted messages, only in memory. */
export const mail = part(() => ({
  of: "", // the address; "*" is all inboxes
  list: paged<Row>(), q: "", unread: false, direction: "in", opened: new Map<string, string>(),
}));

const rowHeight = 64;
const listId = () => "mail " + mail.of;

const fetchPage: Fetch<Row> = async (cursor) => {
  const q = { limit: 100, q: mail.q.trim(), unread: mail.unread, direction: mail.direction, fields: rowFields };
  if (mail.of === "*") {
    const r = await api.get<{ emails: Row[]; next_cursor: string | null }>("/api/v1/messages" + query({ ...q, cursor }));
    return { items: r.emails, next: r.next_cursor };
  }
  const addr = mail.of;
  const r = await api.get<{ emails: Row[]; has_more: boolean }>(api.path`/api/v1/inboxes/${addr}/messages` + query({ ...q, before: cursor }));
  const items = r.emails.map((m) => ({ ...m, inbox: addr }));
  return { items, next: r.has_more && items.length ? String(items[items.length - 1].id) : null };
};

export const load = (keep = false) => reload(mail.list, fetchPage, keep);

/** show switches to the list of an address. */
export function show(of: string) {
  if (of !== "*") boxes.boxes.last = of;
  if (mail.of === of) return;
  mail.of = of;
  mail.q = "";
  void load();
}

const same = (a: Row, inbox: string, id: number) => a.id === id && a.inbox === inbox;

/** happened updates the list for an event of the stream. */
export async function happened(e: Happening) {
  if (e.event === "message.received" && e.encrypted && !e.message_id) return catchUp(e);
  if (!e.message_id || e.gone) return;
  const inList = mail.of === "*" || mail.of === e.inbox;
  if (e.event !== "message.received") {
    if (e.event.startsWith("message.") && inList) await refresh(e.inbox, e.message_id);
    return;
  }
  const fresh = !mail.list.items.some((m) => same(m, e.inbox, e.message_id!));
  if (fresh) {
    boxes.counted(e.inbox, 1, 1, e.received_at);
    tell(`New message from ${e.from || "an unknown sender"}: ${e.subject || "no subject"}`);
  }
  if (!inList || !fresh || still()) return;
  // The event has enough fields for a row. The rest is fetched afterwards.
  const row: Row = {
    inbox: e.inbox, id: e.message_id, direction: "in", subject: e.subject ?? null, from: { email: e.from ?? "", name: "" }, to: [], envelope_to: e.inbox,
    received_at: e.received_at ?? new Date().toISOString(), otp_code: e.otp ?? null, is_read: false, attachments: [], encrypted: !!e.encrypted,
  };
  insert(row);
  await refresh(e.inbox, e.message_id);
}

/** still reports whether a new message does not change the list. */
const still = () => mail.q !== "" || mail.direction === "out" || mail.list.state === "new";

function insert(row: Row) {
  const at = mail.list.items.findIndex((m) => m.received_at <= row.received_at);
  mail.list.items.splice(at < 0 ? mail.list.items.length : at, 0, row);
  hold(listId(), 1, rowHeight);
  changed();
}

/** catchUp fetches new messages, because the event of an encrypted message has no id. */
async function catchUp(e: Happening) {
  boxes.counted(e.inbox, 1, 1, e.received_at);
  tell(`New encrypted message from ${e.from || "an unknown sender"}`);
  const { of } = mail;
  if ((of !== "*" && of !== e.inbox) || still()) return;
  try {
    const r = await api.get<{ emails: Row[] }>(api.path`/api/v1/inboxes/${e.inbox}/messages` + query({ limit: 20, fields: rowFields }));
    if (of !== mail.of) return;
    for (const m of r.emails.reverse()) if (!mail.list.items.some((x) => same(x, e.inbox, m.id)) && (!mail.list.items.length || m.received_at >= (e.received_at ?? ""))) insert({ ...m, inbox: e.inbox });
  } catch (err) {
    if (!(err instanceof api.Failure) && !(err instanceof api.Left)) throw err;
  }
}

/** refresh fetches one row again. */
export async function refresh(inbox: string, id: number) {
  try {
    const r = await api.get<{ email: Row }>(api.path`/api/v1/inboxes/${inbox}/messages/${id}` + query({ fields: rowFields }));
    const at = mail.list.items.find((m) => same(m, inbox, id));
    if (at) Object.assign(at, r.email, { inbox });
    changed();
  } catch (e) {
    if (e instanceof api.Failure && e.status === 404) drop(inbox, id);
    else if (!(e instanceof api.Left) && !(e instanceof api.Failure)) throw e;
  }
}

export function drop(inbox: string, id: number) {
  mail.list.items = mail.list.items.filter((m) => !same(m, inbox, id));
  changed();
}

/** mark marks a message as read or unread, and updates the row and the counts. */
export async function mark(inbox: string, id: number, read: boolean) {
  const at = mail.list.items.find((m) => same(m, inbox, id));
  if (at?.is_read === read) return;
  await api.ask("POST", api.path`/api/v1/inboxes/${inbox}/messages/${id}/read`, { read });
  if (at) at.is_read = read;
  boxes.counted(inbox, 0, read ? -1 : 1);
}

const index = () => mail.list.items.findIndex((m) => same(m, reader.open.addr, reader.open.id));

export const href = (m: Row) => (mail.of === "*" ? place.to("all", m.inbox, m.id) : place.to("mail", m.inbox, m.id));

/** step opens the message n rows further down. */
export function step(n: number) {
  const items = mail.list.items, i = Math.min(items.length - 1, Math.max(0, index() + (index() < 0 ? 1 : n)));
  if (!items[i]) return;
  reveal(listId(), i, rowHeight);
  place.go(href(items[i]));
}

/** after is the place to go to when the open message is deleted: the next message. */
export function after(inbox: string, id: number): string {
  const items = mail.list.items, i = items.findIndex((m) => same(m, inbox, id)), next = i < 0 ? undefined : (items[i + 1] ?? items[i - 1]);
  return next ? href(next) : mail.of === "*" ? place.to("all") : place.to("mail", inbox);
}

let typing = 0;

const filter = (label: string, on: boolean, set: () => void, sel = "button.filter") =>
  button(label, () => (set(), forgetScroll(listId()), void load(true)), { "aria-pressed": on ? "true" : "false" }, sel);

export function view(): VNode {
  const all = mail.of === "*", b = all ? null : boxes.find(mail.of);
  return el("section.pane.mails", { "aria-label": "Mail" },
    el("header.bar.title", null,
      link(place.to("mail", all ? "" : mail.of) + "/boxes", icon("back"), { "aria-label": "Inboxes", class: "plain to-boxes" }),
      all ? el("h1", null, "All mail") : el("div.who", null, el("h1", { title: mail.of }, b?.label || mail.of), el("p", null, el("span", null, mail.of), copyButton(mail.of, "Copy", { "aria-label": "Copy the address" }, "button.tiny"))),
      b && button(icon("more"), () => boxes.settings(b), { "aria-label": "Settings of this inbox", title: "Settings of this inbox" }, "button.plain")),
    el("div.bar.filters", null,
      full("input.search", {
        attrs: { type: "search", id: "search", "aria-label": "Search mail", placeholder: "Search mail" }, props: { value: mail.q },
        on: { input: (e: Event) => {
          mail.q = (e.target as HTMLInputElement).value;
          clearTimeout(typing);
          typing = window.setTimeout(() => (forgetScroll(listId()), void load(true)), 250);
        } },
      }),
      filter("Unread", mail.unread, () => (mail.unread = !mail.unread), "button.small"),
      el("div.filterset", { role: "group", "aria-label": "Which messages" },
        filter("Received", mail.direction === "in", () => (mail.direction = "in")),
        filter("Sent", mail.direction === "out", () => ((mail.direction = "out"), (mail.unread = false))),
        filter("Both", mail.direction === "all", () => (mail.direction = "all")))),
    windowed(mail.list, {
      id: listId(), label: "Mail", height: rowHeight, what: "mail", again: () => void load(), more: () => void more(mail.list, fetchPage),
      key: (m) => m.inbox + " " + m.id, current: (m) => same(m, reader.open.addr, reader.open.id), row: (m) => row(m, all),
      empty: mail.q || mail.unread || mail.direction === "out" ? empty("Nothing here", mail.direction === "out" ? "No messages were sent." : "No message matches.")
        : all ? empty("No messages yet", "Messages to any of your inboxes appear here automatically.")
          : empty("No messages yet", "Messages to this address appear here automatically.", el("p.address.big", null, mail.of), copyButton(mail.of, "Copy address", {}, "button.main")),
    }));
}

function row(m: Row, all: boolean): VNode[] {
  const out = m.direction === "out", who = out ? "To " + (m.to.map(words.person).join(", ") || "…") : words.person(m.from) || "Unknown sender";
  const subject = m.encrypted ? (mail.opened.get(m.inbox + " " + m.id) ?? "Encrypted") : m.subject || "No subject";
  const current = same(m, reader.open.addr, reader.open.id);
  return [
    link(href(m), [
      el("span.line", null, !m.is_read && !out && el("span.unread", { role: "img", "aria-label": "Unread" }), el("span.name", null, who), when(m.received_at)),
      el("span.line.second", null, m.encrypted && icon("lock"), el("span.subject", null, subject),
        all && el("span.in", null, m.inbox.split("@")[0]),
        m.attachments.length > 0 && el("span.tiny", { title: words.plural(m.attachments.length, "file") }, icon("clip")),
        m.calendar_event && el("span.tiny", { title: "Invitation" }, icon("calendar")),
        out && m.send_status && statusChip(m.send_status)),
    ], { "aria-current": current ? "true" : null, class: m.is_read || out ? "row read" : "row" }, "a"),
    ...(m.otp_code ? [copyButton(m.otp_code, m.otp_code, { title: "Copy the code", "aria-label": "Copy the code " + m.otp_code }, "button.otp")] : []),
  ];
}

/** outcome is the status of a sent message. A message that bounced had been accepted before. */
export const outcome = (m: { send_status?: string; recipients?: { status: string }[] }) => (m.recipients?.some((r) => r.status === "bounced") ? "bounced" : (m.send_status ?? ""));

export const statusChip = (s: string) => chip(s, s === "failed" || s === "bounced" ? "bad" : s === "sent" || s === "delivered" ? "good" : s === "unsigned" ? "warn" : "");

addEventListener("mail-gone", (e) => {
  const addr = (e as CustomEvent<string>).detail;
  if (mail.of === addr || mail.of === "*") void load().catch(wrong);
  if (reader.open.addr === addr) place.go(place.to("mail", addr), true);
});
