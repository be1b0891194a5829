// The shared driver of all flows: one browser, one server. Each line of output is a result, {name,
// ok, ms, note, error}. {need: "stop"} asks the parent process for an action on the server; it
// replies with one line.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

/**
 * base and smtp are the addresses of the server, chrome is the browser's program, and shots is a
 * folder for screenshots, or "".
 */
export const { base, smtp, chrome, shots } = JSON.parse(process.argv[2]);
export const all = !!process.env.PAGE_ALL;
const only = process.env.PAGE_ONLY ?? "";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (o) => process.stdout.write(JSON.stringify(o) + "\n");

/** need requests an action on the server, and returns the line that the parent replies with. */
export async function need(what) {
  say({ need: what });
  return (await lines.next()).value;
}

// A process for each sandboxed frame would take most of the time; the sandbox is the same.
export const browser = await chromium.launch({ executablePath: chrome, args: ["--no-sandbox", "--disable-quic", "--host-resolver-rules=MAP plain.test 127.0.0.1", "--disable-features=IsolateSandboxedIframes"] });
export const errors = []; // errors that the page logged
let dialogs = 0;

export async function open(o = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"], ...o });
  context.setDefaultTimeout(60_000); // other tests may use both cores; scrypt alone takes a second of one
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && !/Failed to load resource|Opener-Policy header has been ignored/.test(m.text()) && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e.stack)));
  page.on("dialog", (d) => (dialogs++, d.dismiss()));
  return page;
}

export const listening = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));

export const assert = (ok, what) => {
  if (!ok) throw new Error(what);
};

let tests = 0;

export async function test(name, act) {
  if (only && !new RegExp(only).test(name)) return;
  const began = Date.now();
  try {
    // Sign-ins are rate limited per address: each test has its own.
    await page.context().setExtraHTTPHeaders({ "X-Forwarded-For": `10.2.0.${++tests}` });
    const note = await act();
    assert(!errors.length, "the page complained: " + errors.splice(0).join(" | "));
    assert(!dialogs, "a dialog of the browser opened");
    say({ name, ok: true, ms: Date.now() - began, note });
  } catch (e) {
    if (shots) await page.screenshot({ path: `${shots}/failed-${name.replace(/\W+/g, "-")}.png` }).catch(() => {});
    say({ name, ok: false, ms: Date.now() - began, error: String(e.stack).slice(0, 1500) });
    errors.length = dialogs = 0;
  }
}

export async function until(what, act, ms = 10_000) {
  for (const end = Date.now() + ms; ; ) {
    const got = await act();
    if (got) return got;
    if (Date.now() > end) throw new Error("never: " + what);
    await new Promise((done) => setTimeout(done, 30));
  }
}

/**
 * api calls the service like another program. Sign-ins are rate limited per address, and the page's
 * own limit is small.
 */
export async function api(method, path, token, body) {
  const from = { "X-Forwarded-For": `10.1.2.${1 + Math.floor(Math.random() * 250)}` };
  const r = await fetch(base + path, { method, headers: token?.startsWith("svc_live_") ? { ...from, "X-API-Key": token } : token ? { ...from, Authorization: "Bearer " + token } : from, body: body && JSON.stringify(body) });
  return { status: r.status, ...(await r.json().catch(() => ({}))) };
}

export const account = { email: "ada@example.test", password: "correct horse battery" };
export const page = await open();
export const token = () => page.evaluate(() => sessionStorage.getItem("inbox-session") ?? localStorage.getItem("inbox-session"));
export const go = (place) => page.evaluate((p) => void (location.hash = p), place);
export const row = (text) => page.locator(".mails .row", { hasText: text }).first();
export const said = (text) => page.locator('.sayings [role="status"]', { hasText: text }).waitFor();

/** bot and desk are the two inboxes that all flows know. */
export let bot = "", desk = "";

export async function known() {
  const { inboxes } = await api("GET", "/api/v1/inboxes", await token());
  [bot, desk] = ["bot", "desk"].map((n) => inboxes.find((b) => b.address.startsWith(n + "@"))?.address ?? "");
  return inboxes;
}

/** ready signs in and makes the inboxes if the flow that does so was left out. */
export async function ready() {
  if (bot && (await token())) return;
  await api("POST", "/api/auth/signup", null, account);
  const { session_token } = await api("POST", "/api/auth/login", null, account);
  for (const prefix of ["desk", "bot"]) await api("POST", "/api/v1/inboxes", session_token, { prefix, label: "The " + prefix });
  await page.goto(base + "/docs");
  await page.evaluate((t) => sessionStorage.setItem("inbox-session", t), session_token);
  await page.goto(base + "/#/mail");
  await page.locator(".boxes .row", { hasText: "desk" }).waitFor();
  await known();
}

/** end closes the browser, and reports that all tests are done. */
export async function end() {
  await browser.close();
  say({ done: true });
  process.exit(0);
}

/** noteRows makes the page record in window.seen when each subject first appeared in the list of messages. */
export const noteRows = () =>
  page.evaluate(() => {
    window.seen = new Map();
    new MutationObserver(() => {
      for (const r of document.querySelectorAll(".mails .row .subject")) if (!seen.has(r.textContent)) seen.set(r.textContent, Date.now());
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
