// Writing a message. The draft is stored for the tab, so that a reload loses nothing. A send whose
// response was lost is retried with the same idempotency key, so that the message is sent once.
import type { VNode } from "snabbdom";
import * as api from "./api";
import * as boxes from "./inboxes";
import * as mails from "./mail";
import * as place from "./place";
import { leaving, loadAccount, others, session } from "./session";
import { changed, part } from "./store";
import { button, chip, el, empty, field, first, full, icon, isBusy, run, say, trouble, troubleOf, wrong } from "./ui";
import type { Message } from "./wire";
import * as words from "./words";

type Draft = { from: string; to: string; cc: string; bcc: string; subject: string; text: string; html: string; asHtml: boolean; in_reply_to: string; copies: boolean };
type File2 = { name: string; type: string; size: number; content: string };

const blank = (): Draft => ({ from: "", to: "", cc: "", bcc: "", subject: "", text: "", html: "", asHtml: false, in_reply_to: "", copies: false });
const draft = part(() => ({ d: blank(), files: [] as File2[], sent: "", once: "", loaded: false, key: 0 }));
const kept = "inbox-draft", keptFiles = "inbox-draft-files";

function forget() {
  sessionStorage.removeItem(kept);
  sessionStorage.removeItem(keptFiles);
}

// If a sign-in ended without a sign-out, the draft stays for the same account.
leaving((byChoice) => void (byChoice && forget()));
others((account) => void (read<Kept>(kept)?.of !== account && forget()));

type Kept = { of?: string; d: Partial<Draft>; files?: string[]; once: string; sent: string };

function read<T>(name: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

// A value too large for the browser's storage does not survive a reload. recall reports the files
// that were lost.
function put(name: string, value: unknown) {
  try {
    sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    sessionStorage.removeItem(name);
  }
}

function keep() {
  const { d, once, sent, files } = draft;
  put(kept, { of: session.account?.id, d, once, sent, files: files.map((f) => f.name) } satisfies Kept);
}

/** keepFiles is separate from keep, which runs on every keystroke. */
function keepFiles() {
  put(keptFiles, draft.files);
  keep();
  changed();
}

function recall() {
  if (draft.loaded || !session.account) return;
  draft.loaded = true;
  const k = read<Kept>(kept);
  if (k?.of !== session.account.id) return;
  Object.assign(draft, { d: { ...blank(), ...k.d }, files: read<File2[]>(keptFiles) ?? [], once: k.once, sent: k.sent, key: draft.key + 1 });
  const lost = (k.files ?? []).slice(draft.files.length);
  if (lost.length) trouble("compose", "attachments", `Choose again, the reload lost files that were too large to store: ${lost.join(", ")}`);
}

function begin(d: Partial<Draft>) {
  draft.loaded = true;
  draft.d = { ...blank(), ...d };
  draft.files = [];
  draft.once = draft.sent = "";
  draft.key++;
  keepFiles();
  place.go(place.to("compose"));
}

/** write opens the form with the current draft. */
export function write(from: string) {
  recall();
  const { to, cc, bcc, subject, text, html } = draft.d;
  if (from && !(to + cc + bcc + subject + text + html) && !draft.files.length) draft.d.from = from; // the draft is empty
  place.go(place.to("compose"));
}

/** begun focuses the first field to fill in. In a reply that is the text, above the quote. */
export function begun() {
  const at = document.querySelector<HTMLInputElement | HTMLTextAreaElement>(draft.d.to ? "#compose-text" : "#compose-to");
  at?.focus({ preventScroll: true });
  if (at?.id === "compose-text" && draft.d.in_reply_to) at.setSelectionRange(0, 0);
}

/** reply starts a reply to a message, to the address that it requests, with its subject and in its thread. */
export function reply(m: Message, inside: { text: string; subject: string; from: { email: string }; replyTo: string; id: string } | null) {
  const subject = inside?.subject ?? m.subject ?? "";
  const text = (inside?.text ?? m.body ?? "").slice(0, 20_000);
  const id = inside?.id ?? m.internet_message_id ?? "";
  begin({
    from: m.inbox, to: inside ? inside.replyTo || inside.from.email : (m.reply_to[0]?.email ?? m.from.email),
    subject: /^re:/i.test(subject) ? subject : "Re: " + subject, in_reply_to: id && !id.startsWith("<") ? `<${id}>` : id,
    text: "\n\n" + text.trimEnd().replace(/^/gm, "> "),
  });
}

const list = (s: string) => s.split(/[,;\s]+/).filter(Boolean);

function body(): string {
  const d = draft.d, o: Record<string, unknown> = { to: d.to.trim(), subject: d.subject };
  if (d.asHtml) o.html = d.html;
  if (!d.asHtml || d.text) o.body = d.text;
  if (list(d.cc).length) o.cc = list(d.cc);
  if (list(d.bcc).length) o.bcc = list(d.bcc);
  if (d.in_reply_to) o.in_reply_to = d.in_reply_to;
  if (draft.files.length) o.attachments = draft.files.map((f) => ({ filename: f.name, content_b64: f.content, ...(f.type ? { content_type: f.type } : {}) }));
  return JSON.stringify(o);
}

async function digest(s: string): Promise<string> {
  let h = 0n; // distinguishes drafts; crypto.subtle may be missing
  for (let i = 0; i < s.length; i++) h = (h * 1099511628211n + BigInt(s.charCodeAt(i))) & 0xffffffffffffffffn;
  return s.length + ":" + h.toString(36);
}

async function send() {
  const text = body(), same = await digest(draft.d.from + text);
  if (!draft.once || draft.sent !== same) {
    draft.once = api.newOnce();
    draft.sent = same;
  }
  keep();
  const from = draft.d.from;
  const r = await api.json<{ message_id: number }>("POST", api.path`/api/v1/inboxes/${from}/send`, text, { once: draft.once });
  draft.d = blank();
  draft.files = [];
  draft.once = draft.sent = "";
  draft.key++;
  forget();
  say("The message is accepted and is being sent.");
  boxes.counted(from, 1, 0);
  void loadAccount();
  if (mails.mail.direction !== "in") void mails.load(true);
  place.go(place.to("mail", from, r.message_id));
}

async function attach(list: FileList | null) {
  const limits = session.account?.limits;
  if (!list || !limits) return;
  for (const f of list) {
    const sum = draft.files.reduce((n, x) => n + x.size, 0) + f.size;
    if (draft.files.length >= limits.attachments_per_message) return trouble("compose", "attachments", `The plan allows ${words.plural(limits.attachments_per_message, "file")} per message.`);
    if (sum > limits.attachment_bytes_per_message) return trouble("compose", "attachments", `The plan allows ${words.size(limits.attachment_bytes_per_message)} of files per message; ${f.name} would make it ${words.size(sum)}.`);
    draft.files.push({ name: f.name, type: /^[\w.+-]+\/[\w.+-]+$/.test(f.type) ? f.type : "", size: f.size, content: await base64(f) });
  }
  keepFiles();
}

async function base64(f: File): Promise<string> {
  const b = new Uint8Array(await f.arrayBuffer());
  let s = "";
  for (let i = 0; i < b.length; i += 0x8000) s += String.fromCharCode(...b.subarray(i, i + 0x8000));
  return btoa(s);
}

/** text is a field that is stored while it is typed. */
function text(name: keyof Draft, label: string, more: { rows?: number; hint?: string; type?: string; required?: boolean } = {}): VNode {
  const v = field("compose", { name, label, value: String(draft.d[name]), type: more.rows ? "textarea" : more.type, rows: more.rows, hint: more.hint, required: more.required });
  return full("div.live", { key: name + draft.key, on: { input: (e: Event) => {
    (draft.d as Record<string, unknown>)[name] = (e.target as HTMLInputElement).value;
    keep();
  } } }, v);
}

export function view(): VNode {
  recall();
  const all = boxes.boxes.list.items, d = draft.d;
  if (!all.length && boxes.boxes.list.state === "ready") return el("section.pane.page", { "aria-label": "New message" }, el("header.bar.title", null, el("h1", null, "New message")), empty("No inbox to send from", "Make an inbox first.", button("Make an inbox", boxes.create, {}, "button.main")));
  if (!d.from && all[0]) d.from = all[0].address;
  const froms = [...new Set([d.from, ...all.slice(0, 200).map((b) => b.address)])].filter(Boolean);
  const known = ["to", "cc", "bcc", "subject", "body", "html", "attachments", "from", "text"];
  return el("section.pane.page", { "aria-label": "New message" }, el("header.bar.title", null, el("h1", null, d.in_reply_to ? "Reply" : "New message")),
    full("form.compose", { attrs: { id: "compose" }, on: {
      submit: (e: Event) => (e.preventDefault(), void run("compose", send).catch(wrong)),
      keydown: (e: KeyboardEvent) => e.key === "Enter" && (e.ctrlKey || e.metaKey) && (e.preventDefault(), void run("compose", send).catch(wrong)),
    } },
      el("div.field", { key: "from" }, el("label", { for: "compose-from" }, "From"),
        full("select", { attrs: { id: "compose-from", name: "from" }, props: { value: d.from }, on: { change: (e: Event) => ((d.from = (e.target as HTMLSelectElement).value), keep()) } }, froms.map((a) => el("option", { value: a, selected: a === d.from }, a)))),
      text("to", "To", { required: true, type: "email" }),
      d.copies || d.cc || d.bcc ? text("cc", "Cc", { hint: "Addresses, separated by commas" }) : null,
      d.copies || d.cc || d.bcc ? text("bcc", "Bcc", { hint: "Other recipients do not see these addresses" }) : button("Add Cc and Bcc", () => ((d.copies = true), keep(), changed()), {}, "button.small"),
      text("subject", "Subject"),
      el("div.filterset", { role: "group", "aria-label": "Text format", key: "form" },
        button("Text", () => ((d.asHtml = false), keep(), changed()), { "aria-pressed": d.asHtml ? "false" : "true" }, "button.filter"),
        button("HTML", () => ((d.asHtml = true), keep(), changed()), { "aria-pressed": d.asHtml ? "true" : "false" }, "button.filter")),
      d.asHtml ? text("html", "HTML", { rows: 12, hint: "Programs that cannot show HTML show the text below." }) : null,
      text("text", d.asHtml ? "Text version" : "Text", { rows: d.asHtml ? 5 : 12 }),
      bodyTrouble(), files(),
      troubleOf("compose", known),
      el("div.buttons", null, el("button.main", { type: "submit", disabled: isBusy("compose") }, isBusy("compose") ? "One moment…" : "Send"),
        button("Discard", () => (begin({ from: d.from }), say("Discarded.")), {}))));
}

const bodyTrouble = () => troubleFor("body");

function troubleFor(name: string): VNode | null {
  // The form calls this field `text`, the API calls it `body`.
  const others = ["to", "cc", "bcc", "subject", "html", "attachments", "from", "text", ""].filter((n) => n !== name);
  return troubleOf("compose", others);
}

function files(): VNode {
  return el("div.field", { key: "files" }, el("label", { for: "compose-files" }, "Files"),
    draft.files.length > 0 && el("ul.files", null, draft.files.map((f, i) => el("li", null, icon("clip"), el("span.name", null, f.name), chip(words.size(f.size)), button(icon("close"), () => (draft.files.splice(i, 1), keepFiles()), { "aria-label": "Remove " + f.name }, "button.plain")))),
    full("input", { attrs: { type: "file", multiple: true, id: "compose-files" }, hook: first(() => {}), on: { change: (e: Event) => {
      const at = e.target as HTMLInputElement;
      void attach(at.files).then(() => (at.value = ""));
    } } }), troubleFor("attachments"));
}
