// The session. The token is a Bearer token stored for the tab, or longer if the user asks for it.
// It is in no cookie, so no other site can use it.
import type { VNode } from "snabbdom";
import * as api from "./api";
import * as place from "./place";
import { changed, forgetAll, part } from "./store";
import { el, form, link, outside, say, wrong } from "./ui";
import type { Account } from "./wire";

const page = document.documentElement.dataset;
/** base is the URL of the service for clients. domain is the domain of generated addresses. */
export const base = page.base || location.origin, domain = page.domain ?? "", signupOpen = page.signup === "open";

export const session = part(() => ({ account: null as Account | null }));

const kept = "inbox-session";
let back = "", backOf = ""; // the place to return to after sign-in, and its account if known
let onEnter: () => void = () => {};
const onOther: ((account: string) => Promise<void> | void)[] = [];
const onLeave: ((byChoice: boolean) => Promise<void> | void)[] = [];

export const entering = (f: () => void) => (onEnter = f);
/** others registers what must be cleared of another account in this browser. */
export const others = (f: (account: string) => Promise<void> | void) => onOther.push(f);
export const leaving = (f: (byChoice: boolean) => Promise<void> | void) => onLeave.push(f);

export const signedIn = () => api.hasToken();

/** resume continues the session of this tab, or the stored one. */
export function resume(): boolean {
  const t = sessionStorage.getItem(kept) || localStorage.getItem(kept);
  if (!t) return false;
  api.setToken(t);
  return true;
}

// Another tab signed out of the stored session.
addEventListener("storage", (e) => {
  if (e.key === kept && e.oldValue && !e.newValue && api.hasToken() && !ending && !sessionStorage.getItem(kept)) void leave("");
});

async function enter(token: string, account: Account, stay: boolean) {
  forgetAll();
  for (const f of onOther) await f(account.id);
  api.setToken(token);
  session.account = account;
  (stay ? localStorage : sessionStorage).setItem(kept, token);
  const to = (!backOf || backOf === account.id ? back : "") || place.to("mail");
  back = "";
  onEnter();
  place.go(to, true);
}

// A session ends once: calls that are refused meanwhile must not end the next one.
let ending = false;

/** leave forgets everything of the session. `to` is the place to return to. */
export async function leave(to: string, byChoice = false) {
  ending = true;
  const whose = session.account?.id ?? backOf;
  try {
    for (const f of onLeave) await f(byChoice);
  } finally {
    ending = false;
  }
  api.setToken("");
  sessionStorage.removeItem(kept);
  localStorage.removeItem(kept);
  forgetAll();
  back = to;
  backOf = to ? whose : "";
  place.go(place.to("signin"), true);
  changed();
}

export async function signOut() {
  if (ending) return;
  ending = true;
  try {
    await api.ask("POST", "/api/auth/logout");
  } catch (e) {
    if (!(e instanceof api.Left)) wrong(e);
  }
  await leave("", true);
}

/** ended is called when the service rejects the session. */
export function ended() {
  if (!api.hasToken() || ending) return;
  const here = location.hash;
  // leave clears earlier messages, so this one must follow it.
  void leave(here).then(() => say("The sign-in has ended. Sign in to continue where you were.", true));
}

export async function loadAccount() {
  session.account = (await api.get<{ account: Account }>("/api/account")).account;
  changed();
}

type SignedIn = { session_token: string; account: Account };

const stay = { name: "stay", label: "Stay signed in on this device", type: "checkbox" };

export function signInView(): VNode {
  return card("Sign in", form("signin", [
    { name: "email", label: "E-mail address", type: "email", required: true, auto: "username", autofocus: true },
    { name: "password", label: "Password", type: "password", required: true, auto: "current-password" }, stay,
  ], "Sign in", async (v) => {
    const r = await api.json<SignedIn>("POST", "/api/auth/login", { email: v.email, password: v.password });
    await enter(r.session_token, r.account, v.stay === "on");
  }), el("nav.foot", { "aria-label": "Other ways" }, signupOpen && link(place.to("signup"), "Open an account"), link(place.to("reset"), "Forgot the password?"), docs()));
}

export function signUpView(): VNode {
  if (!signupOpen) return card("Open an account", el("p", null, "Only the operator can open accounts here."), el("nav.foot", { "aria-label": "Other ways" }, link(place.to("signin"), "Sign in")));
  return card("Open an account", form("signup", [
    { name: "email", label: "E-mail address", type: "email", required: true, auto: "username", autofocus: true },
    { name: "password", label: "Password", type: "password", required: true, auto: "new-password", hint: "10 to 128 characters" }, stay,
  ], "Open account", async (v) => {
    const r = await api.json<SignedIn>("POST", "/api/auth/signup", { email: v.email, password: v.password });
    await enter(r.session_token, r.account, v.stay === "on");
  }), el("nav.foot", { "aria-label": "Other ways" }, link(place.to("signin"), "Sign in instead"), docs()));
}

export function resetView(): VNode {
  return card("Forgot the password?", form("reset", [
    { name: "email", label: "E-mail address", type: "email", required: true, auto: "username", autofocus: true, hint: "You receive a message with a link to set a new password. The link works once, within an hour." },
  ], "Send the link", async (v, f) => {
    await api.json("POST", "/api/auth/password-reset", { email: v.email });
    f.reset();
    say("If an account has that address, a message with the link is being sent.");
  }), el("nav.foot", { "aria-label": "Other ways" }, link(place.to("signin"), "Back to sign in")));
}

const docs = () => outside(base + "/docs", "Documentation");

const card = (title: string, ...rest: (VNode | null)[]) =>
  el("main.signed-out", { id: "main" }, el("div.card", null, el("p.brand", null, "Inboxes", el("span", null, domain)), el("h1", null, title), ...rest));
