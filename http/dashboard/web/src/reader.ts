// One message: a large code, then tabs for all parts of it.
import type { VNode } from "snabbdom";
import * as api from "./api";
import * as frame from "./frame";
import * as mails from "./mail";
import * as meeting from "./meeting";
import * as place from "./place";
import * as compose from "./compose";
import * as sealed from "./sealed";
import { changed, part } from "./store";
import { button, chip, confirm, copy, copyButton, el, failed, full, icon, link, loading, outside, save, say, when, wrong, type Child } from "./ui";
import type { Attachment, Mailbox, Message } from "./wire";
import * as words from "./words";

export const tabs = ["text", "html", "headers", "source", "attachments", "calendar", "checks"] as const;
export type Tab = (typeof tabs)[number];
const titles: Record<Tab, string> = { text: "Text", html: "HTML", headers: "Headers", source: "Source", attachments: "Attachments", calendar: "Calendar", checks: "Checks" };

/** Opened is the content of an envelope that was decrypted here. */
export type Opened = import("./sealedmail").Opened;

export const open = part(() => ({
  addr: "", id: 0, mail: null as Message | null, error: "", tab: "" as Tab | "", source: "", sourceError: "",
  inside: null as Opened | null, lockedWhy: "", turn: 0,
}));

export const shownTab = (): Tab => open.tab || (open.mail && !body(open.mail) && html() ? "html" : "text");

const longest = 1 << 20; // maximum number of characters of a text to show

const body = (m: Message) => open.inside?.text ?? m.body ?? "";
const html = () => open.inside?.html ?? open.mail?.html ?? null;

/** show opens a message, or none. Opening a message marks it as read. */
export function show(addr: string, id: number, tab: string) {
  open.tab = (tabs as readonly string[]).includes(tab) ? (tab as Tab) : "";
  if (open.addr === addr && open.id === id) {
    if (open.tab === "source") void loadSource();
    return changed();
  }
  frame.forget();
  Object.assign(open, { addr, id, mail: null, error: "", source: "", sourceError: "", inside: null, lockedWhy: "" });
  if (id) void load(true);
  changed();
}

const url = (rest = "") => api.path`/api/v1/inboxes/${open.addr}/messages/${open.id}` + rest;

export async function load(opening = false) {
  const turn = ++open.turn, { addr, id } = open;
  if (!id) return;
  try {
    const { email } = await api.get<{ email: Message }>(url());
    if (turn !== open.turn) return;
    open.mail = { ...email, inbox: addr };
    open.error = "";
    changed();
    if (open.tab === "source") void loadSource();
    if (email.encrypted) await unseal();
    if (opening && email.direction === "in" && !email.is_read) {
      await mails.mark(addr, id, true);
      if (open.mail && turn === open.turn) open.mail.is_read = true;
    }
  } catch (e) {
    if (e instanceof api.Failure && turn === open.turn) open.error = e.message;
    else if (!(e instanceof api.Left) && !(e instanceof api.Failure)) wrong(e);
  }
  changed();
}

/** unseal decrypts the envelope with the keys in this browser. */
export async function unseal() {
  const m = open.mail, turn = open.turn;
  if (!m?.encrypted) return;
  open.lockedWhy = "";
  const got = await sealed.open(m);
  if (turn !== open.turn) return;
  if ("why" in got) open.lockedWhy = got.why;
  else {
    open.inside = got;
    mails.mail.opened.set(m.inbox + " " + m.id, got.subject);
  }
  changed();
}

async function raw(): Promise<Uint8Array<ArrayBuffer>> {
  if (open.inside && open.mail) return sealed.source(open.mail);
  return new Uint8Array(await (await api.ask("GET", url("/raw"))).arrayBuffer());
}

async function loadSource() {
  if (open.source || !open.mail || (open.mail.encrypted && !open.inside)) return;
  const { turn } = open;
  try {
    const bytes = await raw();
    // Invalid UTF-8 is shown as replacement characters; no other encoding is guessed.
    const text = new TextDecoder().decode(bytes.subarray(0, 1 << 20)) + (bytes.length > 1 << 20 ? "\n\n… truncated after 1 MB. Download the .eml file for the complete message" : "");
    if (turn === open.turn) open.source = text;
  } catch (e) {
    if (e instanceof api.Failure) open.sourceError = e.message;
  }
  changed();
}

const where = (tab: Tab) => (place.here.view === "all" ? place.to("all", open.addr, open.id, tab) : place.to("mail", open.addr, open.id, tab));

export async function download() {
  try {
    save(open.inside || !open.mail?.encrypted ? `${open.addr}-${open.id}.eml` : `${open.addr}-${open.id}.age`, "application/octet-stream", await raw());
  } catch (e) {
    wrong(e);
  }
}

async function file(a: Attachment) {
  try {
    save(a.filename || "file", "application/octet-stream", await (await api.ask("GET", url(api.path`/attachments/${a.id}`))).blob());
  } catch (e) {
    wrong(e);
  }
}

async function sealedFile(m: Message, inside: Opened, n: number) {
  try {
    save(inside.files[n].name, "application/octet-stream", await sealed.file(m, inside.files, n));
  } catch (e) {
    wrong(e);
  }
}

export function remove() {
  const m = open.mail;
  if (!m) return;
  const queued = m.send_status === "queued" || m.send_status === "retrying";
  confirm("Delete this message?", queued ? "The message is not delivered yet. Deleting it cancels the delivery." : "The message is deleted immediately and permanently.", "Delete", async () => {
    await api.json("DELETE", url());
    const next = mails.after(open.addr, open.id);
    mails.drop(open.addr, open.id);
    place.go(next, true);
    say("Deleted.");
  });
}

export async function unread() {
  const m = open.mail;
  if (!m || m.direction === "out") return;
  try {
    await mails.mark(open.addr, open.id, !m.is_read);
    m.is_read = !m.is_read;
    say(m.is_read ? "Marked as read." : "Marked as unread.");
  } catch (e) {
    wrong(e);
  }
}

export function reply() {
  if (open.mail) compose.reply(open.mail, open.inside);
}

const people = (list: Mailbox[]) => list.map((p) => el("span.person", { title: p.email }, p.name ? `${p.name} <${p.email}>` : p.email));

export function view(): VNode {
  const m = open.mail;
  if (!open.id) return el("section.pane.reader.none", { "aria-label": "Message" }, el("div.empty", null, el("p", null, "Select a message to read it."), el("p.hint.keyed", null, el("kbd", null, "j"), " and ", el("kbd", null, "k"), " move through the list, ", el("kbd", null, "?"), " shows all shortcuts.")));
  return el("section.pane.reader", { "aria-label": "Message", "data-id": open.id },
    el("header.bar", null,
      link(place.here.view === "all" ? place.to("all") : place.to("mail", open.addr), icon("back"), { "aria-label": "Back to the list", class: "plain to-list" }),
      m && m.direction === "in" && button([icon("reply"), "Reply"], reply, { title: "Reply (r)" }, "button.small"),
      m && m.direction === "in" && button([icon("dot"), m.is_read ? "Unread" : "Read"], () => void unread(), { title: "Mark as read or unread (u)", "aria-label": m.is_read ? "Mark as unread" : "Mark as read" }, "button.small"),
      m && button([icon("save"), "Download"], () => void download(), { title: "Download as received" }, "button.small"),
      m && button([icon("trash"), "Delete"], remove, { title: "Delete (#)" }, "button.small")),
    open.error ? failed(open.error, () => void load(true)) : !m ? loading("the message") : full("article", { key: open.addr + open.id }, ...content(m)));
}

function content(m: Message): Child[] {
  const tab = shownTab();
  return [
    el("h1", null, m.encrypted ? (open.inside?.subject ?? "Encrypted message") : m.subject || "No subject"),
    el("dl.people", null, el("dt", null, "From"), el("dd", null, people(open.inside ? [open.inside.from] : [m.from])),
      el("dt", null, "To"), el("dd", null, people((open.inside?.to ?? m.to).length ? (open.inside?.to ?? m.to) : m.envelope_recipients.map((email) => ({ email, name: "" })))),
      (open.inside?.cc ?? m.cc).length > 0 && el("dt", null, "Cc"), (open.inside?.cc ?? m.cc).length > 0 && el("dd", null, people(open.inside?.cc ?? m.cc)),
      m.bcc?.length ? el("dt", null, "Bcc") : null, m.bcc?.length ? el("dd", null, people(m.bcc)) : null,
      el("dt", null, m.direction === "in" ? "Received" : "Accepted"), el("dd", null, when(m.received_at, words.long)), el("dt", null, "Kept until"), el("dd", null, when(m.expires_at, words.long))),
    m.encrypted && !open.inside && locked(),
    m.otp_code ? otp(m) : null, m.verification_link ? verification(m.verification_link) : null,
    m.direction === "out" ? sending(m) : null,
    m.degraded && el("p.note", null, "This message is malformed. Its readable parts are shown."),
    m.hidden_text && el("p.note", null, "The HTML of this message hides text from its readers. The text and the code shown here omit it."),
    full("div.tabs", { attrs: { role: "tablist", "aria-label": "Parts of the message" }, hook: { insert: chosen, postpatch: (_, v) => chosen(v) } }, tabs.map((t) =>
      link(where(t), [titles[t], count(m, t)], { role: "tab", id: "tab-" + t, "aria-selected": t === tab ? "true" : "false", "aria-controls": "tab-panel" }, "a.tab"))),
    full("div.panel", { key: tab, attrs: { role: "tabpanel", id: "tab-panel", "aria-labelledby": "tab-" + tab, tabindex: 0 } }, panel(m, tab)),
  ];
}

/** chosen scrolls to the open tab if not all tabs fit. */
function chosen(v: VNode) {
  const bar = v.elm as HTMLElement, t = bar.querySelector<HTMLElement>('[aria-selected="true"]');
  if (!t || bar.dataset.tab === t.id) return;
  bar.dataset.tab = t.id;
  bar.scrollLeft = Math.min(Math.max(bar.scrollLeft, t.offsetLeft + t.offsetWidth - bar.clientWidth), t.offsetLeft);
}

const files = (m: Message) => open.inside?.files.length ?? m.attachments.length;

function count(m: Message, t: Tab): Child {
  const n = t === "attachments" ? files(m) : t === "calendar" ? m.calendar_events?.length ?? (m.calendar_event || open.inside?.invitation ? 1 : 0) : 0;
  return n ? el("b.count", null, String(n)) : null;
}

function locked(): VNode {
  return el("div.note.locked", null, icon("lock"), el("p", null, open.lockedWhy || "Opening the envelope…"),
    open.lockedWhy && link(place.to("account", "encryption"), "Open a key file", {}, "a.button.small"), open.lockedWhy && button("Try again", () => void unseal(), {}, "button.small"));
}

function otp(m: Message): VNode {
  const o = m.otp;
  return el("div.code", { role: "group", "aria-label": "One-time code" }, el("div", null, el("p.label", null, "Code"), el("p.big", { id: "otp" }, m.otp_code!)),
    copyButton(m.otp_code!, "Copy code", { id: "copy-otp" }, "button.main"),
    o?.origin && el("p.quiet", null, "For " + o.origin),
    o && !o.sender_verified && el("p.quiet", null, "The sender is not verified: anybody could have written this message."));
}

function verification(url: string): VNode {
  return el("div.code.link", { role: "group", "aria-label": "Verification link" }, el("div", null, el("p.label", null, "Verification link"), el("p.url", null, url),
    el("p.hint", null, "The link may work only once. This page never opens it automatically.")), el("div.buttons", null, copyButton(url, "Copy link"), outside(url)));
}

function sending(m: Message): VNode {
  return el("div.sending", { "aria-live": "polite" },
    el("p", null, el("b", null, "Status "), m.send_status ? mails.statusChip(mails.outcome(m)) : null, el("span.quiet", null, " " + sentence(m))),
    !m.recipients?.length && m.send_error && el("p.bad", null, m.send_error),
    m.recipients?.length ? el("ul.recipients", { "aria-label": "Recipients" }, m.recipients.map((r) => el("li", null, el("p.line", null, el("span.name", { title: r.email }, r.email), mails.statusChip(r.status), r.at && when(r.at)),
      r.error && el("p.bad", null, r.error), r.mx && el("p.hint", null, (r.error ? "Reported by " : "Accepted by ") + r.mx)))) : null);
}

const sentence = (m: Message) =>
  mails.outcome(m) === "bounced" ? "The message was accepted and bounced later." : m.send_status === "failed" && (m.recipients?.length ?? 0) > 1 ? "The message was not delivered to all recipients." : (states[m.send_status ?? ""] ?? "");

const states: Record<string, string> = {
  queued: "Waiting for the first delivery attempt.", retrying: "Not delivered yet. Delivery is retried.", sent: "The server of every recipient accepted the message.",
  unsigned: "The recipient's server accepted the message, but it has no DKIM signature. Publish the DKIM records of the domain.", failed: "The message was not delivered.",
};

function panel(m: Message, tab: Tab): Child[] {
  if (m.encrypted && !open.inside && tab !== "checks" && tab !== "attachments") return [el("p.quiet", null, "Available when the message is decrypted.")];
  switch (tab) {
    case "text": {
      const text = body(m), long = text.length > longest;
      return [m.body_from_html && el("p.hint", null, "Converted from the HTML: the message has no text part."), ((m.truncated_body && !open.inside) || long) && el("p.note", null, "The text is truncated. Download the message for all of it."),
        text ? el("pre.text", null, long ? text.slice(0, longest) : text) : el("p.quiet", null, "This message has no text."), links(open.inside ? [] : m.links, m.links_truncated)];
    }
    case "html": {
      const h = html();
      return h === null ? [el("p.quiet", null, "This message has no HTML.")] : frame.view(open.addr + open.id, h, raw);
    }
    case "headers":
      return [headers(open.inside?.headers ?? Object.entries(m.headers ?? {}).flatMap(([k, v]): [string, string][] => (Array.isArray(v) ? v.map((x): [string, string] => [k, x]) : [[k, v]])))];
    case "source":
      return [open.sourceError ? failed(open.sourceError, () => ((open.sourceError = ""), void loadSource())) : open.source ? el("pre.source", { tabindex: 0 }, open.source) : loading("the source")];
    case "attachments":
      return attachments(m);
    case "calendar": {
      const e = m.calendar_event ?? open.inside?.invitation ?? null, all = m.calendar_events ?? (e ? [e] : []);
      return all.length ? all.map((one) => meeting.card(open.addr, one, m.encrypted)) : [el("p.quiet", null, "This message contains no invitation.")];
    }
    case "checks":
      return checks(m);
  }
}

function links(list: string[], cut?: boolean): VNode | null {
  if (!list.length) return null;
  return el("section.links", { "aria-label": "Links" }, el("h2", null, "Links"),
    el("ul", null, list.slice(0, 100).map((u) => el("li", null, el("span.url", null, u), copyButton(u, "Copy", { "aria-label": "Copy the link " + u.slice(0, 60) }), outside(u)))),
    (cut || list.length > 100) && el("p.quiet", null, "There are more links. The source contains all of them."));
}

const headers = (list: [string, string][]) =>
  el("table.headers", null, el("caption.unseen", null, "Headers"), el("tbody", null, list.map(([k, v]) => el("tr", null, el("th", { scope: "row" }, k), el("td", null, v)))));

function attachments(m: Message): Child[] {
  if (open.inside) {
    const list = open.inside.files;
    return [list.length ? el("ul.files", null, list.map((f, n) => el("li", null, icon("clip"), el("span.name", null, f.name), el("span.quiet", null, `${f.type} · ${words.size(f.size)}`),
      button("Save", () => open.inside && void sealedFile(m, open.inside, n), { "aria-label": "Save " + f.name }, "button.small")))) : el("p.quiet", null, "This message has no attachments.")];
  }
  if (!m.attachments.length) return [el("p.quiet", null, "This message has no attachments.")];
  return [el("ul.files", null, m.attachments.map((a) => el("li", null, icon("clip"), el("span.name", null, a.filename || "file"), el("span.quiet", null, `${a.content_type} · ${words.size(a.size_bytes)}`),
    a.truncated ? chip("too large to store", "warn") : button("Save", () => void file(a), { "aria-label": "Save " + a.filename }, "button.small")))),
    m.attachments_omitted > 0 && el("p.quiet", null, `${words.plural(m.attachments_omitted, "more file")} ${m.attachments_omitted === 1 ? "was" : "were"} not recorded. The source has all of them.`)];
}

function checks(m: Message): Child[] {
  const words: Record<string, string> = { spf: "SPF: was the server permitted to send?", dkim: "DKIM: is the message signed and unchanged?", dmarc: "DMARC: do these match the sender shown?" };
  const kind = (r: string) => (r === "pass" ? "good" : r === "none" || r === "neutral" ? "" : /error$/.test(r) ? "warn" : "bad");
  return [
    el("h2", null, "Sender"),
    m.auth ? el("table", null, el("tbody", null, (["spf", "dkim", "dmarc"] as const).map((k) => el("tr", null, el("th", { scope: "row" }, words[k]),
      el("td", null, chip(m.auth![k].result, kind(m.auth![k].result))), el("td", null, m.auth![k].domain ?? ""))))) : el("p.quiet", null, m.direction === "out" ? "Sent by this service." : "The sender was not checked."),
    el("h2", null, "Spam"),
    m.spam ? el("p", null, chip(m.spam.is_spam ? "spam" : "not spam", m.spam.is_spam ? "bad" : "good"), ` ${m.spam.score} of ${m.spam.required} points`) : el("p.quiet", null, "The message was not scanned."),
    m.spam?.rules.length ? el("table", null, el("tbody", null, m.spam.rules.map((r) => el("tr", null, el("th", { scope: "row" }, r.name), el("td", null, String(r.weight)), el("td", null, r.description ?? ""))))) : null,
  ];
}

/** copyCode copies the code of the open message. */
export function copyCode() {
  if (open.mail?.otp_code) void copy(open.mail.otp_code);
}
