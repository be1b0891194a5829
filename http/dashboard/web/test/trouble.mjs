// Failures: what the page shows, and that it recovers automatically.
import { account, api, assert, base, bot, desk, go, need, open, page, ready, row, said, smtp, test, token, until } from "./driver.mjs";
import { deliver, mail } from "./smtp.mjs";

await ready();

await test("a restart of the server is said, and is over by itself", async () => {
  await go("#/mail/" + bot);
  await page.locator(".light.on").waitFor();
  await need("stop");
  await page.locator(".light.on").waitFor({ state: "detached" });
  await page.locator(".banner").waitFor();
  await need("start");
  await page.locator(".banner").waitFor({ state: "detached" });
  await page.locator(".light.on").waitFor();
  await deliver(smtp, "shop@example.com", bot, mail("After the restart", "x"));
  await row("After the restart").waitFor();
});

await test("a service that is full or busy is quoted", async () => {
  for (const status of [507, 503]) {
    await page.route("**/api/keys*", (r) => r.fulfill({ status, contentType: "application/json", body: JSON.stringify({ detail: `Sentence ${status}` }) }));
    await go("#/keys");
    await page.locator('[role="alert"]', { hasText: `Sentence ${status}` }).first().waitFor();
    await page.unroute("**/api/keys*");
    await page.locator(".banner").waitFor({ state: "detached" });
    await page.locator("main .failed, main table, main .empty h2").first().waitFor();
    await go("#/account");
  }
});

await test("a device that is offline is told so, and the page goes on by itself", async () => {
  await go("#/mail/" + bot);
  await page.locator(".light.on").waitFor();
  await page.context().setOffline(true);
  await page.locator(".banner", { hasText: "offline" }).waitFor();
  await deliver(smtp, "shop@example.com", bot, mail("While you were away", "x"));
  await page.context().setOffline(false);
  await page.locator(".banner").waitFor({ state: "detached" });
  await row("While you were away").waitFor();
  await page.locator(".light.on").waitFor();
});

/** another opens a new tab with the session of the page. */
async function another(o) {
  const t = await token(), p = await open(o);
  await p.goto(base + "/docs");
  await p.evaluate((t) => sessionStorage.setItem("inbox-session", t), t);
  return p;
}

await test("where streams break mail still appears, by long polls", async () => {
  const p = await another(), asked = [];
  await p.route("**/api/v1/events*", (r) => {
    const stream = r.request().headers().accept === "text/event-stream";
    asked.push(stream ? "stream" : r.request().url());
    return stream ? r.fulfill({ status: 200, contentType: "text/event-stream", body: "" }) : r.continue();
  });
  await p.goto(base + "/#/mail/" + bot);
  await until("it polls", () => asked.some((a) => a.includes("wait=25")), 20_000);
  await deliver(smtp, "shop@example.com", bot, mail("By a long poll", "x"));
  await p.locator(".mails .row", { hasText: "By a long poll" }).waitFor();
  assert(asked.filter((a) => a === "stream").length === 3, "it tried " + asked.join(" "));
  await p.context().close();
});

await test("five minutes out of sight end the stream, and a look catches up", async () => {
  const p = await another(), streams = [];
  const see = (hidden) => p.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  p.on("request", (r) => r.url().includes("/api/v1/events") && streams.push(r));
  p.on("requestfailed", (r) => streams.includes(r) && (r.over = true));
  await p.clock.install();
  await p.goto(base + "/#/mail/" + bot);
  await p.locator(".light.on").waitFor();
  await p.locator(".mails .who p", { hasText: bot }).waitFor();
  await see(true);
  await p.clock.fastForward("04:30");
  await until("it listens until five minutes are over", async () => streams.length && !streams.at(-1).over && (await p.locator(".light.on").count()));
  await p.clock.fastForward("00:40");
  await until("the stream ends", () => streams.at(-1).over);
  const before = streams.length;
  await deliver(smtp, "shop@example.com", bot, mail("Nobody was looking", "x"));
  await p.clock.runFor(30_000);
  assert(streams.length === before && !(await p.locator(".mails .row", { hasText: "Nobody was looking" }).count()), "it listens although nobody looks");
  await see(false);
  await p.locator(".mails .row", { hasText: "Nobody was looking" }).waitFor();
  assert(streams.at(-1).headers()["last-event-id"], "it does not say where it stopped");
  await p.context().close();
});

await test("a revoked sign-in leads to the form and back to the same place, with what was being written", async () => {
  await go("#/compose");
  await page.fill("#compose-subject", "Half a thought");
  await api("POST", "/api/auth/logout", await token());
  await go("#/webhooks");
  await said("The sign-in has ended");
  await page.fill("[name=email]", account.email);
  await page.fill("[name=password]", account.password);
  await page.keyboard.press("Enter");
  await page.locator("main h1", { hasText: "Webhooks" }).waitFor();
  await go("#/compose");
  await page.waitForFunction(() => document.querySelector("#compose-subject")?.value === "Half a thought");
});

await test("a sign-in that ended is explained in every view, and each is come back to", async () => {
  const p = await open(), email = "leaves@example.test"; // sign-ins are rate limited per account
  let { session_token: t } = await api("POST", "/api/auth/signup", null, { email, password: account.password });
  const { address } = await api("POST", "/api/v1/inboxes", t, { prefix: "leaves" });
  await p.goto(base + "/docs");
  await p.evaluate((t) => sessionStorage.setItem("inbox-session", t), t);
  await p.addInitScript(() => {
    window.said = [];
    new MutationObserver(() => ((text) => text && text !== said.at(-1) && said.push(text))(document.querySelector('.sayings [role="status"]')?.textContent)).observe(document, { subtree: true, childList: true, characterData: true });
  });
  for (const view of ["mail/" + address, "all", "sent", "compose", "calendar/" + address, "webhooks", "keys", "domains", "account"]) {
    await p.goto("about:blank"); // otherwise the open page would notice the end before the view does
    await api("POST", "/api/auth/logout", t);
    await p.goto(base + "/#/" + view, { waitUntil: "networkidle" }); // several calls are refused at the same time
    const sentences = await until("something is said at " + view, () => p.evaluate(() => said.length > 0 && said));
    assert(sentences.length === 1 && /^The sign-in has ended/.test(sentences[0]), `at ${view} it says “${sentences}”`);
    await p.fill("[name=email]", email);
    await p.fill("[name=password]", account.password);
    await p.keyboard.press("Enter");
    await until("it is back at " + view, async () => (await p.locator(".side").count()) && (await p.evaluate(() => location.hash)) === "#/" + view);
    t = await p.evaluate(() => sessionStorage.getItem("inbox-session"));
  }
  await p.context().close();
});

const kept = (p) => p.evaluate(() => new Promise((done) => {
  const r = indexedDB.open("inbox-keys", 1);
  r.onupgradeneeded = () => r.result.createObjectStore("keys", { keyPath: ["account", "recipient"] });
  r.onsuccess = () => (r.result.transaction("keys").objectStore("keys").getAll().onsuccess = (e) => (r.result.close(), done(e.target.result.map((k) => k.account))));
}));

/** heap returns all text that the page's scripts still reference. */
async function heap(p) {
  const cdp = await p.context().newCDPSession(p), parts = [];
  cdp.on("HeapProfiler.addHeapSnapshotChunk", (e) => parts.push(e.chunk));
  for (let i = 0; i < 3; i++) await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  await cdp.detach();
  return parts.join("");
}

async function signUp(p, email) {
  await p.getByRole("link", { name: "Open an account" }).click();
  await p.locator("h1", { hasText: "Open an account" }).waitFor();
  await p.fill("[name=email]", email);
  await p.fill("[name=password]", account.password);
  await p.getByLabel("Stay signed in").check();
  await p.keyboard.press("Enter");
  await p.getByRole("button", { name: "Make an inbox" }).waitFor();
}

/** nothingOf fails if it finds a trace of the first account. */
async function nothingOf(p, traces) {
  const places = {
    page: await p.evaluate(() => document.documentElement.outerHTML), storage: await p.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage })), memory: await heap(p),
  };
  for (const [where, text] of Object.entries(places)) for (const t of traces) assert(!text.includes(t), `${t} is still in the ${where}: ${text.slice(text.indexOf(t) - 60, text.indexOf(t) + 90)}`);
}

await test("a mail appears in both of two tabs", async () => {
  const second = await another();
  await second.goto(base + "/#/mail/" + bot);
  await go("#/mail/" + bot);
  for (const p of [page, second]) await p.locator(".light.on").waitFor();
  await deliver(smtp, "shop@example.com", bot, mail("For both tabs", "x"));
  for (const p of [page, second]) await p.locator(".mails .row", { hasText: "For both tabs" }).waitFor();
  await second.context().close();
});

await test("another account finds nothing of the first, whether that was signed out or its sign-in ended", async () => {
  const traces = [bot, desk, "For both tabs", "Half a thought", account.email, "482913"];
  await page.evaluate(() => localStorage.removeItem("inbox-keys-stay"));
  for (const [i, leave] of [() => page.getByRole("button", { name: "Sign out" }).click(), async () => (await api("POST", "/api/auth/logout", await token()), go("#/webhooks"))].entries()) {
    if (!(await token())) {
      await page.fill("[name=email]", account.email);
      await page.fill("[name=password]", account.password);
      await page.keyboard.press("Enter");
      await page.locator(".side").waitFor();
    }
    await go("#/mail/" + bot);
    await row("For both tabs").click();
    await page.locator("article h1", { hasText: "For both tabs" }).waitFor();
    await page.evaluate((id) => new Promise((done) => {
      const r = indexedDB.open("inbox-keys", 1);
      r.onupgradeneeded = () => r.result.createObjectStore("keys", { keyPath: ["account", "recipient"] });
      r.onsuccess = () => (r.result.transaction("keys", "readwrite").objectStore("keys").put({ account: id, recipient: "age1x", key: "x", added: "" }).onsuccess = () => (r.result.close(), done()));
    }), (await api("GET", "/api/account", await token())).account.id);
    await go("#/compose");
    await page.fill("#compose-subject", "Half a thought");
    await leave();
    await page.locator("input[type=password]").waitFor();
    await signUp(page, `eve${i}@example.test`);
    assert((await kept(page)).length === 0, "keys are kept");
    await nothingOf(page, traces);
    const second = await page.context().newPage();
    await second.goto(base);
    await second.getByRole("button", { name: "Make an inbox" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await second.locator("input[type=password]").waitFor();
    await second.close();
  }
});
