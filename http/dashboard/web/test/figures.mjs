// Measures the page in the browser against the real server, and prints each figure next to its
// bound. Run it on a quiet machine.
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { api, assert, base, bot, browser, end, go, noteRows, open, page, ready, smtp, test, token, until } from "./driver.mjs";
import { deliver, deliverAll, mail } from "./smtp.mjs";

const mails = Number(process.env.PAGE_MAILS ?? 10_000), inboxes = Number(process.env.PAGE_INBOXES ?? 100_000);

/** fresh opens a place in a new signed-in tab, and measures when the first matching element was rendered. */
async function fresh(place, what) {
  const t = await token(), p = await open();
  await p.goto(base + "/docs");
  await p.evaluate((t) => sessionStorage.setItem("inbox-session", t), t);
  await p.addInitScript((what) => {
    window.tasks = [];
    new PerformanceObserver((l) => tasks.push(...l.getEntries().map((e) => ({ at: e.startTime, ms: Math.round(e.duration) })))).observe({ type: "longtask", buffered: true });
    new MutationObserver((_, o) => {
      if (!document.querySelector(what)) return;
      o.disconnect();
      requestAnimationFrame(() => setTimeout(() => (window.drawn = Math.round(performance.now()))));
    }).observe(document, { subtree: true, childList: true });
  }, what);
  await p.goto(base + "/" + place);
  await p.waitForFunction(() => window.drawn);
  return p;
}

/**
 * processor measures the processor time of the page's main thread while `act` runs: the total, and
 * the longest tasks, in milliseconds. Other load of the machine does not count.
 */
async function processor(p, act) {
  await browser.startTracing(p, { categories: ["toplevel"] });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const main = new Set(traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => e.pid + " " + e.tid));
  const tasks = traceEvents.filter((e) => /RunTask$/.test(e.name) && e.tdur && main.has(e.pid + " " + e.tid)).map((e) => e.tdur / 1000).sort((a, b) => b - a);
  assert(tasks.length > 20, `only ${tasks.length} tasks are in the trace`);
  return { all: Math.round(tasks.reduce((a, b) => a + b, 0)), longest: tasks.slice(0, 3).map((t) => Math.round(t)).join(", ") };
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];

/** firstRows is the median of five visits, in milliseconds from the start of the navigation. */
async function firstRows(place, what) {
  const took = [];
  for (let i = 0; i < 5; i++) {
    const p = await fresh(place, what);
    took.push(await p.evaluate(() => drawn));
    await p.context().close();
  }
  const p = await fresh(place, what), used = await processor(p, async () => {
    await p.reload();
    await p.waitForFunction(() => window.drawn);
  });
  await p.context().close();
  return `first rows after ${median(took)} ms of ${took.join(", ")} (bound 500; ${used.all} ms of the processor)`;
}

/** scrolled scrolls a list to its end with the wheel, and reports the longest task. */
async function scrolled(place, what, list, all) {
  const p = await fresh(place, what), at = await p.locator(`[data-list="${list}"]`).boundingBox();
  await p.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
  const from = await p.evaluate(() => performance.now()), began = Date.now();
  let last = 0;
  const turn = async () => {
    for (let i = 0; i < 10; i++) await p.mouse.wheel(0, 4000);
    last = await p.evaluate((list) => Math.max(...[...document.querySelectorAll(`[data-list="${CSS.escape(list)}"] li`)].map((e) => Number(e.getAttribute("aria-posinset")))), list);
    assert(Date.now() - began < 300_000, `only ${last} rows in five minutes`);
  };
  const used = await processor(p, async () => {
    while (last < all / 5) await turn();
  });
  while (last < all) await turn();
  const tasks = (await p.evaluate(() => tasks)).filter((t) => t.at > from).map((t) => t.ms).sort((a, b) => b - a);
  const rows = await p.locator(`[data-list="${list}"] li`).count();
  const note = `${all} rows scrolled in ${Math.round((Date.now() - began) / 1000)} s, ${rows} in the page at the end; longest tasks ${tasks.slice(0, 5).join(", ") || "under 50"} ms (bound 100; ${used.longest} ms of the processor)`;
  await p.context().close();
  return note;
}

await ready();

await test("final dot to row", async () => {
  await go("#/mail/" + bot);
  await page.locator(".light.on").waitFor();
  await noteRows();
  const took = [];
  for (let i = 0; i < 51; i++) {
    const dot = await deliver(smtp, "shop@example.com", bot, mail(`Order ${i} of today`, "Thanks."));
    took.push((await until("it is there", () => page.evaluate((s) => seen.get(s), `Order ${i} of today`))) - dot);
  }
  return `p50 ${median(took)} ms, worst ${Math.max(...took)} ms (bound 150)`;
});

await test("an envelope of 10 MB", async () => {
  const identity = await generateX25519Identity(), t = await token();
  await api("PUT", "/api/account/encryption", t, { public_key: await identityToRecipient(identity) });
  const { address } = await api("POST", "/api/inboxes", t, { prefix: "large", encrypted: true });
  await page.reload();
  await go("#/account");
  await page.setInputFiles("#open-key-file", { name: "key.txt", mimeType: "text/plain", buffer: Buffer.from(identity + "\n") });
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.locator(".sayings", { hasText: "1 key opened" }).waitFor();
  const part = (n) => `--b\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename="part${n}.bin"\nContent-Transfer-Encoding: base64\n\n${Buffer.alloc(3_650_000, `${n}-bytes`).toString("base64").replace(/.{76}/g, "$&\n")}\n`;
  const text = (n) => `From: Ann <ann@example.com>\nTo: ${address}\nSubject: Large ${n}\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nTwo files.\n${part(1)}${part(2)}--b--`;
  await go("#/mail/" + address);
  await page.evaluate(() => {
    window.tasks = [];
    new PerformanceObserver((l) => tasks.push(...l.getEntries().map((e) => Math.round(e.duration)))).observe({ type: "longtask" });
  });
  const took = [];
  for (let n = 0; n < 5; n++) {
    await deliver(smtp, "ann@example.com", address, text(n));
    const r = page.locator(".mails .row").nth(0);
    await until("it is in the list", async () => (await page.locator(".mails .row").count()) === n + 1);
    took.push(await page.evaluate((n) => new Promise((done) => {
      const began = performance.now();
      new MutationObserver((_, o) => document.querySelector("article h1")?.textContent === "Large " + n && (o.disconnect(), requestAnimationFrame(() => done(Math.round(performance.now() - began))))).observe(document.body, { subtree: true, childList: true, characterData: true });
      document.querySelector(".mails .row").click();
    }), n));
    await r.waitFor();
  }
  const size = (await api("GET", `/api/v1/inboxes/${address}/latest`, t)).email.size_bytes;
  return `of ${size} bytes opened after ${median(took)} ms of ${took.join(", ")} (bound 3000); longest tasks ${(await page.evaluate(() => tasks)).sort((a, b) => b - a).slice(0, 5).join(", ") || "under 50"} ms (bound 100)`;
});

await test(`a list of ${mails} mails`, async () => {
  const { address } = await api("POST", "/api/v1/inboxes", await token(), { prefix: "crowd" });
  await deliverAll(smtp, "shop@example.com", address, mails, (i) => mail(`Order ${i}`, `Thanks for order ${i}. Your code is ${100000 + i}.`));
  const place = "#/mail/" + address;
  return `${await firstRows(place, ".mails .row")}; ${await scrolled(place, ".mails .row", "mail " + address, mails)}`;
});

await test(`${inboxes} inboxes`, async () => {
  const t = await token(), have = 4;
  for (let i = have; i < inboxes; i += 1000) {
    const r = await api("POST", "/api/v1/inboxes/batch", t, { inboxes: Array.from({ length: Math.min(1000, inboxes - i) }, (_, k) => ({ prefix: `agent-${i + k}`, label: `Agent ${i + k}` })) });
    assert(r.results?.every((x) => x.status === 201), JSON.stringify(r).slice(0, 300));
  }
  return `${await firstRows("#/mail/" + bot, ".boxes .row:not(.all)")}; ${await scrolled("#/mail/" + bot, ".boxes .row:not(.all)", "boxes", Math.min(inboxes, 10_000))}`;
});

await end();
