// The pane of inboxes: listing and searching any number of them, and making, changing, emptying and
// deleting them.
import type { VNode } from "snabbdom";
import * as api from "./api";
import { query } from "./api";
import * as place from "./place";
import { forgetScroll, more, paged, reload, windowed, type Fetch } from "./rows";
import { loadAccount, session, domain } from "./session";
import { changed, part } from "./store";
import { button, chip, closeDialog, code, confirm, copyButton, el, empty, field, form, full, icon, link, openDialog, say, when, type Field } from "./ui";
import type { CreatedInbox, Domain, Inbox } from "./wire";
import * as words from "./words";

/**
 * q is the text in the search field. searched is the last text that results were received for. last
 * is the inbox viewed last.
 */
export const boxes = part(() => ({ list: paged<Inbox>(), q: "", searched: "", single: null as Inbox | null, last: "" }));

/** rowHeight is the height in the style sheet. */
const rowHeight = 58;

// The text is searched in labels first, then as the start of addresses. The cursor says which of
// the two is being searched.
const fetchPage: Fetch<Inbox> = async (cursor) => {
  const q = boxes.q.trim().toLowerCase(), name = q.split("@")[0], address = /^[a-z\d._-]+$/.test(name), alone = address && q !== name;
  const [by, at] = (cursor ?? (alone ? "prefix " : "label ")).split(" ");
  const r = await api.get<{ inboxes: Inbox[]; next_cursor: string | null }>("/api/v1/inboxes" + query({ limit: 100, cursor: at, [by]: by === "prefix" ? name : q }));
  boxes.searched = q;
  const next = r.next_cursor ? `${by} ${r.next_cursor}` : by === "label" && address ? "prefix " : null;
  const items = r.inboxes.filter((b) => alone || by === "label" || !b.label.toLowerCase().includes(q));
  return items.length || !next ? { items, next } : fetchPage(next);
};

export const load = (keep = false) => reload(boxes.list, fetchPage, keep);

export const find = (addr: string): Inbox | null => boxes.list.items.find((b) => b.address === addr) ?? (boxes.single?.address === addr ? boxes.single : null);

/** want makes the inbox of an address available even if its page of the list was not fetched. */
export async function want(addr: string) {
  if (find(addr)) return;
  boxes.single = (await api.get<{ inbox: Inbox }>(api.path`/api/v1/inboxes/${addr}`)).inbox;
  changed();
}

/** latest is the inbox to show by default: the one viewed last, else the newest. */
export const latest = () => find(boxes.last)?.address ?? boxes.list.items[0]?.address ?? "";

export const unread = () => boxes.list.items.reduce((n, b) => n + b.unread_count, 0);

/** counted adjusts the counts of an inbox until it is fetched again. */
export function counted(addr: string, mails: number, unread: number, at?: string) {
  const b = find(addr);
  if (!b) return;
  b.message_count = Math.max(0, b.message_count + mails);
  b.unread_count = Math.max(0, b.unread_count + unread);
  if (at) b.last_message_at = at;
  changed();
}

/** refresh fetches one inbox again. */
export async function refresh(addr: string) {
  const b = find(addr);
  if (b) Object.assign(b, (await api.get<{ inbox: Inbox }>(api.path`/api/v1/inboxes/${addr}`)).inbox);
  changed();
}

let typing = 0;

export function view(current: string, all: boolean): VNode {
  const list = boxes.list;
  return el("section.pane.boxes", { "aria-label": "Inboxes" },
    el("header.bar", null,
      full("input.search", {
        attrs: { type: "search", "aria-label": "Search inboxes", placeholder: "Search inboxes", id: "search-boxes" }, props: { value: boxes.q },
        on: { input: (e: Event) => {
          boxes.q = (e.target as HTMLInputElement).value;
          clearTimeout(typing);
          typing = window.setTimeout(() => (forgetScroll("boxes"), void load(true)), 200);
        } },
      }),
      button(icon("plus"), create, { "aria-label": "New inbox", title: "New inbox" }, "button.main.square")),
    link(place.to("all"), [icon("mail"), el("span.name", null, "All mail"), unread() > 0 && el("b.count", null, words.number(unread()))], { "aria-current": all ? "page" : null }, "a.row.all"),
    windowed(list, {
      id: "boxes", label: "Inboxes", height: rowHeight, what: "inboxes", again: () => void load(), more: () => void more(list, fetchPage),
      key: (b) => b.address, current: (b) => b.address === current && !all,
      row: (b) => [link(place.to("mail", b.address), [
        el("span.line", null, el("span.name", null, b.label || b.address), b.encrypted && el("span.tiny", { title: "End-to-end encrypted" }, icon("lock")), b.full && chip("full", "bad"),
          b.unread_count > 0 && el("b.count", { "aria-label": words.plural(b.unread_count, "unread message") }, words.number(b.unread_count))),
        el("span.line.second", null, el("span.address", null, b.address), b.last_message_at && when(b.last_message_at)),
      ], { "aria-current": b.address === current && !all ? "true" : null }, "a.row")],
      empty: empty("Nothing found", `No inbox matches “${boxes.searched}”.`),
    }));
}

/** none reports whether there is no inbox at all, and no search that hides inboxes. */
export const none = () => boxes.list.state === "ready" && !boxes.list.items.length && !boxes.searched;

/** welcome is the view of a user without inboxes. */
export const welcome = () =>
  el("section.pane.page", { "aria-label": "Inboxes" }, el("header.bar.title", null, el("h1", null, "Inboxes")),
    empty("No inbox yet", "An inbox is an address that receives and sends messages, for an agent or for yourself.", button("Make an inbox", create, {}, "button.main"),
      el("p", null, "The first API calls are under ", link(place.to("start"), "Start here"), ".")));

// --- making an inbox

const owned = part(() => ({ domains: [] as string[] }));

export function create() {
  owned.domains = [];
  const last: Creation = { ignored: null, asked: 0, where: "", once: api.onceEach() };
  void api.get<{ domains: Domain[] }>("/api/domains").then((r) => ((owned.domains = r.domains.filter((d) => d.status === "verified").map((d) => d.domain)), changed()), () => {});
  openDialog({
    title: "New inbox",
    body: () => (last.ignored ? created(last.ignored, last.asked) : [creation(last)]),
    closed: () => last.ignored && place.go(place.to("mail", last.ignored.address)), // navigation closes the dialog
  });
}

/** asked is in hours. where is the value of the field `Domain`. */
type Creation = { ignored: CreatedInbox | null; asked: number; where: string; once: (order: unknown) => string };

function creation(last: Creation): VNode {
  const a = session.account;
  const fields: (Field | VNode)[] = [
    { name: "prefix", label: "Name before the @", placeholder: "generated", autofocus: true, hint: "Letters, digits, dots and dashes. If it is empty, a name is generated." },
    { name: "label", label: "Label", hint: a && !a.limits.labels ? "On the Free plan, the label is generated." : "The name of the inbox in this page, and the sender name of its messages." },
  ];
  const where: [string, string][] = [["", "A random namespace"], ["sub", "A namespace of my choice"], ...owned.domains.map((d): [string, string] => ["@" + d, d])];
  const more: (Field | VNode)[] = [
    full("div", { key: "where", on: { change: (e: Event) => ((last.where = (e.target as HTMLSelectElement).value), changed()) } },
      inDetails({ name: "where", label: "Domain", options: where, hint: `Namespaces are under ${domain}. ${a && !a.limits.subdomains ? "A namespace of your choice needs a paid plan." : "Custom domains appear here once they are verified."}` })),
    ...(last.where === "sub" ? [{ name: "subdomain", label: "Namespace", placeholder: "team", hint: `Addresses then end in @team.${domain}.` }] : []),
    { name: "retention_hours", label: "Hours to keep messages", type: "number", min: 1, placeholder: a ? String(a.limits.default_retention_hours) : "", hint: a ? `At most ${words.hours(a.limits.max_retention_hours)}; larger values are reduced to that.` : null },
    { name: "keep_newest", label: "When the inbox is full, delete the oldest messages instead of refusing new ones", type: "checkbox" },
  ];
  if (!a?.encryption.enabled) more.push(el("p.hint", { key: "encrypted" }, "For messages that only you can read, ", link(place.to("account", "encryption"), "set up encryption"), " first."));
  else more.push({ name: "encrypted", label: "End-to-end encrypted: only your key decrypts its messages, and codes are not detected", type: "checkbox" });
  return form("new-inbox", [...fields, el("details", { key: "more" }, el("summary", null, "More options"), ...more.map((f) => ("sel" in f ? (f as VNode) : inDetails(f as Field))))], "Make inbox", async (v) => {
    const order: Record<string, unknown> = {};
    if (v.prefix) order.prefix = v.prefix.trim().toLowerCase();
    if (v.label) order.label = v.label.trim();
    if (v.where?.startsWith("@")) order.domain = v.where.slice(1);
    else if (v.where === "sub") order.subdomain = (v.subdomain ?? "").trim().toLowerCase();
    if (v.retention_hours) order.retention_hours = Number(v.retention_hours);
    if (v.keep_newest) order.keep_newest = true;
    if (v.encrypted) order.encrypted = true;
    const made = await api.json<CreatedInbox>("POST", "/api/inboxes", order, { once: last.once(order) });
    await load(true);
    void loadAccount();
    last.asked = Number(v.retention_hours || 0);
    if (made.ignored_fields?.length || made.retention_hours < last.asked) last.ignored = made;
    else place.go(place.to("mail", made.address));
    say(`${made.address} is ready to receive messages.`);
  });
}

const inDetails = (f: Field) => field("new-inbox", f);

const instead: Record<string, (made: CreatedInbox) => string> = { label: (made) => `label: it is “${made.label}”`, subdomain: () => "namespace: it is random" };

/** created shows in which settings a new inbox differs from the request. */
const created = (made: CreatedInbox, asked: number) => [
  el("p", null, "The inbox is ready:"), code(made.address, "address"),
  el("p", null, "These settings differ from the request:"),
  el("ul.dots", null, (made.ignored_fields ?? []).map((f) => el("li", null, instead[f]?.(made) ?? f)), made.retention_hours < asked && el("li", null, `messages are kept for ${words.hours(made.retention_hours)}, the limit of the plan`)),
  made.note && el("p.quiet", null, made.note + "."),
  el("div.buttons", null, button("Open the inbox", closeDialog, {}, "button.main")),
];

// --- one inbox: its settings

export function settings(b: Inbox) {
  openDialog({ title: b.address, body: () => settingsBody(find(b.address) ?? b) });
}

function settingsBody(b: Inbox): VNode[] {
  const a = session.account;
  return [
    el("p.quiet", null, `Made `, when(b.created_at, words.long), `. ${words.plural(b.message_count, "message")}. ${b.encrypted ? "End-to-end encrypted." : ""}`),
    el("div.buttons.start", null, copyButton(b.address, "Copy address"), link(place.to("calendar", b.address), [icon("calendar"), "Calendar"], {}, "a.button.small")),
    form("inbox-settings", [
      { name: "label", label: "Label", value: b.label, disabled: a ? !a.limits.labels : false, hint: a && !a.limits.labels ? "On the Free plan, the label is generated." : null },
      { name: "retention_hours", label: "Hours to keep messages", type: "number", min: 1, value: String(b.retention_hours), hint: "Existing messages keep their expiry time." },
      { name: "keep_newest", label: "When the inbox is full, delete the oldest messages", type: "checkbox", checked: b.keep_newest },
    ], "Save", async (v) => {
      const change: Record<string, unknown> = { retention_hours: Number(v.retention_hours), keep_newest: v.keep_newest === "on" };
      if (v.label !== undefined && v.label !== b.label) change.label = v.label;
      const { inbox } = await api.json<{ inbox: Inbox }>("PATCH", api.path`/api/v1/inboxes/${b.address}`, change);
      await refresh(b.address);
      closeDialog();
      say(inbox.retention_hours < Number(v.retention_hours) ? `Saved. Messages are kept for ${words.hours(inbox.retention_hours)}, the limit of the plan.` : "Saved.");
    }),
    el("h3", null, "Key of this inbox"), inboxKey(b),
    el("h3", null, "Empty or delete"),
    el("div.buttons.start", null,
      button("Delete all messages", () => confirm("Delete all messages?", `All messages in ${b.address} are deleted immediately and permanently. The address remains.`, "Delete all messages", async () => {
        const r = await api.json<{ deleted: number }>("POST", api.path`/api/v1/inboxes/${b.address}/burn`);
        await refresh(b.address);
        dispatchEvent(new CustomEvent("mail-gone", { detail: b.address }));
        say(`${words.plural(r.deleted, "message")} deleted.`);
      }), {}, "button.danger"),
      button("Delete the inbox", () => confirm("Delete this inbox?", `${b.address} and all its messages are deleted permanently. Messages to it are refused from then on.`, "Delete inbox", async () => {
        await api.json("DELETE", api.path`/api/v1/inboxes/${b.address}`);
        boxes.list.items = boxes.list.items.filter((x) => x.address !== b.address);
        boxes.single = null;
        place.go(place.to("mail"), true);
        void loadAccount();
        say(`${b.address} is deleted.`);
      }), {}, "button.danger")),
  ];
}

function inboxKey(b: Inbox): VNode {
  if (b.has_key)
    return el("div", null, el("p", null, "This inbox has its own key, which works only for this inbox."),
      button("Revoke its key", () => confirm("Revoke the key?", "Requests with it are refused immediately.", "Revoke", async () => {
        await api.json("DELETE", api.path`/api/inboxes/${b.address}/key`);
        await refresh(b.address);
      }), {}, "button.danger"));
  return form("inbox-key", [
    { name: "scopes", label: "Permissions", options: [["inbox:read", "Read messages"], ["inbox:read,email:send", "Read and send messages"], ["full", "Everything in this inbox"]] },
    { name: "expires", label: "Lifetime", options: words.lifetimes },
  ], "Make a key", async (v) => {
    const r = await api.json<{ api_key: string }>("POST", api.path`/api/inboxes/${b.address}/key`, { scopes: v.scopes.split(","), expires_in_days: v.expires ? Number(v.expires) : null });
    await refresh(b.address);
    shownOnce("Key of " + b.address, r.api_key, "Clients send it in the header X-API-Key.");
  });
}

/** shownOnce shows a secret, and forgets it when the dialog is closed. */
export function shownOnce(title: string, secret: string, use: string) {
  let text = secret;
  openDialog({
    title,
    body: () => [el("p", null, el("b", null, "It is shown only once. "), use), code(text, title), el("div.buttons", null, button("I have saved it", closeDialog, {}, "button.main"))],
    closed: () => (text = ""),
  });
}
