// Custom domains: which records to publish, and which of them DNS has now.
import type { VNode } from "snabbdom";
import * as api from "./api";
import * as place from "./place";
import { paged, reload, type Fetch } from "./rows";
import { changed, part } from "./store";
import { button, chip, closeDialog, confirm, copyButton, el, empty, failed, form, full, isBusy, link, loading, openDialog, run, save, say, troubleOf, when, wrong } from "./ui";
import type { Domain, Inbox } from "./wire";
import * as words from "./words";

/** Living describes the inboxes under a domain: their number, and the newest of them. */
type Living = { n: number; some: string[] };

const own = part(() => ({ list: paged<Domain>(), on: new Map<string, Living>(), turn: 0 }));
const fetchPage: Fetch<Domain> = async () => ({ items: (await api.get<{ domains: Domain[] }>("/api/domains")).domains, next: null });

export const enter = () => void reload(own.list, fetchPage, true).then(() => inboxes());

/** inboxes counts the inboxes under each domain, page by page, while the view is open. */
async function inboxes() {
  const turn = ++own.turn, on = new Map(own.list.items.map((d): [string, Living] => [d.domain, { n: 0, some: [] }]));
  try {
    for (let cursor: string | null = ""; on.size && cursor !== null && turn === own.turn && place.here.view === "domains"; ) {
      const r: { inboxes: Inbox[]; next_cursor: string | null } = await api.get("/api/v1/inboxes" + api.query({ limit: 1000, cursor }));
      for (const b of r.inboxes) {
        const d = on.get(b.address.slice(b.address.indexOf("@") + 1));
        if (d && ++d.n <= listed) d.some.push(b.address);
      }
      cursor = r.next_cursor;
    }
    if (turn === own.turn) own.on = on;
    changed();
  } catch (e) {
    wrong(e);
  }
}

const listed = 20;

function create() {
  openDialog({ title: "Add a domain", body: () => [form("new-domain", [
    { name: "domain", label: "Domain", required: true, autofocus: true, placeholder: "mail.example.com", hint: "Use a domain that receives no mail elsewhere: its MX record must point to this service." },
  ], "Claim domain", async (v) => {
    await api.json("POST", "/api/domains", { domain: v.domain.trim().toLowerCase() });
    closeDialog();
    enter();
    say("Publish the DNS records, then verify the domain.");
  })] });
}

export function view(): VNode {
  const p = own.list;
  return el("section.pane.page", { "aria-label": "Domains" },
    el("header.bar.title", null, el("h1", null, "Domains"), p.items.length > 0 && button("Add a domain", create, {}, "button.main")),
    el("div.body", null, p.items.length ? p.items.map(one) : p.state === "failed" ? failed(p.error, enter) : p.state !== "ready" ? loading("domains")
      : empty("No custom domain yet", "Inboxes can use your own domain. The messages they send are then signed for it.", button("Add a domain", create, {}, "button.main"))));
}

const purposes: Record<string, string> = { ownership: "Ownership", mx: "Receiving (MX)", spf: "SPF", dkim: "DKIM", dmarc: "DMARC (recommended)" };
const kinds: Record<string, string> = { verified: "good", pending: "warn", failing: "bad" };
const said: Record<string, string> = { verified: "You can make inboxes under this domain.", pending: "Publish the records at your DNS provider, then verify.", failing: "Some records are no longer published." };

function one(d: Domain): VNode {
  const id = "verify-" + d.domain, living = own.on.get(d.domain);
  return full("article.domain", { key: d.domain },
    el("header", null, el("h2", null, d.domain), chip(d.status, kinds[d.status]), el("span.quiet", null, said[d.status] ?? "")),
    el("div.scroll", { tabindex: 0, role: "region", "aria-label": "Records of " + d.domain }, el("table", null,
      el("thead", null, el("tr", null, ...["For", "Type", "Name", "Value", "In DNS now"].map((t) => el("th", { scope: "col" }, t)))),
      el("tbody", null, d.records.map((r) => el("tr", null, el("td", null, el("b", null, purposes[r.purpose] ?? r.purpose)), el("td", { "data-of": "Type" }, r.type),
        copied("Name", r.name, r.purpose), copied("Value", r.value, r.purpose),
        el("td", null, r.found ? chip("found", "good") : chip("not found", "warn"))))))),
    el("p.quiet", null, d.checked_at ? ["Checked ", when(d.checked_at, words.long)] : "Not checked yet"), troubleOf(id, []),
    living?.n ? el("p", null, `${words.plural(living.n, "inbox", "inboxes")} under this domain: `, living.some.flatMap((a, i) => [i ? ", " : "", link(place.to("mail", a), a)]), living.n > listed ? " and more." : null) : null,
    el("div.buttons.start", null,
      button(isBusy(id) ? "Checking…" : "Verify", () => void run(id, async () => {
        const r = await api.json<{ domain: Domain }>("POST", api.path`/api/domains/${d.domain}/verify`);
        own.list.items = own.list.items.map((x) => (x.domain === d.domain ? r.domain : x));
        say(r.domain.status === "verified" ? `${d.domain} is verified.` : "Some records are not published yet. DNS changes can take a while.");
      }).catch(wrong), { disabled: isBusy(id) || null }, "button.main"),
      button("Zone file", () => void zone(d).catch(wrong), {}),
      button("Remove", () => confirm("Remove the domain?", `Other accounts can then claim ${d.domain}. The domain must have no inboxes.`, "Remove domain", async () => {
        await api.json("DELETE", api.path`/api/domains/${d.domain}`);
        enter();
      }), {}, "button.danger")));
}

const copied = (what: string, text: string, purpose: string) =>
  el("td", { "data-of": what }, el("div.beside", null, el("span.mono.wrap", { title: text }, text), copyButton(text, "", { "aria-label": `Copy the ${what.toLowerCase()} for ${purpose}`, title: "Copy" }, "button.plain")));

async function zone(d: Domain) {
  const text = await (await api.ask("GET", api.path`/api/domains/${d.domain}/zone`)).text();
  save(d.domain + ".zone", "text/plain", text);
}
