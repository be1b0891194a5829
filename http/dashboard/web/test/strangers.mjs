// Hostile messages that try to do something, plain and encrypted.
import { createServer } from "node:http";
import { account, all, api, assert, base, browser, listening, page, ready, row, smtp, test, until } from "./driver.mjs";
import { mails as hostile } from "./hostile.mjs";
import { keyFiles, safe } from "./sealed.mjs";
import { deliver, mail } from "./smtp.mjs";

await ready();

/** canary is a server that records all requests: nothing may call it. */
async function canary() {
  const c = { heard: new Set(), connections: 0 };
  const server = await listening(createServer((q, r) => (c.heard.add(q.url), r.writeHead(200, { "Access-Control-Allow-Origin": "*" }), r.end())).on("connection", () => c.connections++));
  c.url = `http://127.0.0.1:${server.address().port}`;
  c.silent = () => assert(!c.heard.size && !c.connections, `the canary heard ${[...c.heard].join(" ")} over ${c.connections} connections`);
  c.end = () => (server.close(), server.closeAllConnections());
  return c;
}

const evil = await canary();

const inOrder = ["text", "html", "headers", "source", "attachments", "calendar", "checks"];
const tabs = ["html", "headers", "source", "attachments", "calendar", "checks", "text"];

/** walk opens each tab, and waits until the frame of a message is loaded. */
async function walk(tabs) {
  for (const t of tabs) {
    document.getElementById("tab-" + t).click();
    const frame = () => document.querySelector("iframe");
    for (let i = 0; i < 100 && !document.querySelector(`#tab-${t}[aria-selected="true"]`); i++) await new Promise((done) => setTimeout(done, 5));
    for (let i = 0; i < 100 && frame() && !window.framesLoaded.has(frame().src); i++) await new Promise((done) => setTimeout(done, 5));
  }
}

/** openEach opens the messages of a list from the newest on, with their tabs. */
async function openEach(list) {
  // Not as an init script of every frame: the frames of messages would refuse it and log an error.
  await page.evaluate(() => {
    addEventListener("securitypolicyviolation", (e) => console.error("policy: " + e.violatedDirective + " " + e.blockedURI));
    window.framesLoaded = new Set();
    document.addEventListener("load", (e) => e.target.tagName === "IFRAME" && framesLoaded.add(e.target.src), true);
  });
  for (let i = 0; i < list.length; i++) {
    await page.keyboard.press("j");
    await page.waitForFunction((n) => document.querySelector(".mails .row[aria-current]")?.closest("li")?.getAttribute("aria-posinset") === String(n + 1) && document.querySelector("#tab-html") && !document.querySelector(".locked"), i);
    const m = list[list.length - 1 - i];
    // The messages differ only in their HTML. The other tabs are opened for a sample, and for every
    // other kind.
    if (i % 20 === 0 || all) {
      for (const tab of tabs) await page.click("#tab-" + tab);
      await page.focus(".tab");
      for (const tab of inOrder) {
        await page.keyboard.press("Enter");
        await page.waitForSelector(`#tab-${tab}[aria-selected="true"]:focus`);
        await page.keyboard.press("ArrowRight");
      }
    }
    if (i % 20) await page.evaluate(walk, m.html && i % 6 && !all ? ["html"] : tabs);
  }
}

await test("hostile mails do nothing", async () => {
  await page.goto("about:blank");
  const t = await api("POST", "/api/auth/login", null, account);
  const { address } = await api("POST", "/api/v1/inboxes", t.session_token, { prefix: "target" });
  const list = hostile(evil.url, address).filter((m, i) => !m.html || i % 3 === 0 || all); // policy and sandbox are the same for each
  for (const m of list) await deliver(smtp, `x${m.n}@evil.example`, address, m.text);
  await page.goto(base + "/#/mail/" + address);
  await page.locator(".mails .row").first().waitFor();
  await openEach(list);
  await page.waitForTimeout(200);
  assert(list.length >= (all ? 60 : 25), `only ${list.length} mails`);
  evil.silent();
  assert((await page.context().pages()).length === 1, "another page opened");
  // The frame has its sandbox, and shows harmless content.
  await api("POST", "/api/v1/inboxes/" + address + "/burn", t.session_token);
  await deliver(smtp, "x@example.com", address, mail("Harmless", "x", "MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n").replace(/\nx\n$/, `\n<h1 style="color:#c00">Hello</h1><img src="${evil.url}/1"><a href="https://example.com/">link</a>\n`));
  await page.goto("about:blank");
  await page.goto(base + "/#/mail/" + address);
  await row("Harmless").click();
  await page.click("#tab-html");
  const frame = page.locator("iframe");
  assert((await frame.getAttribute("sandbox")) === "allow-popups allow-popups-to-escape-sandbox", "the sandbox is another");
  const inside = page.frameLocator("iframe");
  await inside.locator("h1", { hasText: "Hello" }).waitFor();
  assert((await inside.locator("h1").evaluate((e) => getComputedStyle(e).color)) === "rgb(204, 0, 0)", "inline styles are lost");
  assert((await inside.locator("a").getAttribute("rel")) === "noopener noreferrer", "links open this page to others");
  await page.locator(".note", { hasText: "1 remote part was left out" }).waitFor();
  evil.silent();
  return `${list.length} mails`;
});

await test("the same mails do reach the canary without policy and sandbox", async () => {
  const reached = await canary(), list = hostile(reached.url, "x@example.com").filter((m) => m.html); // a separate canary: some requests arrive late
  const bare = await listening(createServer((q, r) => {
    const i = Number(q.url.slice(2));
    r.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
    r.end(q.url === "/" ? list.map((m, i) => `<iframe src="/m${i}"></iframe>`).join("") : `<html><body>${list[i]?.html ?? ""}</body></html>`);
  }));
  const p = await browser.newPage();
  await p.goto(`http://127.0.0.1:${bare.address().port}/`, { waitUntil: "commit" });
  await until("45 of them are heard", () => reached.heard.size >= 45).catch((e) => {
    throw new Error(`${e.message}; heard ${reached.heard.size}`);
  });
  await p.close();
  bare.close();
  bare.closeAllConnections();
  reached.end();
  return `${reached.heard.size} were heard`;
});

await test("hostile mails do nothing when they come out of an envelope", async () => {
  await api("PUT", "/api/account/encryption", (await api("POST", "/api/auth/login", null, account)).session_token, { public_key: /age1\w+/.exec(keyFiles[0].buffer.toString())[0], password: account.password }); // the key that is open here
  const list = hostile(evil.url, safe).filter((m, i) => !m.html || i % 8 === 1 || all);
  await page.goto("about:blank");
  const t = await api("POST", "/api/auth/login", null, account);
  await api("POST", `/api/v1/inboxes/${safe}/burn`, t.session_token);
  for (const m of list) await deliver(smtp, `x${m.n}@evil.example`, safe, m.text);
  await page.goto(base + "/#/mail/" + safe);
  await page.locator(".mails .row").first().waitFor();
  await openEach(list);
  await page.waitForTimeout(200);
  evil.silent();
  return `${list.length} mails`;
});

evil.end();
