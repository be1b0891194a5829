// Messages sent from all inboxes, with their delivery status, and the suppressed addresses.
import type { VNode } from "snabbdom";
import * as api from "./api";
import { query } from "./api";
import { outcome, refresh as refreshRow, statusChip } from "./mail";
import * as place from "./place";
import * as compose from "./compose";
import * as reader from "./reader";
import { more, paged, reload, windowed, type Fetch } from "./rows";
import { changed, part } from "./store";
import { button, confirm, el, empty, failed, link, loading, say, when } from "./ui";
import type { Happening, Mailbox, SendStatus, SentRecipient, Suppression } from "./wire";
import * as words from "./words";

type Sent = { inbox: string; id: number; subject: string | null; to: Mailbox[]; cc: Mailbox[]; received_at: string; send_status: SendStatus; send_error?: string | null; recipients?: SentRecipient[]; encrypted: boolean };

const sent = part(() => ({ list: paged<Sent>(), blocked: paged<Suppression>(), tab: "sent" }));

const rowHeight = 64;
const fields = "id,subject,to,cc,received_at,send_status,send_error,recipients,encrypted";

const fetchPage: Fetch<Sent> = async (cursor) => {
  const r = await api.get<{ emails: Sent[]; next_cursor: string | null }>("/api/v1/messages" + query({ direction: "out", limit: 100, cursor, fields }));
  return { items: r.emails, next: r.next_cursor };
};

const fetchBlocked: Fetch<Suppression> = async (cursor) => {
  const r = await api.get<{ suppressions: Suppression[]; next_cursor: string | null }>("/api/suppressions" + query({ limit: 100, cursor }));
  return { items: r.suppressions, next: r.next_cursor };
};

export function enter() {
  void reload(sent.list, fetchPage, true);
  void reload(sent.blocked, fetchBlocked, true);
}

export async function happened(e: Happening) {
  if (!/^message\.(delivered|failed|bounced)$/.test(e.event) || !e.message_id) return;
  const at = sent.list.items.find((m) => m.inbox === e.inbox && m.id === e.message_id);
  if (!at) return void reload(sent.list, fetchPage, true);
  await refresh(at);
  if (e.event !== "message.delivered") void reload(sent.blocked, fetchBlocked, true);
}

async function refresh(m: Sent) {
  try {
    Object.assign(m, (await api.get<{ email: Sent }>(api.path`/api/v1/inboxes/${m.inbox}/messages/${m.id}` + query({ fields }))).email);
    changed();
  } catch (e) {
    if (!(e instanceof api.Failure) && !(e instanceof api.Left)) throw e;
  }
}

const waits = (status?: SendStatus | null) => status === "queued" || status === "retrying";

// Attempts between the first and the last have no event, so visible messages that are not final are
// fetched regularly.
setInterval(() => {
  const { addr, id, mail } = reader.open;
  if (document.hidden) return;
  if (place.here.view === "sent") for (const m of sent.list.items.slice(0, 20)) waits(m.send_status) && void refresh(m);
  else if (waits(mail?.send_status)) void reader.load().then(() => refreshRow(addr, id));
}, 4000);

export function view(): VNode {
  const tab = (id: string, label: string) => button(label, () => ((sent.tab = id), changed()), { "aria-pressed": sent.tab === id ? "true" : "false" }, "button.filter");
  const n = sent.blocked.items.length;
  return el("section.pane.page.tall", { "aria-label": "Sent" },
    el("header.bar.title", null, el("h1", null, "Sent"), el("div.filterset", { role: "group", "aria-label": "What to show" }, tab("sent", "Mail"), tab("blocked", n ? `Suppressed (${n}${sent.blocked.next ? "+" : ""})` : "Suppressed"))),
    sent.tab === "sent" ? list() : suppressions());
}

function list(): VNode {
  return windowed(sent.list, {
    id: "sent", label: "Sent mail", height: rowHeight, what: "sent mail", again: enter, more: () => void more(sent.list, fetchPage), key: (m) => m.inbox + " " + m.id,
    row: (m) => [link(place.to("mail", m.inbox, m.id), [
      el("span.line", null, el("span.name", null, "To " + (m.to.map(words.person).join(", ") || "…")), statusChip(outcome(m)), when(m.received_at)),
      el("span.line.second", null, el("span.subject", null, m.encrypted ? "Encrypted" : m.subject || "No subject", m.send_error ? el("span.bad", null, " · " + m.send_error) : null), el("span.in", null, m.inbox)),
    ], {}, "a.row.read")],
    empty: empty("Nothing sent yet", "Messages that your inboxes send appear here, with the status for each recipient.", button("Write a message", () => compose.write(""), {}, "button.main")),
  });
}

function suppressions(): VNode {
  const p = sent.blocked;
  if (!p.items.length) return p.state === "failed" ? failed(p.error, enter) : p.state !== "ready" ? loading("addresses") : empty("No suppressed addresses", "When a message bounces permanently, its recipient is listed here. No more messages are sent to that address until you allow it again.");
  return el("div.body", null, el("p", null, "Messages to these addresses bounced permanently, so no more messages are sent to them."),
    el("div.scroll", null, el("table", null, el("thead", null, el("tr", null, ...["Address", "Reason", "Since", ""].map((t) => el("th", { scope: "col" }, t)))),
      el("tbody", null, p.items.map((s) => el("tr", null, el("td", null, s.email), el("td", null, s.reason), el("td", null, when(s.at, words.long)),
        el("td", null, button("Allow again", () => confirm("Allow messages again?", `Messages to ${s.email} are sent again. If one bounces, the address is listed again.`, "Allow again", async () => {
          await api.json("DELETE", api.path`/api/suppressions/${s.email}`);
          p.items = p.items.filter((x) => x !== s);
          say(`Messages to ${s.email} are allowed again.`);
        }), { "aria-label": "Allow again: " + s.email }, "button.small"))))))),
    p.next && button("More", () => void more(p, fetchBlocked)));
}
