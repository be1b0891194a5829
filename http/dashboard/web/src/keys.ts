// API keys: they are made with permissions, shown once, and revoked.
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
    field("new-key", { name: "label", label: "Label", required: true, autofocus: true, hint: "The program that uses the key. It helps you to find the key when you revoke it." }),
    el("fieldset", { key: "scopes" }, el("legend", null, "Permissions"), words.scopes.map(([name, label, text], i) => el("div.field.check", null,
      full("input", { attrs: present({ type: "checkbox", name: "scopes", value: name, id: "scope-" + name, "aria-describedby": "scope-hint-" + name, checked: i === 0 ? true : null }) }),
      el("label", { for: "scope-" + name }, label), el("p.hint", { id: "scope-hint-" + name }, text)))),
    { name: "expires", label: "Lifetime", options: words.lifetimes },
  ], "Make key", async (v) => {
    if (!v.scopes) return trouble("new-key", "", "Choose at least one permission.");
    const r = await api.json<{ key: string }>("POST", "/api/keys", { label: v.label, scopes: v.scopes.split(","), expires_in_days: v.expires ? Number(v.expires) : null });
    enter();
    shownOnce("Your new key", r.key, "Clients send it in the header X-API-Key. Store it like a password.");
  })] });
}

export function view(): VNode {
  const p = keys.list;
  return el("section.pane.page", { "aria-label": "API keys" },
    el("header.bar.title", null, el("h1", null, "API keys"), p.items.length > 0 && button("New key", create, {}, "button.main")),
    el("div.body", null, p.items.length ? table(p.items) : p.state === "failed" ? failed(p.error, enter) : p.state !== "ready" ? loading("keys")
      : empty("No key yet", "A program uses a key instead of your password. Make one key per program, with only the permissions that it needs.", button("New key", create, {}, "button.main")),
      p.next && button("More", () => void more(p, fetchPage)),
      p.state === "ready" && el("p.quiet.aside", null, "The key that decrypts encrypted messages is under ", link(place.to("account", "encryption"), "Account"), ".")));
}

const table = (list: Key[]) => el("div.scroll", null, el("table", null,
  el("thead", null, el("tr", null, ...["Label", "For", "Permissions", "Last used", "Expires", ""].map((t) => el("th", { scope: "col" }, t)))),
  el("tbody", null, list.map((k) => el("tr", null,
    el("td", null, el("b", null, k.label || (k.kind === "inbox" ? "Key of an inbox" : "No label")), el("div.quiet.mono", null, k.prefix + "…")),
    el("td", { "data-of": "For" }, k.inbox ?? "All inboxes"),
    el("td", { "data-of": "Permissions" }, k.scopes.split(",").map((s) => el("div.scope", null, words.scopes.find(([n]) => n === s)?.[1] ?? s))),
    el("td", { "data-of": "Last used" }, k.last_used_at ? when(k.last_used_at, words.long) : el("span.quiet", null, "never")),
    el("td", { "data-of": "Expires" }, k.expired ? chip("expired", "bad") : k.expires_at ? when(k.expires_at, words.long) : el("span.quiet", null, "never")),
    el("td", null, button("Revoke", () => confirm("Revoke this key?", `Requests with “${k.label || k.prefix}” are refused immediately.`, "Revoke", async () => {
      await api.json("DELETE", api.path`/api/keys/${k.id}`);
      keys.list.items = keys.list.items.filter((x) => x !== k);
      say("The key is revoked.");
    }), { "aria-label": "Revoke " + (k.label || k.prefix) }, "button.small.danger")))))));
