// API keys: made with what they may do, shown once, revoked.
import type { VNode } from "snabbdom";
import * as api from "./api";
import { query } from "./api";
import * as place from "./place";
import { shownOnce } from "./inboxes";
import { more, paged, reload, type Fetch } from "./rows";
import { part } from "./store";
import { button, chip, confirm, el, empty, failed, field, form, full, link, loading, openDialog, present, say, trouble, when } from "./ui";
import type { Key } from "./wire";
import * as words from "./words";

const keys = part(() => ({ list: paged<Key>() }));

const fetchPage: Fetch<Key> = async (cursor) => {
  const r = await api.get<{ keys: Key[]; next_cursor: string | null }>("/api/keys" + query({ limit: 100, cursor }));
  return { items: r.keys, next: r.next_cursor };
};

export const enter = () => void reload(keys.list, fetchPage, true);

function create() {
  openDialog({ title: "New key", body: () => [form("new-key", [
    field("new-key", { name: "label", label: "Label", required: true, autofocus: true, hint: "What uses it: you will want to know when you revoke it." }),
    el("fieldset", { key: "scopes" }, el("legend", null, "What it may do"), words.scopes.map(([name, label, text], i) => el("div.field.check", null,
      full("input", { attrs: present({ type: "checkbox", name: "scopes", value: name, id: "scope-" + name, "aria-describedby": "scope-hint-" + name, checked: i === 0 ? true : null }) }),
      el("label", { for: "scope-" + name }, label), el("p.hint", { id: "scope-hint-" + name }, text)))),
    { name: "expires", label: "How long it works", options: words.lifetimes },
  ], "Make key", async (v) => {
    if (!v.scopes) return trouble("new-key", "", "Choose at least one thing that it may do.");
    const r = await api.json<{ key: string }>("POST", "/api/keys", { label: v.label, scopes: v.scopes.split(","), expires_in_days: v.expires ? Number(v.expires) : null });
    enter();
    shownOnce("Your new key", r.key, "An agent sends it as the header X-API-Key. Keep it where secrets are kept.");
  })] });
}

export function view(): VNode {
  const p = keys.list;
  return el("section.pane.page", { "aria-label": "API keys" },
    el("header.bar.title", null, el("h1", null, "API keys"), p.items.length > 0 && button("New key", create, {}, "button.main")),
    el("div.body", null, p.items.length ? table(p.items) : p.state === "failed" ? failed(p.error, enter) : p.state !== "ready" ? loading("keys")
      : empty("No key yet", "A program uses a key in place of your password. Make one for each, with only what it needs.", button("New key", create, {}, "button.main")),
      p.next && button("More", () => void more(p, fetchPage)),
      p.state === "ready" && el("p.quiet.aside", null, "Looking for the key that opens encrypted mail? It is under ", link(place.to("account", "encryption"), "Account"), ".")));
}

const table = (list: Key[]) => el("div.scroll", null, el("table", null,
  el("thead", null, el("tr", null, ...["Label", "For", "Allowed", "Last used", "Expires", ""].map((t) => el("th", { scope: "col" }, t)))),
  el("tbody", null, list.map((k) => el("tr", null,
    el("td", null, el("b", null, k.label || (k.kind === "inbox" ? "Key of an inbox" : "Without a label")), el("div.quiet.mono", null, k.prefix + "…")),
    el("td", { "data-of": "For" }, k.inbox ?? "All inboxes"),
    el("td", { "data-of": "Allowed" }, k.scopes.split(",").map((s) => el("div.scope", null, words.scopes.find(([n]) => n === s)?.[1] ?? s))),
    el("td", { "data-of": "Last used" }, k.last_used_at ? when(k.last_used_at, words.long) : el("span.quiet", null, "never")),
    el("td", { "data-of": "Expires" }, k.expired ? chip("expired", "bad") : k.expires_at ? when(k.expires_at, words.long) : el("span.quiet", null, "never")),
    el("td", null, button("Revoke", () => confirm("Revoke this key?", `Whatever uses “${k.label || k.prefix}” is refused at once.`, "Revoke", async () => {
      await api.json("DELETE", api.path`/api/keys/${k.id}`);
      keys.list.items = keys.list.items.filter((x) => x !== k);
      say("The key is revoked.");
    }), { "aria-label": "Revoke " + (k.label || k.prefix) }, "button.small.danger")))))));
