// The account: plan, usage per limit, encryption, sessions and password.
import type { VNode } from "snabbdom";
import licences from "../licences.txt";
import * as api from "./api";
import * as encryption from "./encryption";
import { loadAccount, session } from "./session";
import { changed, part } from "./store";
import * as place from "./place";
import { button, chip, el, first, form, full, isBusy, loading, outside, run, say, when, wrong } from "./ui";
import type { Session, Webhook } from "./wire";
import * as words from "./words";

const hooks = part(() => ({ n: 0 }));
const open = part(() => ({ list: [] as Session[] }));

const loadSessions = () => api.get<{ sessions: Session[] }>("/api/account/sessions").then((r) => ((open.list = r.sessions), changed())).catch(wrong);

export function enter() {
  loadAccount().catch(wrong);
  void api.get<{ webhooks: Webhook[] }>("/api/webhooks").then((r) => ((hooks.n = r.webhooks.length), changed())).catch(wrong);
  void loadSessions();
  encryption.enter();
}

export function view(): VNode {
  const a = session.account;
  return el("section.pane.page", { "aria-label": "Account" }, el("header.bar.title", null, el("h1", null, "Account")),
    !a ? loading("the account") : el("div.body", null, !a.email_verified && verify(a.email),
      el("dl.facts", null, el("dt", null, "E-mail"), el("dd", null, a.email), el("dt", null, "Plan"), el("dd", null, a.plan === "paid" ? "Paid" : "Free"), el("dt", null, "Created"), el("dd", null, when(a.created_at, words.long))),
      el("h2", null, "Usage"), el("div.bars", null, bar("Inboxes", a.usage.inboxes, a.limits.inboxes), bar("Messages sent today", a.usage.sends_today, a.limits.sends_per_day), bar("Account keys", a.usage.keys, a.limits.account_keys), bar("Webhooks", hooks.n, a.limits.webhooks)),
      full("section", { attrs: { "aria-label": "Encryption" }, hook: first((e) => place.here.addr === "encryption" && e.scrollIntoView()) }, ...encryption.view(a)),
      el("h2", null, "Sessions"), sessions(), el("h2", null, "Password"), password(),
      el("h2", null, "Limits of the plan"),
      el("dl.facts", null, ...facts([
        ["Messages are kept", `${words.hours(a.limits.default_retention_hours)} by default, at most ${words.hours(a.limits.max_retention_hours)}`],
        ["Messages per inbox", `${words.number(a.limits.max_messages)}, ${words.size(a.limits.max_bytes)}`],
        ["Recipients per message", words.number(a.limits.recipients_per_message)],
        ["Attachments per sent message", `${words.plural(a.limits.attachments_per_message, "file")}, ${words.size(a.limits.attachment_bytes_per_message)} in total`],
        ["Labels", a.limits.labels ? "custom" : "generated"],
        ["Namespaces", a.limits.subdomains ? `${words.number(a.limits.max_subdomains)} custom` : "random"],
      ])),
      el("p.quiet.colophon", null, outside(new URL(licences, import.meta.url).href, "Licences of the packages in this page"))));
}

const verify = (email: string) => el("div.note", { role: "note" }, el("p", null, el("b", null, "Verify your address."), ` Open the link in the message to ${email}. Until then, this service may let the account send only to its own inboxes.`),
  el("div.buttons.start", null, button(isBusy("verify") ? "One moment…" : "Send it again", () => void run("verify", async () => {
    await api.json("POST", "/api/auth/verify-email", {});
    say("The message is on its way.");
  }).catch(wrong))));

const sessions = () => el("ul", null, open.list.map((s) => el("li", { key: s.id }, el("p", null, "Started ", when(s.created_at, words.long), ", last used ", when(s.last_used_at, words.long), " ", s.current ? chip("this one", "good") : button("End", () => void api.ask("DELETE", api.path`/api/account/sessions/${s.id}`).then(loadSessions).catch(wrong), { "aria-label": "End the session of " + s.created_at }, "button.small.danger")))));

const password = () => form("password", [
  { name: "old", label: "Old password", type: "password", required: true, auto: "current-password" },
  { name: "new", label: "New password", type: "password", required: true, auto: "new-password", hint: "10 to 128 characters" },
], "Set password", async (v, f) => {
  await api.json("POST", "/api/account/password", { old: v.old, new: v.new });
  f.reset();
  await loadSessions();
  say("The password is set. All other sessions have ended.");
});

const facts = (list: [string, string][]) => list.flatMap(([k, v]) => [el("dt", null, k), el("dd", null, v)]);

function bar(label: string, used: number, limit: number): VNode {
  const part = limit ? Math.min(1, used / limit) : 0;
  return el("div.bar-of", null, el("p", null, el("span", null, label), el("span", null, `${words.number(used)} of ${words.number(limit)}`)),
    el("div.meter", { role: "meter", "aria-valuemin": 0, "aria-valuemax": limit || 1, "aria-valuenow": used, "aria-label": `${label}: ${used} of ${limit}` }, full(part >= 0.9 ? "span.nearly" : "span", { style: { width: part * 100 + "%" } })),
    part >= 0.9 ? el("p.hint", null, part >= 1 ? "The limit of the plan is reached." : "The limit of the plan is nearly reached.") : null);
}
