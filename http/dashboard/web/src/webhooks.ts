// Webhooks and the results of their deliveries.
import type { VNode } from "snabbdom";
import * as api from "./api";
import { query } from "./api";
import * as boxes from "./inboxes";
import * as place from "./place";
import { more, paged, reload, type Fetch } from "./rows";
import { changed, part } from "./store";
import { button, chip, closeDialog, confirm, copyButton, el, empty, failed, form, full, loading, openDialog, run, isBusy, say, troubleOf, when, wrong } from "./ui";
import type { Delivery, Happening, Webhook } from "./wire";
import * as words from "./words";

type Tried = { ok: boolean; status_code: number | null; duration_ms: number | null; error: string | null };

const hooks = part(() => ({ list: paged<Webhook>(), log: paged<Delivery>(), only: 0, state: "", open: 0, tried: new Map<number, Tried>() }));

const fetchHooks: Fetch<Webhook> = async () => ({ items: (await api.get<{ webhooks: Webhook[] }>("/api/webhooks")).webhooks, next: null });
const fetchLog: Fetch<Delivery> = async (cursor) => {
  const { deliveries } = await api.get<{ deliveries: Delivery[] }>("/api/webhooks/deliveries" + query({ limit: 100, before: cursor, webhook_id: hooks.only || null }));
  return { items: deliveries, next: deliveries.length === 100 ? String(Math.min(...deliveries.map((d) => d.id))) : null };
};

export function enter() {
  void reload(hooks.list, fetchHooks, true);
  void reload(hooks.log, fetchLog, true);
}

const log = () => void reload(hooks.log, fetchLog, true);

let soon = 0;
/** happened reloads the log shortly after an event, because its deliveries are being made. */
export function happened(_: Happening) {
  clearTimeout(soon);
  soon = window.setTimeout(enter, 700);
}

/** nextTry returns when the next attempt follows, or null if that attempt is already in the log. */
function nextTry(): (d: Delivery) => string | null {
  const of = (d: Delivery) => `${d.webhook_id} ${d.event_id}`, last = new Map<string, number>();
  for (const d of hooks.log.items) last.set(of(d), Math.max(d.attempt, last.get(of(d)) ?? 0));
  return (d) => (last.get(of(d))! > d.attempt ? null : d.next_attempt_at);
}

// Due attempts have no event of their own. They are polled while the view is open, for at most half
// a minute.
setInterval(() => {
  if (document.hidden || place.here.view !== "webhooks" || hooks.log.state !== "ready") return;
  const next = nextTry(), now = Date.now();
  if (hooks.log.items.some((d) => ((due) => due < now && due > now - 30_000)(Date.parse(next(d) ?? "")))) enter();
}, 3000);

const events = Object.entries(words.eventNames).map(([v, l]): [string, string] => [v, `${l} (${v})`]);

function create() {
  openDialog({ title: "New webhook", body: () => [form("new-hook", [
    { name: "url", label: "URL", type: "url", required: true, autofocus: true, placeholder: "https://example.com/hook", hint: "The URL receives a signed POST for each event." },
    { name: "event", label: "When", options: events },
    { name: "inbox", label: "Only for one inbox", placeholder: "all inboxes", inputmode: "email", among: boxes.boxes.list.items.slice(0, 500).map((b) => b.address) },
  ], "Add webhook", async (v) => {
    const r = await api.json<{ webhook: Webhook; secret: string }>("POST", "/api/webhooks", { url: v.url, event: v.event, ...(v.inbox.trim() ? { inbox: v.inbox.trim().toLowerCase() } : {}) });
    enter();
    boxes.shownOnce("Signing secret", r.secret, "Your receiver checks signatures with it.");
  })] });
}

function change(w: Webhook) {
  openDialog({ title: "Change webhook", body: () => [form("change-hook", [
    { name: "url", label: "URL", type: "url", required: true, value: w.url }, { name: "event", label: "When", options: events, value: w.event },
  ], "Save", async (v) => {
    await api.json("PATCH", api.path`/api/webhooks/${w.id}`, { url: v.url, event: v.event });
    closeDialog();
    enter();
    say("Saved.");
  })] });
}

const test = (w: Webhook) => run("test-" + w.id, async () => {
  hooks.tried.set(w.id, await api.json<Tried>("POST", api.path`/api/webhooks/${w.id}/test`));
  enter();
}).catch(wrong);

export function view(): VNode {
  const p = hooks.list;
  return el("section.pane.page", { "aria-label": "Webhooks" },
    el("header.bar.title", null, el("h1", null, "Webhooks"), p.items.length > 0 && button("New webhook", create, {}, "button.main")),
    el("div.body", null,
      p.items.length ? el("ul.cards", null, p.items.map(hook)) : p.state === "failed" ? failed(p.error, enter) : p.state !== "ready" ? loading("webhooks")
        : empty("No webhook yet", "A webhook notifies your program of messages and meetings as soon as they arrive.", button("New webhook", create, {}, "button.main")),
      (p.items.length > 0 || hooks.log.items.length > 0) && [el("h2", null, "Deliveries"), deliveries()]));
}

function hook(w: Webhook): VNode {
  const t = hooks.tried.get(w.id), id = "test-" + w.id;
  return full("li.cardrow", { key: w.id },
    el("div", null, el("p.url", null, w.url), el("p.quiet", null, words.eventNames[w.event] ?? w.event, w.inbox ? ` · only ${w.inbox}` : ""),
      el("p.quiet", null, w.last_delivery_at ? ["Last called ", when(w.last_delivery_at, words.long), w.last_status_code ? `, status ${w.last_status_code}` : ", no response"] : "Not called yet"),
      t && el("p", { role: "status", class: "tested" }, chip(t.ok ? "test succeeded" : "test failed", t.ok ? "good" : "bad"), " ", t.status_code ? `status ${t.status_code}` : (t.error ?? ""), t.duration_ms !== null ? ` in ${t.duration_ms} ms` : "", t.status_code && t.error ? `: ${t.error}` : ""),
      troubleOf(id, [])),
    el("div.buttons", null,
      button(isBusy(id) ? "Testing…" : "Test", () => void test(w), { disabled: isBusy(id) || null }, "button.small"),
      button("Deliveries", () => ((hooks.only = hooks.only === w.id ? 0 : w.id), log()), { "aria-pressed": hooks.only === w.id ? "true" : "false" }, "button.small"),
      button("Change", () => change(w), {}, "button.small"),
      button("New secret", () => confirm("Make a new secret?", "For 24 hours, requests are signed with both secrets. Give the receiver the new secret in that time.", "Make a new secret", async () => {
        const r = await api.json<{ secret: string }>("POST", api.path`/api/webhooks/${w.id}/rotate-secret`);
        setTimeout(() => boxes.shownOnce("New signing secret", r.secret, "The old secret also signs for 24 hours."));
      }), {}, "button.small"),
      button("Delete", () => confirm("Delete this webhook?", `Events are no longer sent to ${w.url}.`, "Delete", async () => {
        await api.json("DELETE", api.path`/api/webhooks/${w.id}`);
        hooks.only = 0;
        enter();
      }), {}, "button.small.danger")));
}

const kinds = { succeeded: "good", retrying: "warn", failed: "bad" } as const;

function deliveries(): VNode {
  const p = hooks.log, next = nextTry(), shown = hooks.state ? p.items.filter((d) => d.state === hooks.state) : p.items;
  const only = hooks.list.items.find((w) => w.id === hooks.only);
  return el("div", null,
    el("div.bar", null, el("label", { for: "hook-state" }, "Show"),
      full("select", { attrs: { id: "hook-state" }, on: { change: (e: Event) => ((hooks.state = (e.target as HTMLSelectElement).value), changed()) } },
        [["", "all"], ["succeeded", "succeeded"], ["retrying", "to be retried"], ["failed", "failed"]].map(([v, l]) => el("option", { value: v }, l))),
      only && el("span.quiet", null, "of ", only.url), only && button("All webhooks", () => ((hooks.only = 0), log()), {}, "button.small")),
    shown.length ? el("div.scroll", { tabindex: 0, role: "region", "aria-label": "Deliveries" }, el("table.log", null,
      el("thead", null, el("tr", null, ...["When", "Event", "Result", "Took", "Attempt", "Next attempt", ""].map((t) => el("th", { scope: "col" }, t)))),
      el("tbody", null, shown.flatMap((d) => [one(d, next(d)), hooks.open === d.id ? answer(d) : null]).filter((x) => x !== null))))
      : p.state === "failed" ? failed(p.error, log) : p.state !== "ready" ? loading("deliveries") : el("p.quiet", null, p.items.length ? `None of the newest ${p.items.length}.` : "No deliveries yet."),
    p.next && button("More", () => void more(p, fetchLog)));
}

const one = (d: Delivery, next: string | null) => full("tr", { key: d.id },
  el("td", null, when(d.at, words.long)), el("td", null, el("span.mono", null, d.event), el("div.quiet", null, d.inbox)),
  el("td", null, chip(d.state, kinds[d.state]), " ", d.status_code ? String(d.status_code) : "", d.error ? el("div.quiet", null, d.error) : null),
  el("td", { "data-of": d.duration_ms === null ? null : "Took" }, d.duration_ms === null ? null : d.duration_ms + " ms"), el("td", { "data-of": "Attempt" }, String(d.attempt)), el("td", { "data-of": next && "Next attempt" }, next && when(next, words.hour)),
  el("td", null, el("div.buttons", null, button("Details", () => ((hooks.open = hooks.open === d.id ? 0 : d.id), changed()), { "aria-expanded": hooks.open === d.id ? "true" : "false" }, "button.small"),
    button("Redeliver", () => void run("redeliver", async () => {
      await api.ask("POST", api.path`/api/webhooks/deliveries/${d.id}/redeliver`);
      say("The event is delivered again.");
      setTimeout(enter, 400);
    }).catch(wrong).then(() => undefined), {}, "button.small"))));

const answer = (d: Delivery) => full("tr", { key: "answer" + d.id }, el("td", { colspan: 7 },
  el("p.quiet", null, d.url, " · ", el("span.mono", null, d.event_id), " ", copyButton(d.event_id, "Copy id", {}, "button.tiny")),
  d.gone ? el("p", null, "The message was deleted, together with its delivery details.") : el("pre.text", null, d.response || (d.status_code ? "The response had no body." : "There was no response."))));
