// The page: its sections, its routing, and how it starts.
import * as api from "./api";
import * as account from "./account";
import * as calendar from "./calendar";
import * as compose from "./compose";
import * as domains from "./domains";
import * as boxes from "./inboxes";
import * as keys from "./keys";
import * as live from "./live";
import * as mails from "./mail";
import * as meeting from "./meeting";
import * as place from "./place";
import * as reader from "./reader";
import * as sent from "./sent";
import * as session from "./session";
import * as start from "./start";
import * as webhooks from "./webhooks";
import { listen } from "./keyboard";
import { cycle, theme } from "./theme";
import { changed, show } from "./store";
import { button, closeDialog, dialogs, el, full, icon, link, sayings, wrong } from "./ui";
import type { VNode } from "snabbdom";
import type { Happening } from "./wire";

/** Section is a part of the page with its own place. */
type Section = { view: place.View; title: string; icon: string; key: string; enter?: () => void; draw: () => VNode; happened?: (e: Happening) => void; refresh?: () => void };

const sections: Section[] = [
  { view: "mail", title: "Inboxes", icon: "mail", key: "i", draw: mailView, refresh: () => (void boxes.load(true), mails.mail.of && void mails.load(true), void reader.load()) },
  { view: "sent", title: "Sent", icon: "sent", key: "s", enter: sent.enter, draw: sent.view, happened: sent.happened, refresh: sent.enter },
  { view: "calendar", title: "Calendar", icon: "calendar", key: "c", enter: calendar.enter, draw: calendar.view, happened: calendar.happened, refresh: calendar.enter },
  { view: "webhooks", title: "Webhooks", icon: "hook", key: "w", enter: webhooks.enter, draw: webhooks.view, happened: webhooks.happened, refresh: webhooks.enter },
  { view: "keys", title: "API keys", icon: "key", key: "k", enter: keys.enter, draw: keys.view, refresh: keys.enter },
  { view: "domains", title: "Domains", icon: "globe", key: "d", enter: domains.enter, draw: domains.view, refresh: domains.enter },
  { view: "account", title: "Account", icon: "person", key: "a", enter: account.enter, draw: account.view, refresh: account.enter },
  { view: "start", title: "Start here", icon: "start", key: "t", enter: start.enter, draw: start.view, refresh: start.enter },
];

const mailPlaces = ["mail", "all"];
const sectionOf = (v: place.View) => sections.find((s) => s.view === v || (s.view === "mail" && mailPlaces.includes(v)));

let menu = false; // on a narrow screen the sections are behind a button

// --- navigation

const anonymous = ["signin", "signup", "reset"];

function arrive() {
  const before = place.here.view;
  place.arrive();
  menu = false;
  closeDialog();
  const { here } = place;
  if (!session.signedIn()) {
    if (!anonymous.includes(here.view)) void session.leave(location.hash.length > 2 ? location.hash : "");
    return changed();
  }
  if (anonymous.includes(here.view)) return place.go(place.to("mail"), true);
  if (here.view === "all") {
    mails.show("*");
    reader.show(here.id ? here.addr : "", here.id, here.tab);
  } else if (here.view === "mail" && here.addr && here.addr !== "boxes") {
    mails.show(here.addr);
    boxes.want(here.addr).catch(wrong);
    reader.show(here.id ? here.addr : "", here.id, here.tab);
  } else if (here.view === "mail") {
    reader.show("", 0, "");
    open();
  } else sectionOf(here.view)?.enter?.();
  // Within a view, keyboard users keep their focus.
  changed(() => before !== here.view && (here.view === "compose" ? compose.begun() : document.getElementById("main")?.focus({ preventScroll: true })));
}

/** open opens an inbox if the place names none. */
function open() {
  const addr = boxes.latest(), at = place.read(location.hash); // the target of the navigation is not yet in `here`
  if (addr && at.view === "mail" && !at.addr) place.go(place.to("mail", addr), true);
}

// --- the view

function mailView(): VNode {
  const { here } = place, all = here.view === "all";
  if (boxes.none()) return boxes.welcome();
  const depth = here.id ? "one" : here.addr === "boxes" ? "boxes" : here.addr || all ? "list" : "boxes";
  return el("div.panes", { class: "depth-" + depth }, boxes.view(all ? "" : here.addr, all),
    all || mails.mail.of ? mails.view() : el("section.pane.mails", { "aria-label": "Mail" }), reader.view());
}

function view(): VNode {
  title();
  if (!session.signedIn()) {
    const v = place.here.view;
    return el("div", { id: "page" }, v === "signup" ? session.signUpView() : v === "reset" ? session.resetView() : session.signInView(), sayings());
  }
  const { here } = place, now = sectionOf(here.view);
  return el("div.app", { id: "page", class: menu ? "menu" : "" },
    button("Skip to content", () => document.getElementById("main")?.focus(), {}, "button.skip"),
    full("header.top", {}, button(icon("menu"), () => ((menu = !menu), changed()), { "aria-label": "Menu", "aria-expanded": menu ? "true" : "false" }, "button.plain"), el("b", null, session.domain || "Inboxes"), el("span.grow", null),
      button(icon("plus"), () => compose.write(mails.mail.of === "*" ? "" : mails.mail.of), { "aria-label": "New message" }, "button.plain")),
    full("nav.side", { attrs: { "aria-label": "Sections" }, on: { click: (e: Event) => menu && (e.target as Element).closest("a") && ((menu = false), changed()) } }, el("p.brand", null, "Inboxes", el("span", null, session.domain)),
      button([icon("plus"), "New message"], () => compose.write(mails.mail.of === "*" ? "" : mails.mail.of), { title: "New message (c)" }, "button.main"),
      el("ul", null, sections.map((s) => el("li", null, link(place.to(s.view), [icon(s.icon), s.title, s.view === "mail" && boxes.unread() > 0 ? el("b.count", null, String(boxes.unread())) : null],
        { "aria-current": now === s ? "page" : null, title: `${s.title} (g ${s.key})` })))),
      el("div.side-foot", null, el("p.quiet.me", { title: session.session.account?.email ?? "" }, el("span.light", { class: live.connected ? "light on" : "light", role: "img", "aria-label": live.connected ? "Live" : "Not connected" }), session.session.account?.email ?? ""),
        el("p", null, button([icon("sun"), theme()], cycle, { title: "Theme: light, dark, or the system setting" }, "button.small"), button("Sign out", () => void session.signOut(), {}, "button.small")))),
    full("main", { attrs: { id: "main", tabindex: -1 }, key: now?.view ?? here.view }, here.view === "compose" ? compose.view() : (now ?? sections[0]).draw()),
    banner(), dialogs(), sayings());
}

function title() {
  const n = session.signedIn() ? boxes.unread() : 0;
  const t = (n ? `(${n}) ` : "") + (session.signedIn() ? (sectionOf(place.here.view)?.title ?? "New message") : "Sign in") + (session.domain ? " · " + session.domain : "");
  if (document.title !== t) document.title = t;
}

// --- service failures: show a sentence, and recover automatically

let trouble: api.Failure | null = null, asking = false;

const banner = () => (trouble ? el("p.banner", { role: "alert" }, trouble.message) : null);

function troubled(f: api.Failure | null) {
  if (!f) {
    if (trouble && !asking) recovered();
    return;
  }
  trouble = f;
  changed();
  void recover();
}

async function recover() {
  if (asking) return;
  asking = true;
  for (let wait = 700; ; wait = Math.min(wait * 1.6, 10_000)) {
    await new Promise((done) => setTimeout(done, wait));
    const ok = await fetch("/readyz", { cache: "no-store", credentials: "omit" }).then((r) => r.ok, () => false);
    if (ok || !trouble) break;
  }
  asking = false;
  recovered();
}

function recovered() {
  trouble = null;
  if (session.signedIn()) refresh();
  changed();
}

function refresh() {
  const s = sectionOf(place.here.view);
  s?.refresh?.();
  if (s?.view !== "mail" && boxes.boxes.list.state !== "ready") void boxes.load(true);
  if (!session.session.account) void session.loadAccount().catch(wrong);
}

// --- start

function enter() {
  void boxes.load().then(open);
  live.start({
    happened: (e) => {
      void mails.happened(e);
      meeting.happened(e);
      if (e.message_id === reader.open.id && e.inbox === reader.open.addr && e.event !== "message.received") void reader.load();
      sectionOf(place.here.view)?.happened?.(e);
    },
    gap: () => {
      void boxes.load(true).then(open);
      if (mails.mail.of) void mails.load(true);
    },
  });
}

session.entering(enter);
session.leaving(() => live.end());
api.watch(session.ended, troubled);
listen({ sections: sections.map((s) => [s.key, s.view] as const), compose: () => compose.write(mails.mail.of === "*" ? "" : mails.mail.of) });
addEventListener("hashchange", arrive);
addEventListener("online", () => trouble && void recover());
addEventListener("offline", () => troubled(new api.Failure(0, "This device is offline. The page continues automatically when the connection is back.")));

if (session.resume()) {
  session.loadAccount().catch(wrong);
  enter();
}
show(document.getElementById("page")!, view);
arrive();
