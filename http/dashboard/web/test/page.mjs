// Drives the page in Debian's Chromium, as a person does: one browser, one server. Each line
// that it prints is a result, {name, ok, ms, error}; {need: "restart"} asks whoever started
// it to restart the server, and is answered by a line.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { deliver, mail } from "./smtp.mjs";
import { mails as hostile } from "./hostile.mjs";

const { base, smtp, shots } = JSON.parse(process.argv[2]);
const only = process.env.PAGE_ONLY ?? "";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (o) => process.stdout.write(JSON.stringify(o) + "\n");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// A process for each sandboxed frame would take most of the time; the sandbox is the same.
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-quic", "--disable-features=IsolateSandboxedIframes"] });
const errors = []; // whatever the page complained of
let dialogs = 0;

async function open(o = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"], ...o });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && !/Failed to load resource/.test(m.text()) && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e.stack)));
  page.on("dialog", (d) => (dialogs++, d.dismiss()));
  return page;
}

const listening = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));

const assert = (ok, what) => {
  if (!ok) throw new Error(what);
};

let tests = 0;

async function test(name, act) {
  if (only && !new RegExp(only).test(name)) return;
  const began = Date.now();
  try {
    // Who signs in is counted by address: each test comes from one of its own.
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

async function until(what, act, ms = 10_000) {
  for (const end = Date.now() + ms; ; ) {
    const got = await act();
    if (got) return got;
    if (Date.now() > end) throw new Error("never: " + what);
    await new Promise((done) => setTimeout(done, 30));
  }
}

/** api calls as a program elsewhere: tries to sign in are counted by address, and those of the page are few. */
async function api(method, path, token, body) {
  const from = { "X-Forwarded-For": `10.1.2.${1 + Math.floor(Math.random() * 250)}` };
  const r = await fetch(base + path, { method, headers: token?.startsWith("svc_live_") ? { ...from, "X-API-Key": token } : token ? { ...from, Authorization: "Bearer " + token } : from, body: body && JSON.stringify(body) });
  return { status: r.status, ...(await r.json().catch(() => ({}))) };
}

const account = { email: "ada@example.test", password: "correct horse battery" };
const page = await open();
const token = () => page.evaluate(() => sessionStorage.getItem("inbox-session") ?? localStorage.getItem("inbox-session"));
const go = (place) => page.evaluate((p) => void (location.hash = p), place);
const row = (text) => page.locator(".mails .row", { hasText: text }).first();
const said = (text) => page.locator('.sayings [role="status"]', { hasText: text }).waitFor();
let bot = "", desk = "";

await test("sign up, and stay signed in over a reload", async () => {
  await page.goto(base);
  await page.getByRole("link", { name: "Open an account" }).click();
  await page.locator("h1", { hasText: "Open an account" }).waitFor();
  await page.fill("[name=email]", account.email);
  await page.fill("[name=password]", account.password);
  assert((await page.locator("input[type=password]").count()) === 1 && (await page.locator("input[type=email]").count()) === 1, "the fields have no types");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Make an inbox" }).waitFor();
  assert((await page.locator("input[type=password]").count()) === 0, "a password field is left");
  await page.reload();
  await page.getByRole("button", { name: "Make an inbox" }).waitFor();
  assert((await page.context().cookies()).length === 0, "there is a cookie");
});

await test("a refused sign-in is said in the service's words", async () => {
  const p = await open();
  await p.goto(base);
  await p.fill("[name=email]", account.email);
  await p.fill("[name=password]", "not the password");
  await p.keyboard.press("Enter");
  const sentence = await p.locator('form [role="alert"]').textContent();
  assert(sentence.length > 10 && !/session has ended/i.test(sentence), "it says " + sentence);
  await p.context().close();
});

await test("make inboxes", async () => {
  for (const prefix of ["desk", "bot"]) {
    await page.getByRole("button", { name: "New inbox" }).click();
    await page.fill("dialog [name=prefix]", prefix);
    await page.fill("dialog [name=label]", "The " + prefix);
    await page.keyboard.press("Enter");
    await page.locator(".mails h1", { hasText: "The " + prefix }).waitFor();
  }
  const { inboxes } = await api("GET", "/api/v1/inboxes", await token());
  [bot, desk] = inboxes.map((b) => b.address);
  assert(bot.startsWith("bot") && desk.startsWith("desk"), "the list is " + JSON.stringify(inboxes));
  await page.getByRole("button", { name: "New inbox" }).click();
  await page.fill("dialog [name=prefix]", "postmaster");
  await page.keyboard.press("Enter");
  await page.locator('dialog [role="alert"]').waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
});

await test("mail appears by itself, soon", async () => {
  await go("#/mail/" + bot);
  await page.locator(".light.on").waitFor();
  await page.locator(".empty .address").waitFor();
  await page.evaluate(() => {
    window.seen = new Map();
    new MutationObserver(() => {
      for (const r of document.querySelectorAll(".mails .row .subject")) if (!seen.has(r.textContent)) seen.set(r.textContent, Date.now());
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const took = [];
  for (let i = 0; i < 11; i++) {
    const subject = `Order ${i} of today`;
    const dot = await deliver(smtp, "shop@example.com", bot, mail(subject, `Thanks for order ${i}.`));
    await row(subject).waitFor();
    took.push((await page.evaluate((s) => seen.get(s), subject)) - dot);
  }
  took.sort((a, b) => a - b);
  await until("the title counts unread mail", async () => /^\(11\)/.test(await page.title()));
  assert(took[5] <= 500, `the median is ${took[5]} ms`);
  return `final dot to row: p50 ${took[5]} ms, worst ${took[10]} ms`;
});

await test("a code is copied", async () => {
  await deliver(smtp, "accounts@example.com", bot, mail("482913 is your code", "Your code is 482913\n\nhttps://accounts.example.com/verify?token=abcdef0123456789"));
  await row("482913 is your code").click();
  await page.locator("#otp", { hasText: "482913" }).waitFor();
  await page.click("#copy-otp");
  assert((await page.evaluate(() => navigator.clipboard.readText())) === "482913", "the clipboard holds something else");
  await page.evaluate(() => navigator.clipboard.writeText("x"));
  await page.getByRole("button", { name: "Copy the code 482913" }).click();
  assert((await page.evaluate(() => navigator.clipboard.readText())) === "482913", "the chip copies something else");
  const a = page.locator(".code.link a");
  assert((await a.getAttribute("rel")) === "noopener noreferrer" && (await a.getAttribute("target")) === "_blank", "the link opens this page to others");
  await until("it is marked as read", async () => (await api("GET", `/api/v1/inboxes/${bot}/latest`, await token())).email.is_read);
});

await test("by keyboard", async () => {
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "Order 10" }).waitFor();
  await page.keyboard.press("k");
  await page.locator("article h1", { hasText: "482913" }).waitFor();
  await page.keyboard.press("u");
  await until("it is unread", async () => !(await api("GET", `/api/v1/inboxes/${bot}/latest`, await token())).email.is_read);
  await page.keyboard.press("/");
  await page.keyboard.type("order 7");
  await until("the search narrows", async () => (await page.locator(".mails .row").count()) === 1);
  await page.fill("#search", "");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  for (const [key, title] of [["s", "Sent"], ["c", "Calendar"], ["w", "Webhooks"], ["k", "Keys"], ["d", "Domains"], ["a", "Account"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.locator("main h1", { hasText: title }).waitFor();
  }
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.locator(".mails h1", { hasText: "The bot" }).waitFor();
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "482913" }).waitFor();
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "Order 10" }).waitFor();
  await page.keyboard.press("#");
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await said("Deleted");
});

await test("send, survive a reload, and watch the status", async () => {
  await page.keyboard.press("c");
  await page.selectOption("#compose-from", desk);
  await page.fill("#compose-to", bot);
  await page.fill("#compose-subject", "From the desk");
  await page.fill("#compose-text", "It works.");
  await page.getByRole("button", { name: "Add Cc and Bcc" }).click();
  await page.fill("#compose-cc", "not an address");
  await page.reload();
  await page.waitForFunction(() => document.querySelector("#compose-text")?.value === "It works.");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator("#compose-cc-bad", { hasText: "Invalid request: 'cc" }).waitFor();
  await page.fill("#compose-cc", "");
  // The answer of the first try is lost after the server took the mail.
  const names = [];
  let lose = true;
  await page.route("**/send", async (r) => {
    names.push(r.request().headers()["idempotency-key"]);
    if (!lose) return r.continue();
    lose = false;
    await r.fetch();
    await r.abort();
  });
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator('form [role="alert"]', { hasText: "can't be reached" }).waitFor();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator("article h1", { hasText: "From the desk" }).waitFor();
  await page.locator(".sending .chip", { hasText: "sent" }).first().waitFor();
  await page.unroute("**/send");
  assert(names.length === 2 && names[0] && names[0] === names[1], "the repeat has another name: " + names);
  const { emails } = await api("GET", `/api/v1/inboxes/${bot}/messages?q=From+the+desk`, await token());
  assert(emails.length === 1, `it came ${emails.length} times`);
  await page.locator(".banner").waitFor({ state: "detached" });
  await go("#/sent");
  await page.locator(".row", { hasText: "From the desk" }).waitFor();
});

await test("files beyond the plan are refused before they are sent; one that fits arrives", async () => {
  await go("#/compose");
  await page.selectOption("#compose-from", desk);
  await page.evaluate(() => {
    const d = new DataTransfer(), at = document.querySelector("#compose-files");
    d.items.add(new File([new Uint8Array(11 << 20)], "big.bin"));
    at.files = d.files;
    at.dispatchEvent(new Event("change"));
  });
  await page.locator('form [role="alert"]', { hasText: "10 MB" }).waitFor();
  await page.setInputFiles("#compose-files", { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("a note") });
  await page.locator(".files .name", { hasText: "note.txt" }).waitFor();
  await page.fill("#compose-to", bot);
  await page.fill("#compose-subject", "With a file");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator("article h1", { hasText: "With a file" }).waitFor();
  await go("#/mail/" + bot);
  await row("With a file").click();
  await page.click("#tab-attachments");
  const [d] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save note.txt" }).click()]);
  assert(readFileSync(await d.path(), "utf8") === "a note", "the file differs");
});

await test("reply", async () => {
  await row("From the desk").click();
  await page.locator("article h1", { hasText: "From the desk" }).waitFor();
  await page.keyboard.press("r");
  await page.waitForFunction(() => document.querySelector("#compose-subject")?.value === "Re: From the desk");
  assert((await page.inputValue("#compose-to")) === desk && (await page.inputValue("#compose-text")).includes("> It works."), "the reply is not filled in");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator("article h1", { hasText: "Re: From the desk" }).waitFor();
  const { email } = await until("it arrives", async () => ((r) => r.email && r)(await api("GET", `/api/v1/inboxes/${desk}/latest`, await token())));
  assert(email.in_reply_to, "it stands in no conversation");
});

await test("make a key and use it; revoke it", async () => {
  await go("#/keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.fill("dialog [name=label]", "robot");
  await page.keyboard.press("Enter");
  const key = await page.locator("dialog pre").textContent();
  assert((await api("GET", `/api/v1/inboxes/${bot}/latest`, key)).status === 200, "the key does not work");
  assert((await api("DELETE", `/api/v1/inboxes/${bot}`, key)).status === 403, "the key may delete");
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.locator("td", { hasText: "robot" }).waitFor();
  assert(!(await page.content()).includes(key), "the key is still in the page");
  await page.getByRole("button", { name: "Revoke robot" }).click();
  await page.locator("dialog").getByRole("button", { name: "Revoke" }).click();
  await said("revoked");
  assert((await api("GET", `/api/v1/inboxes/${bot}/latest`, key)).status === 401, "the key still works");
});

await test("a webhook is tested, called and called once more", async () => {
  const calls = [];
  const receiver = await listening(createServer((q, r) => q.resume().on("end", () => (calls.push(q.headers), r.writeHead(200), r.end("thanks")))));
  await go("#/webhooks");
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.fill("dialog [name=url]", `http://127.0.0.1:${receiver.address().port}/hook`);
  await page.selectOption("dialog [name=event]", "message.received");
  await page.getByRole("button", { name: "Add webhook" }).click();
  assert(/^whsec_/.test(await page.locator("dialog pre").textContent()), "no secret is shown");
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.locator(".tested", { hasText: "answered 200" }).waitFor();
  await deliver(smtp, "shop@example.com", desk, mail("For the hook", "x"));
  await page.locator(".log tr", { hasText: desk }).locator(".chip", { hasText: "succeeded" }).first().waitFor();
  const before = calls.length;
  await page.locator(".log tr", { hasText: desk }).getByRole("button", { name: "Redeliver" }).first().click();
  await until("it is called once more", () => calls.length > before);
  await page.locator(".log tr", { hasText: desk }).getByRole("button", { name: "Answer" }).first().click();
  await page.locator(".log pre", { hasText: "thanks" }).waitFor();
  receiver.close();
  receiver.closeAllConnections();
});

const invitation = (uid, to, by) => `From: ${by}\nTo: ${to}\nSubject: Invitation ${uid}\nMIME-Version: 1.0\nContent-Type: text/calendar; method=REQUEST; charset=utf-8\n\nBEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//t//t\nMETHOD:REQUEST\nBEGIN:VEVENT\nUID:${uid}@example.com\nDTSTAMP:20261101T090000Z\nDTSTART:20270301T140000Z\nDTEND:20270301T150000Z\nSUMMARY:Review ${uid}\nORGANIZER:mailto:${by}\nATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:${to}\nEND:VEVENT\nEND:VCALENDAR\n`;

await test("an invitation is accepted", async () => {
  await deliver(smtp, "ben@example.com", bot, invitation("u1", bot, "ben@example.com"));
  await go("#/mail/" + bot);
  await row("Invitation u1").click();
  await page.click("#tab-calendar");
  await page.fill("#rsvp-comment", "gladly");
  await page.getByRole("button", { name: "Accept" }).click();
  await page.locator(".rsvp", { hasText: "Your answer: accepted" }).waitFor();
  await go("#/calendar/" + bot);
  await page.locator(".entry", { hasText: "Review u1" }).locator(".chip", { hasText: "accepted" }).waitFor();
});

await test("a meeting is arranged, moved and cancelled; the feed link is there", async () => {
  await page.getByRole("button", { name: "New meeting" }).first().click();
  await page.fill("dialog [name=title]", "Stand-up");
  await page.fill("dialog [name=attendees]", desk);
  await page.getByRole("button", { name: "Invite" }).click();
  await page.locator(".entry", { hasText: "Stand-up" }).click();
  await page.locator("dialog").getByRole("button", { name: "Change" }).click();
  await page.fill("dialog [name=location]", "Room 7");
  await page.locator("dialog").getByRole("button", { name: "Save and tell the guests" }).click();
  await page.locator(".entry", { hasText: "Room 7" }).click();
  await page.locator("dialog").getByRole("button", { name: "Cancel the meeting" }).click();
  await page.locator("dialog textarea").fill("Sorry");
  await page.locator("dialog").getByRole("button", { name: "Cancel the meeting" }).click();
  await page.locator(".entry", { hasText: "Stand-up" }).locator(".chip", { hasText: "cancelled" }).waitFor();
  await page.getByRole("button", { name: "Month" }).click();
  await page.locator(".month").waitFor();
  await page.getByRole("button", { name: "Agenda" }).click();
  await page.getByRole("button", { name: "Follow" }).click();
  await page.getByRole("button", { name: "Show the link" }).click();
  const feed = await page.locator("dialog pre").textContent();
  assert((await (await fetch(feed)).text()).includes("BEGIN:VCALENDAR"), "the link leads nowhere");
  await page.keyboard.press("Escape");
});

await test("records of a domain", async () => {
  await go("#/domains");
  await page.getByRole("button", { name: "Add a domain" }).first().click();
  await page.fill("dialog [name=domain]", "mail.ada.example");
  await page.keyboard.press("Enter");
  await page.locator(".domain td", { hasText: "inboxd-verification=" }).waitFor();
  await page.getByRole("button", { name: "Copy the value for ownership" }).click();
  assert((await page.evaluate(() => navigator.clipboard.readText())).startsWith("inboxd-verification="), "the value was not copied");
});

await test("first steps are filled with the reader's own address", async () => {
  await go("#/start");
  const text = await page.locator(".codebox pre").first().textContent();
  assert(text.includes(bot) && text.includes(base), text);
});

// --- what strangers send

const heard = new Set();
let connections = 0;
const canary = await listening(createServer((q, r) => (heard.add(q.url), r.writeHead(200, { "Access-Control-Allow-Origin": "*" }), r.end())).on("connection", () => connections++));
const evil = `http://127.0.0.1:${canary.address().port}`;

const tabs = ["html", "headers", "source", "attachments", "calendar", "checks", "text"];

/** walk opens each tab, and waits for the frame of a mail to be loaded. */
async function walk(tabs) {
  for (const t of tabs) {
    document.getElementById("tab-" + t).click();
    const frame = () => document.querySelector("iframe");
    for (let i = 0; i < 100 && !document.querySelector(`#tab-${t}[aria-selected="true"]`); i++) await new Promise((done) => setTimeout(done, 5));
    for (let i = 0; i < 100 && frame() && !window.framesLoaded.has(frame().src); i++) await new Promise((done) => setTimeout(done, 5));
  }
}

/** openEach steps through a list from its newest mail on, tab by tab. */
async function openEach(list) {
  // Not as a script of every frame: those of mails would refuse it, and say so in the console.
  await page.evaluate(() => {
    addEventListener("securitypolicyviolation", (e) => console.error("policy: " + e.violatedDirective + " " + e.blockedURI));
    window.framesLoaded = new Set();
    document.addEventListener("load", (e) => e.target.tagName === "IFRAME" && framesLoaded.add(e.target.src), true);
  });
  for (let i = 0; i < list.length; i++) {
    await page.keyboard.press("j");
    await page.waitForFunction((n) => document.querySelector(".mails .row[aria-current]")?.closest("li")?.getAttribute("aria-posinset") === String(n + 1) && document.querySelector("#tab-html") && !document.querySelector(".locked"), i);
    const m = list[list.length - 1 - i];
    // What differs is in the HTML; the other tabs are opened for a sample of it, and for every other kind.
    if (i % 20 === 0) for (const tab of tabs) await page.click("#tab-" + tab);
    else await page.evaluate(walk, m.html && i % 6 && !process.env.PAGE_ALL ? ["html"] : tabs);
  }
}

await test("hostile mails do nothing", async () => {
  await page.goto("about:blank");
  const t = await api("POST", "/api/auth/login", null, account);
  const { address } = await api("POST", "/api/v1/inboxes", t.session_token, { prefix: "target" });
  const list = hostile(evil, address);
  for (const m of list) await deliver(smtp, `x${m.n}@evil.example`, address, m.text);
  await page.goto(base + "/#/mail/" + address);
  await page.locator(".mails .row").first().waitFor();
  await openEach(list);
  await page.waitForTimeout(200);
  assert(list.length >= 60, `only ${list.length} mails`);
  assert(!heard.size && !connections, `the canary heard ${[...heard].join(" ")} over ${connections} connections`);
  assert((await page.context().pages()).length === 1, "another page opened");
  // The frame is what it should be, and shows what is harmless.
  await api("POST", "/api/v1/inboxes/" + address + "/burn", t.session_token);
  await deliver(smtp, "x@example.com", address, mail("Harmless", "x", "MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n").replace(/\nx\n$/, `\n<h1 style="color:#c00">Hello</h1><img src="${evil}/1"><a href="https://example.com/">link</a>\n`));
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
  assert(!heard.size && !connections, `the canary heard ${[...heard].join(" ")}`);
  return `${list.length} mails`;
});

await test("the same mails do reach the canary without policy and sandbox", async () => {
  const list = hostile(evil, "x@example.com").filter((m) => m.html);
  const bare = await listening(createServer((q, r) => {
    const i = Number(q.url.slice(2));
    r.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
    r.end(q.url === "/" ? list.map((m, i) => `<iframe src="/m${i}"></iframe>`).join("") : `<html><body>${list[i]?.html ?? ""}</body></html>`);
  }));
  const p = await browser.newPage();
  await p.goto(`http://127.0.0.1:${bare.address().port}/`, { waitUntil: "commit" });
  await until("45 of them are heard", () => heard.size >= 45).catch((e) => {
    throw new Error(`${e.message}; heard ${heard.size}`);
  });
  await p.close();
  bare.close();
  bare.closeAllConnections();
  return `${heard.size} were heard`;
});
// --- end-to-end encryption

const sent = []; // whatever the page asked for while keys were made
const secret = () => sent.some((r) => /AGE-SECRET-KEY/i.test(decodeURIComponent(r.replace(/%(?![0-9a-f]{2})/gi, "%25"))));
const keyFiles = [];

async function makeKey(button, passphrase) {
  await go("#/account");
  await page.getByRole("button", { name: button }).click();
  if (passphrase) await page.fill("#key-file-passphrase", passphrase);
  const [d] = await Promise.all([page.waitForEvent("download", { timeout: 30_000 }), page.click("#key-file-save", { timeout: 30_000 })]);
  const file = { name: d.suggestedFilename(), mimeType: "application/octet-stream", buffer: readFileSync(await d.path()) };
  // Another file is not taken for it.
  await page.setInputFiles("#confirm-key-file", { name: "x.txt", mimeType: "text/plain", buffer: Buffer.from("nothing") });
  await page.getByRole("button", { name: "Turn encryption on" }).click();
  await page.locator("#confirm-key .bad").waitFor();
  await page.setInputFiles("#confirm-key-file", file);
  if (passphrase) await page.fill("#confirm-key-passphrase", passphrase);
  await page.getByRole("button", { name: "Turn encryption on" }).click({ timeout: 30_000 }); // scrypt takes its time
  await page.locator(".sayings", { hasText: "Encryption is on" }).waitFor({ timeout: 30_000 });
  keyFiles.push(file);
}

let safe = "";

await test("encryption is set up, mail is received and opened, and again after a reload", async () => {
  page.on("request", (r) => sent.push(r.url() + " " + (r.postData() ?? "") + " " + JSON.stringify(r.headers())));
  await makeKey("Set up encryption", "");
  assert(/^# created: .*\n# public key: age1\w+\nAGE-SECRET-KEY-1[0-9A-Z]+\n$/.test(keyFiles[0].buffer.toString()), "the key file has another form");
  await page.getByRole("link", { name: "Inboxes (g i)" }).or(page.locator('nav.side a[href="#/mail"]')).first().click();
  await page.getByRole("button", { name: "New inbox" }).click();
  await page.fill("dialog [name=prefix]", "safe");
  await page.locator("dialog summary").click();
  await page.locator("dialog [name=encrypted]").check();
  await page.getByRole("button", { name: "Make inbox" }).click();
  await page.locator(".mails .who p", { hasText: "safe@" }).waitFor();
  safe = (await api("GET", "/api/v1/inboxes?prefix=safe", await token())).inboxes[0].address;
  await deliver(smtp, "ann@example.com", safe, `From: Ann <ann@example.com>\nTo: ${safe}\nSubject: Our plan\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html; charset=utf-8\n\n<h1>Nobody else reads this</h1><img src="https://tracker.example.com/x.gif">\n--b\nContent-Type: text/plain; name="plan.txt"\nContent-Disposition: attachment; filename="plan.txt"\n\nstep one\n--b\n` + invitation("e1", safe, "ann@example.com").split("\n").slice(4).join("\n").replace(/^/, "Content-Type: text/calendar; method=REQUEST\n") + "\n--b--");
  await row("Encrypted").click();
  await page.locator("article h1", { hasText: "Our plan" }).waitFor();
  await page.locator(".mails .row", { hasText: "Our plan" }).waitFor();
  await page.click("#tab-html");
  await page.frameLocator("iframe").locator("h1", { hasText: "Nobody else reads this" }).waitFor();
  await page.locator(".note", { hasText: "1 remote part was left out" }).waitFor();
  await page.click("#tab-calendar");
  await page.locator(".meeting h2", { hasText: "Review e1" }).waitFor();
  await page.click("#tab-attachments");
  const [d] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save plan.txt" }).click()]);
  assert(readFileSync(await d.path(), "utf8").trim() === "step one", "the file differs");
  await page.reload();
  await page.locator("article h1", { hasText: "Our plan" }).waitFor();
  const kept = await page.evaluate(() => new Promise((done) => {
    const r = indexedDB.open("inbox-keys");
    r.onsuccess = () => (r.result.transaction("keys").objectStore("keys").getAll().onsuccess = (e) => done(e.target.result.map((k) => [k.key instanceof CryptoKey, k.key.extractable])));
  }));
  assert(kept.length === 1 && kept[0][0] && kept[0][1] === false, "the key that is kept can be read out: " + JSON.stringify(kept));
  assert(!/AGE-SECRET/.test(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]))), "the private key is in the page");
});

await test("after a change of the key both mails open; without keys the page says what to do", async () => {
  await makeKey("Change the key", "a long passphrase");
  await deliver(smtp, "ann@example.com", safe, mail("The second plan", "Newer."));
  await go("#/mail/" + safe);
  await row("Encrypted").click();
  await page.locator("article h1", { hasText: "The second plan" }).waitFor();
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "Our plan" }).waitFor();
  assert(!secret(), "the private key is in a request");
  const public2 = (await api("GET", "/api/account", await token())).account.encryption.public_key;
  assert(sent.some((r) => r.includes(public2)), "no request was looked at");
  // Signing out forgets the keys.
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.fill("[name=email]", account.email);
  await page.fill("[name=password]", account.password);
  await page.keyboard.press("Enter");
  await page.locator(".mails .row").first().waitFor();
  await go("#/mail/" + safe);
  await row("Encrypted").click();
  await page.locator(".locked", { hasText: "Open your key file" }).waitFor();
  await page.locator(".locked").getByRole("link", { name: "Open a key file" }).click();
  await page.setInputFiles("#open-key-file", keyFiles[1]);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.locator("#open-key-passphrase-bad, #open-key .bad").first().waitFor();
  await page.setInputFiles("#open-key-file", keyFiles[0]);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.locator(".sayings", { hasText: "1 key opened" }).waitFor();
  await go("#/mail/" + safe);
  await row("Encrypted").click();
  await page.locator(".locked", { hasText: "None of the keys" }).waitFor();
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "Our plan" }).waitFor();
  assert(!secret(), "the private key is in a request");
});

await test("hostile mails do nothing when they come out of an envelope", async () => {
  heard.clear();
  const before = connections;
  await api("PUT", "/api/account/encryption", (await api("POST", "/api/auth/login", null, account)).session_token, { public_key: /age1\w+/.exec(keyFiles[0].buffer.toString())[0] }); // the key that is open here
  const all = hostile(evil, safe), list = all.filter((m, i) => !m.html || i % 4 === 0 || process.env.PAGE_ALL);
  await page.goto("about:blank");
  const t = await api("POST", "/api/auth/login", null, account);
  await api("POST", `/api/v1/inboxes/${safe}/burn`, t.session_token);
  for (const m of list) await deliver(smtp, `x${m.n}@evil.example`, safe, m.text);
  await page.goto(base + "/#/mail/" + safe);
  await page.locator(".mails .row").first().waitFor();
  await openEach(list);
  await page.waitForTimeout(200);
  assert(!heard.size && connections === before, `the canary heard ${[...heard].join(" ")}`);
  return `${list.length} mails`;
});
canary.close();
canary.closeAllConnections();

// --- for everybody

const places = () => ["#/mail/" + bot, "#/all", "#/sent", "#/compose", "#/calendar/" + bot, "#/webhooks", "#/keys", "#/domains", "#/account", "#/start"];

await test("no serious finding of axe on any view, light and dark; nothing is wider than a phone", async () => {
  const found = [];
  await page.evaluate(axe);
  const look = async (what) => {
    const rules = what.endsWith("dark") ? { type: "rule", values: ["color-contrast"] } : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
    const r = await page.evaluate((runOnly) => axe.run(document, { runOnly, resultTypes: ["violations"], iframes: false }), rules);
    for (const v of r.violations) if (v.impact === "serious" || v.impact === "critical") found.push(`${what}: ${v.id} ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary.slice(0, 200)}`);
  };
  // axe is put into the page by the debugger, which the policy of the page does not bind.
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    for (const p of places()) {
      await go(p);
      await page.locator(".loading").first().waitFor({ state: "detached" });
      await page.waitForTimeout(120);
      await look(p + " " + theme);
      if (shots) await page.screenshot({ path: `${shots}/${p.replace(/\W+/g, "")}-1280-${theme}.png` });
    }
    await go("#/mail/" + bot);
    await row("482913").click();
    await page.locator("#otp").waitFor();
    await look("reader " + theme);
    await page.keyboard.press("?");
    await look("help " + theme);
    await page.keyboard.press("Escape");
  }
  await page.setViewportSize({ width: 360, height: 720 });
  for (const p of places()) {
    await go(p);
    await page.waitForTimeout(80);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 360) found.push(`${p} is ${wide} wide`);
    if (shots) await page.screenshot({ path: `${shots}/${p.replace(/\W+/g, "")}-360-dark.png` });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
  assert(!found.length, found.join("\n"));
});

// --- the other pages: of a password reset, and the documentation

await test("a password is set where the operator's link leads, once", async () => {
  await api("POST", "/api/auth/signup", null, { email: "bea@example.test", password: account.password });
  say({ need: "reset-link bea@example.test" });
  const link = (await lines.next()).value;
  const bad = "This password reset link is not valid: it is unknown, used or older than an hour. Ask for a new one";
  const p = await open();
  const set = async (at, password) => {
    await p.goto("about:blank"); // another # alone would load nothing
    await p.goto(at);
    await p.fill("#password", password);
    await p.keyboard.press("Enter");
    return until("the page says something", () => p.locator("[role=status]").textContent());
  };
  const said = [await set(base + "/reset", "another horse"), await set(link, "another horse"), await p.locator("form").isHidden(), await set(link, "a third horse")];
  assert(said[0] === bad && said[1] === "The password is set. Every session has ended: sign in anew." && said[2] && said[3] === bad, "the page says " + said.join("; "));
  assert((await api("POST", "/api/auth/login", null, { email: "bea@example.test", password: "another horse" })).status === 200, "the password was not set");
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

// --- when something goes wrong

await test("a restart of the server is said, and is over by itself", async () => {
  await go("#/mail/" + bot);
  await page.locator(".light.on").waitFor();
  say({ need: "stop" });
  await lines.next();
  await page.locator(".light.on").waitFor({ state: "detached" });
  await page.locator(".banner").waitFor();
  say({ need: "start" });
  await lines.next();
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

await test("a revoked sign-in leads to the form and back to the same place", async () => {
  await go("#/keys");
  await page.locator("main h1", { hasText: "Keys" }).waitFor();
  await api("POST", "/api/auth/logout", await token());
  await go("#/webhooks");
  await page.locator("input[type=password]").waitFor();
  await page.fill("[name=email]", account.email);
  await page.fill("[name=password]", account.password);
  await page.keyboard.press("Enter");
  await page.locator("main h1", { hasText: "Webhooks" }).waitFor();
});

await test("another account sees nothing of the first; two tabs", async () => {
  await go("#/mail/" + bot);
  await row("After the restart").waitFor();
  const second = await page.context().newPage();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator("input[type=password]").waitFor();
  assert((await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).indexOf("svc_sess_") < 0, "the token is kept");
  await page.getByRole("link", { name: "Open an account" }).click();
  await page.locator("h1", { hasText: "Open an account" }).waitFor();
  await page.fill("[name=email]", "eve@example.test");
  await page.fill("[name=password]", account.password);
  await page.getByLabel("Stay signed in").check();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Make an inbox" }).waitFor();
  const text = await page.evaluate(() => document.documentElement.outerHTML);
  for (const trace of [bot, desk, "After the restart", account.email, "482913"]) assert(!text.includes(trace), `it shows ${trace}`);
  await second.goto(base);
  await second.getByRole("button", { name: "Make an inbox" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await second.locator("input[type=password]").waitFor();
  await second.close();
});

await browser.close();
say({ done: true });
process.exit(0);
