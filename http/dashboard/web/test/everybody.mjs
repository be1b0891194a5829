// Tests accessibility: screen readers, dark mode, phones; and the other pages.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { account, all, api, assert, base, bot, need, open, page, ready, row, shots, test, until } from "./driver.mjs";

await ready();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const empty = await open(); // the page of a new account
const found = [];

/**
 * look checks the page with axe, and takes a screenshot. If only colours differ, only colours are
 * checked.
 */
async function look(p, what, theme, width = 1280, judged = true) {
  const name = `${what} ${width} ${theme}`;
  await p.locator(".loading").first().waitFor({ state: "detached" });
  if (shots) await p.screenshot({ path: `${shots}/${name.replace(/\W+/g, "-")}.png` });
  const wide = await p.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) found.push(`${name} is ${wide} wide`);
  if (!judged) return;
  // axe is inserted by the debugger, which the page's policy does not restrict.
  if (!(await p.evaluate(() => !!window.axe))) await p.evaluate(axe);
  const rules = theme === "dark" && !all ? { type: "rule", values: ["color-contrast"] } : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
  const r = await p.evaluate((runOnly) => window.axe.run(document, { runOnly, resultTypes: ["violations"], iframes: false }), rules);
  for (const v of r.violations) if (v.impact === "serious" || v.impact === "critical") found.push(`${name}: ${v.id} ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary.slice(0, 200)}`);
}

const at = (p, place) => p.evaluate((place) => new Promise((done) => ((location.hash = place), requestAnimationFrame(() => requestAnimationFrame(done)))), place);
const press = (name) => page.getByRole("button", { name }).first().click();
const closed = async () => (await page.keyboard.press("Escape"), page.locator("dialog").waitFor({ state: "detached" }));
const dialog = () => page.locator("dialog[open]").waitFor();

/** views are all views of an account with data: [name, place, how to open it, how to close it] */
const views = [
  ["list", "#/mail/" + bot], ["all", "#/all"], ["sent", "#/sent"], ["suppressed", "#/sent", () => press("Suppressed"), () => page.getByRole("button", { name: "Mail", exact: true }).click()], ["calendar", "#/calendar/" + bot],
  ["month", "#/calendar/" + bot, () => press("Month").then(() => page.locator(".month").waitFor()), () => press("Agenda")], ["webhooks", "#/webhooks"], ["keys", "#/keys"], ["domains", "#/domains"], ["account", "#/account"], ["start", "#/start"],
  ["compose", "#/compose", async () => (await press("HTML"), (await page.locator("#compose-cc").count()) || press("Add Cc and Bcc")), () => page.getByRole("button", { name: "Text", exact: true }).click()],
  ["help", "#/account", () => page.keyboard.press("?").then(dialog), closed],
  ["new inbox", "#/mail/boxes", () => press("New inbox").then(dialog).then(() => page.locator("dialog summary").click()), closed],
  ["inbox settings", "#/mail/" + bot, () => press("Settings of this inbox").then(dialog), closed],
  ["delete inbox", "#/mail/" + bot, () => press("Settings of this inbox").then(dialog).then(() => press("Delete the inbox")).then(() => page.locator("dialog h2", { hasText: "Delete this inbox" }).waitFor()), closed],
  ["new webhook", "#/webhooks", () => press("New webhook").then(dialog), closed], ["new key", "#/keys", () => press("New key").then(dialog), closed], ["new domain", "#/domains", () => press("Add a domain").then(dialog), closed],
  ["new meeting", "#/calendar/" + bot, () => press("New meeting").then(dialog), closed], ["follow", "#/calendar/" + bot, () => press("Subscribe").then(dialog).then(() => press("Show the link")).then(() => page.locator("dialog pre").waitFor()), closed],
  ["key pair", "#/account", () => page.locator("#encryption-begin").click().then(() => page.locator("#key-file-save").waitFor()), () => page.getByRole("button", { name: "Cancel" }).click()],
];
const emptyPlaces = ["#/mail", "#/all", "#/sent", "#/compose", "#/calendar", "#/webhooks", "#/keys", "#/domains", "#/start"];

async function everything(theme, width) {
  for (const [name, place, begin, end] of views) {
    await at(page, place);
    await page.locator(".loading").first().waitFor({ state: "detached" });
    await begin?.();
    await look(page, name, theme, width, all || theme === "light" || end !== closed); // a dialog has no colours of its own
    await end?.();
  }
  for (const [name, subject, tabs] of [["code", "482913", ["text"]], ["invitation", "Invitation u1", ["calendar", "headers", "source", "attachments", "checks"]]]) {
    await at(page, "#/mail/" + bot);
    if (!(await row(subject).count())) continue; // the flow that creates it was left out
    await row(subject).click();
    for (const t of tabs) {
      await page.click("#tab-" + t);
      await page.locator(`#tab-${t}[aria-selected="true"]`).waitFor();
      await look(page, `${name} ${t}`, theme, width);
    }
  }
  if (all || shots || (theme === "light" && width === 1280)) for (const place of emptyPlaces) {
    await at(empty, place);
    await look(empty, "empty " + place.slice(2), theme, width);
  }
}

await test("no serious finding of axe on any view, light and dark; nothing is wider than a phone", async () => {
  for (const form of ["signin", "signup", "reset"])
    for (const theme of ["light", "dark"]) {
      await empty.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await empty.goto(`${base}/#/${form}`);
      for (const width of [360, 1280]) {
        await empty.setViewportSize({ width, height: 720 });
        await look(empty, form, theme, width);
      }
    }
  const { session_token } = await api("POST", "/api/auth/signup", null, { email: "new@example.test", password: account.password });
  await empty.evaluate((t) => sessionStorage.setItem("inbox-session", t), session_token);
  await empty.reload();
  await empty.getByRole("button", { name: "Make an inbox" }).waitFor();
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await at(page, "#/mail/" + bot);
  await look(page, "side", "dark"); // which a phone shows as a menu
  for (const [theme, width] of [["light", 1280], ["dark", 360], ...(all || shots ? [["dark", 1280], ["light", 360]] : [])]) {
    for (const p of [page, empty]) {
      await p.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await p.setViewportSize({ width, height: width < 1280 ? 720 : 800 });
    }
    await everything(theme, width);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
  await empty.context().close();
  assert(!found.length, found.join("\n"));
  return `${views.length + emptyPlaces.length + 9} views`;
});

await test("the menu of a phone closes where one goes, and where one is", async () => {
  await page.setViewportSize({ width: 360, height: 720 });
  const side = page.locator("nav.side");
  for (const to of ["Webhooks", "Webhooks", "Sent"]) {
    await page.getByRole("button", { name: "Menu" }).click();
    await side.waitFor();
    await side.getByRole("link", { name: to }).click();
    await page.locator("main h1", { hasText: to }).waitFor();
    await side.waitFor({ state: "hidden" });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});

// --- the other pages: of a password reset, and the documentation

await test("a password is set where the operator's link leads, once", async () => {
  await api("POST", "/api/auth/signup", null, { email: "bea@example.test", password: account.password });
  const link = await need("admin account reset-link bea@example.test");
  const bad = "This password reset link is invalid: it is unknown, was used, or is older than an hour. Request a new one";
  const p = await open();
  const set = async (at, password) => {
    await p.goto("about:blank"); // a new fragment alone would not reload the page
    await p.goto(at);
    await p.fill("#password", password);
    await p.keyboard.press("Enter");
    return until("the page says something", () => p.locator("[role=status]").textContent());
  };
  const said = [await set(base + "/reset", "another horse"), await set(link, "another horse"), await p.locator("form").isHidden(), await set(link, "a third horse")];
  assert(said[0] === bad && said[1] === "The password is set. Sessions ended: 1. API keys revoked: 0. Webhooks removed: 0. Calendar links turned off: 0. Sign in again." && said[2] && said[3] === bad, "the page says " + said.join("; "));
  assert((await api("POST", "/api/auth/login", null, { email: "bea@example.test", password: "another horse" })).status === 200, "the password was not set");
  await p.context().close();
});

await test("the page of a link that verifies an address says when the link is not valid", async () => {
  const p = await open();
  await p.goto(base + "/verify#token=svc_verify_x");
  await p.getByRole("button", { name: "Verify address" }).click();
  await p.locator("[role=status]", { hasText: "This verification link is invalid: it is unknown, was used, or is older than a day" }).waitFor();
  await p.context().close();
});

await test("an account verifies its address, sees its sessions, ends one and changes its password", async () => {
  const eva = { email: "eva@example.test", password: account.password };
  const { session_token: other } = await api("POST", "/api/auth/signup", null, eva);
  const { session_token: mine } = await api("POST", "/api/auth/login", null, eva);
  const { session_token: third } = await api("POST", "/api/auth/login", null, eva);
  const p = await open();
  await p.goto(base + "/docs");
  await p.evaluate((t) => sessionStorage.setItem("inbox-session", t), mine);
  await p.goto(base + "/#/account");
  await p.locator(".note", { hasText: "Verify your address. Open the link in the message to eva@example.test" }).waitFor();
  await p.getByRole("button", { name: "Send it again" }).click();
  await p.locator('.sayings [role="status"]', { hasText: "The message is on its way" }).waitFor();
  const list = p.locator("li", { hasText: "last used" });
  await until("all sessions are there", async () => (await list.count()) === 3 && (await list.filter({ hasText: "this one" }).count()) === 1);
  await list.getByRole("button", { name: /^End the session/ }).first().click();
  await until("one has ended", async () => (await list.count()) === 2);
  assert((await api("GET", "/api/account", other)).status === 401 && (await api("GET", "/api/account", third)).status === 200, "another session has ended");
  await p.fill("#password-old", "not the password");
  await p.fill("#password-new", "another horse");
  await p.getByRole("button", { name: "Set password" }).click();
  await p.locator("#password .bad", { hasText: "The password is wrong" }).waitFor();
  await p.fill("#password-old", eva.password);
  await p.getByRole("button", { name: "Set password" }).click();
  await p.locator('.sayings [role="status"]', { hasText: "All other sessions have ended" }).waitFor();
  await until("they are gone from the list", async () => (await list.count()) === 1);
  const known = await Promise.all([third, mine].map(async (t) => (await api("GET", "/api/account", t)).status));
  assert(known.join() === "401,200", "the sessions: " + known);
  assert((await api("POST", "/api/auth/login", null, { ...eva, password: "another horse" })).status === 200, "the password was not set");
  // The note disappears once the address is verified, which a password reset also does.
  const link = await need("admin account reset-link eva@example.test");
  await api("POST", "/api/auth/password-reset/confirm", null, { token: link.split("token=")[1], password: eva.password });
  const { session_token: last } = await api("POST", "/api/auth/login", null, eva);
  await p.evaluate((t) => sessionStorage.setItem("inbox-session", t), last);
  await p.reload();
  await p.locator("h2", { hasText: "Sessions" }).waitFor();
  assert(!(await p.locator(".note", { hasText: "Verify your address" }).count()), "the note stays");
  await p.context().close();
});

await test("the documentation fits a phone, and no link of it leads nowhere", async () => {
  const p = await open({ viewport: { width: 375, height: 700 } });
  await p.goto(base + "/docs");
  const wide = await p.evaluate(() => document.documentElement.scrollWidth);
  const dead = await p.evaluate(() => [...document.querySelectorAll("a[href^='#']")].map((a) => a.hash.slice(1)).filter((id) => !document.getElementById(id)).join());
  assert(wide === 375 && !dead, `it is ${wide} wide; links to nowhere: ${dead}`);
  await p.context().close();
});
