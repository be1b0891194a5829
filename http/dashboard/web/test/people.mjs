// Everyday use: sign up, read, copy a code, send, reply, and the remaining views.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { account, api, assert, base, bot, desk, go, known, listening, need, noteRows, open, page, ready, row, said, smtp, test, token, until } from "./driver.mjs";
import { deliver, invitation, mail } from "./smtp.mjs";

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

/**
 * lose drops the first response to a call after the server processed it. It returns the idempotency
 * keys of all attempts, as they are made.
 */
async function lose(call) {
  const names = [];
  await page.route(call, async (r) => {
    if (names.push(r.request().headers()["idempotency-key"]) > 1) return r.continue();
    await r.fetch();
    await r.abort();
  });
  return names;
}

const alike = (names) => assert(names.length === 2 && names[0] && names[0] === names[1], "the repeat has another name: " + names);

await test("make inboxes", async () => {
  const names = await lose("**/api/inboxes");
  for (const prefix of ["desk", "bot"]) {
    await page.getByRole("button", { name: prefix === "desk" ? "Make an inbox" : "New inbox" }).click();
    await page.fill("dialog [name=prefix]", prefix);
    await page.fill("dialog [name=label]", "The " + prefix);
    await page.keyboard.press("Enter");
    if (prefix === "desk") {
      await page.locator('dialog [role="alert"]', { hasText: "can't be reached" }).waitFor();
      await page.getByRole("button", { name: "Make inbox" }).click();
    }
    await page.locator(".mails h1", { hasText: "The " + prefix }).waitFor();
    if (prefix === "desk") alike(names);
  }
  await page.unroute("**/api/inboxes");
  const inboxes = await known();
  assert(bot.startsWith("bot") && desk.startsWith("desk"), "the list is " + JSON.stringify(inboxes));
  await page.getByRole("button", { name: "New inbox" }).click();
  await page.fill("dialog [name=prefix]", "postmaster");
  await page.keyboard.press("Enter");
  await page.locator('dialog [role="alert"]').waitFor();
  await page.fill("dialog [name=prefix]", "post");
  await page.locator("dialog summary").click();
  assert(!(await page.locator("dialog [name=subdomain]").count()), "a namespace is asked for though none is chosen");
  await page.selectOption("dialog [name=where]", "sub");
  await page.fill("dialog [name=subdomain]", "no_good!");
  await page.getByRole("button", { name: "Make inbox" }).click();
  await page.locator('dialog [role="alert"]', { hasText: "'subdomain'" }).waitFor();
  assert((await page.locator('dialog [role="alert"]').count()) === 1, "what was refused is said twice");
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
});

await ready();

await test("what the plan left out of an inbox is said before it opens", async () => {
  await need(`admin account set-plan ${account.email} free`);
  await page.getByRole("button", { name: "New inbox" }).click();
  await page.fill("dialog [name=prefix]", "small");
  await page.fill("dialog [name=label]", "A label of mine");
  await page.locator("dialog summary").click();
  await page.fill("dialog [name=retention_hours]", "5000");
  await page.getByRole("button", { name: "Make inbox" }).click();
  await page.locator("dialog li", { hasText: "label" }).waitFor();
  await page.locator("dialog li", { hasText: "messages are kept for 3 days" }).waitFor();
  await page.locator("dialog p", { hasText: "Free plan" }).waitFor();
  await page.getByRole("button", { name: "Open the inbox" }).click();
  await page.locator(".mails .who p", { hasText: "small@" }).waitFor();
  for (const [q, found] of [["nothing of that name", ""], ["smal", "small@"], ["the d", "desk@"], ["bot@", "bot@"], ["the", "bot@desk@"]]) {
    await page.fill("#search-boxes", q);
    // The label of small@ is generated, and it may contain "the" (Northern).
    await until(`“${q}” finds ${found}`, async () => (await page.locator('[data-list="boxes"] .address').allTextContents()).map((a) => a.replace(/@.*/, "@")).filter((a) => a !== "small@" || found === a).sort().join("") === found);
  }
  await page.fill("#search-boxes", "");
  await need(`admin account set-plan ${account.email} paid`);
  await page.getByRole("button", { name: "Settings of this inbox" }).click();
  await page.selectOption("dialog [name=expires]", "30");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByRole("button", { name: "I have saved it" }).click();
  const { keys } = await api("GET", "/api/keys", await token()), days = (Date.parse(keys[0]?.expires_at) - Date.now()) / 86_400_000;
  assert(days > 29 && days < 31, "the key works until " + keys[0]?.expires_at);
  await page.getByRole("button", { name: "Settings of this inbox" }).click();
  await page.getByRole("button", { name: "Delete the inbox" }).click();
  await page.locator("dialog").getByRole("button", { name: "Delete inbox" }).click();
  await said("is deleted");
});

await test("mail appears by itself, soon", async () => {
  await go("#/mail/" + bot);
  await page.locator(".light.on").waitFor();
  await page.locator(".empty .address").waitFor();
  await noteRows();
  const took = [];
  for (let i = 0; i < 11; i++) {
    const subject = `Order ${i} of today`;
    const dot = await deliver(smtp, "shop@example.com", bot, mail(subject, `Thanks for order ${i}.`));
    await row(subject).waitFor();
    took.push((await page.evaluate((s) => seen.get(s), subject)) - dot);
  }
  took.sort((a, b) => a - b);
  await until("the title counts unread mail", async () => /^\(11\)/.test(await page.title()));
  await page.locator('.sayings [aria-live="polite"]', { hasText: "New message from shop@example.com: Order 10 of today" }).waitFor({ state: "attached" });
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
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  for (const [key, title] of [["s", "Sent"], ["c", "Calendar"], ["w", "Webhooks"], ["k", "Keys"], ["d", "Domains"], ["a", "Account"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.locator("main h1", { hasText: title }).waitFor();
  }
  for (const [addr, title] of [[desk, "The desk"], [bot, "The bot"]]) {
    await go("#/mail/" + addr);
    await page.locator(".mails h1", { hasText: title }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await until("its calendar is shown", async () => (await page.evaluate(() => location.hash)) === "#/calendar/" + addr);
    await page.keyboard.press("g");
    await page.keyboard.press("i");
    await page.locator(".mails h1", { hasText: title }).waitFor();
  }
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "482913" }).waitFor();
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "Order 10" }).waitFor();
  await page.keyboard.press("#");
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await said("Deleted");
});

await test("send, survive a reload, and watch the status", async () => {
  for (const from of [desk, bot]) {
    await go("#/mail/" + from);
    await page.locator(".mails .who p", { hasText: from }).waitFor();
    await page.keyboard.press("c");
    await until("the inbox that was open is the sender", async () => (await page.inputValue("#compose-from")) === from);
    await page.locator("#compose-to:focus").waitFor();
  }
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
  const names = await lose("**/send");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator('form [role="alert"]', { hasText: "can't be reached" }).waitFor();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator("article h1", { hasText: "From the desk" }).waitFor();
  await page.locator(".sending .chip", { hasText: "sent" }).first().waitFor();
  await page.unroute("**/send");
  alike(names);
  const { emails } = await api("GET", `/api/v1/inboxes/${bot}/messages?q=From+the+desk`, await token());
  assert(emails.length === 1, `it came ${emails.length} times`);
  await page.locator(".banner").waitFor({ state: "detached" });
  await go("#/sent");
  await page.locator(".row", { hasText: "From the desk" }).waitFor();
});

await test("files beyond the plan are refused before they are sent; one that fits survives a reload and arrives", async () => {
  const refused = page.locator('form [role="alert"]'), note = page.locator(".files .name", { hasText: "note.txt" });
  const big = (mb) => page.evaluate((mb) => {
    const d = new DataTransfer(), at = document.querySelector("#compose-files");
    d.items.add(new File([new Uint8Array(mb << 20)], "big.bin"));
    at.files = d.files;
    at.dispatchEvent(new Event("change"));
  }, mb);
  const attach = async () => {
    await page.setInputFiles("#compose-files", { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("a note") });
    await note.waitFor();
  };
  await go("#/compose");
  await page.selectOption("#compose-from", desk);
  await big(11);
  await refused.filter({ hasText: "10 MB" }).waitFor();
  await attach();
  await page.fill("#compose-to", bot);
  await page.reload();
  await note.waitFor();
  await big(9); // more than a browser stores for a tab
  await page.locator(".files .name", { hasText: "big.bin" }).waitFor();
  await page.reload();
  await refused.filter({ hasText: "Choose again, the reload lost files that were too large to store: note.txt, big.bin" }).waitFor();
  await attach();
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
  await page.locator("#compose-text:focus").waitFor();
  assert((await page.inputValue("#compose-to")) === desk && (await page.inputValue("#compose-text")).includes("> It works."), "the reply is not filled in");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator("article h1", { hasText: "Re: From the desk" }).waitFor();
  const { email } = await until("it arrives", async () => ((r) => r.email && r)(await api("GET", `/api/v1/inboxes/${desk}/latest`, await token())));
  assert(email.in_reply_to, "it stands in no conversation");
});

await test("an address that mail came back from is suppressed, and allowed again", async () => {
  for (const to of ["bob@far.test", "carol@far.test"]) {
    const { message_id: id } = await api("POST", `/api/v1/inboxes/${desk}/send`, await token(), { to, subject: "To " + to, body: "x" });
    await go(`#/mail/${desk}/${id}`);
    await page.locator(".sending .chip", { hasText: "sent" }).first().waitFor();
    await deliver(smtp, "", await need("return path"), `From: mailer-daemon@far.test\nSubject: failed\nMIME-Version: 1.0\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\nContent-Type: text/plain\n\nIt failed.\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.far.test\n\nFinal-Recipient: rfc822; ${to}\nAction: failed\nStatus: 5.1.1\n\n--b--`);
    await page.locator(".recipients .chip", { hasText: "bounced" }).waitFor();
  }
  await go("#/compose");
  await page.selectOption("#compose-from", desk);
  await page.fill("#compose-to", "bob@far.test");
  await page.fill("#compose-text", "Once more");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator('form [role="alert"]', { hasText: "Mail to bob@far.test bounced before" }).waitFor();
  await go("#/sent");
  await page.locator(".row", { hasText: "To carol@far.test" }).first().locator(".chip", { hasText: "bounced" }).waitFor();
  await page.getByRole("button", { name: "Suppressed (2)" }).click();
  await page.getByRole("button", { name: "Allow again: bob@far.test" }).click();
  await page.locator("dialog").getByRole("button", { name: "Allow again" }).click();
  await page.getByRole("button", { name: "Suppressed (1)" }).waitFor();
  await page.getByRole("button", { name: "Mail", exact: true }).click();
  await go("#/compose");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator(".sending .chip", { hasText: "sent" }).first().waitFor();
  await need("return path");
});

await test("make a key and use it; revoke it", async () => {
  await go("#/keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.fill("dialog [name=label]", "robot");
  await page.keyboard.press("Enter");
  const key = await page.locator("dialog pre").textContent();
  assert((await api("GET", `/api/v1/inboxes/${bot}/latest`, key)).status === 200, "the key does not work");
  assert((await api("DELETE", `/api/v1/inboxes/${bot}`, key)).status === 403, "the key may delete");
  await page.getByRole("button", { name: "I have saved it" }).click();
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
  await page.getByRole("button", { name: "I have saved it" }).click();
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.locator(".tested", { hasText: "status 200" }).waitFor();
  await deliver(smtp, "shop@example.com", desk, mail("For the hook", "x"));
  await page.locator(".log tr", { hasText: desk }).locator(".chip", { hasText: "succeeded" }).first().waitFor();
  const before = calls.length;
  await page.locator(".log tr", { hasText: desk }).getByRole("button", { name: "Redeliver" }).first().click();
  await until("it is called once more", () => calls.length > before);
  await page.locator(".log tr", { hasText: desk }).getByRole("button", { name: "Details" }).first().click();
  await page.locator(".log pre", { hasText: "thanks" }).waitFor();
  await page.locator(".cardrow", { hasText: "status 200" }).locator("p", { hasText: "Last called" }).waitFor();
  await page.selectOption("#hook-state", "failed");
  await page.locator("main p", { hasText: "None of the newest" }).waitFor();
  await page.selectOption("#hook-state", "");
  receiver.close();
  receiver.closeAllConnections();
});

await test("the log of webhooks is looked at while an attempt is due, and not for ever", async () => {
  const t = await token(), p = await open();
  let asked = 0, second = false;
  const at = (ms) => new Date(Date.now() + ms).toISOString();
  const tried = (id, attempt, state, next) => ({ id, webhook_id: 1, event_id: "evt_1", event: "message.received", inbox: bot, url: "https://example.com", attempt, status_code: 500, error: null, duration_ms: 3, at: at(-9000), next_attempt_at: next, state, response: "" });
  const due = at(2000), first = tried(1, 1, "retrying", due);
  await p.route("**/api/webhooks/deliveries*", (r) => (asked++, r.fulfill({ json: { deliveries: second ? [tried(2, 2, "failed", null), first] : [first] } })));
  await p.goto(base + "/docs");
  await p.evaluate((t) => sessionStorage.setItem("inbox-session", t), t);
  await p.clock.install();
  await p.goto(base + "/#/webhooks");
  await p.locator('.log td[data-of="Next attempt"]').waitFor();
  const before = asked;
  await p.clock.runFor(6000);
  await until("it is looked for", () => asked > before);
  second = true;
  await p.clock.runFor(4000);
  await p.locator(".log .chip", { hasText: "failed" }).waitFor();
  assert(!(await p.locator('.log td[data-of="Next attempt"]').count()), "a try that was made is still announced");
  const then = asked;
  await p.clock.runFor(20_000);
  assert(asked === then, `it was asked ${asked - then} times for what is over`);
  await p.context().close();
});

await test("an invitation is accepted", async () => {
  await deliver(smtp, "ben@example.com", bot, invitation("u1", bot, "ben@example.com"));
  await go("#/mail/" + bot);
  await row("Invitation u1").click();
  await page.click("#tab-calendar");
  await page.fill("#rsvp-comment", "gladly");
  await page.getByRole("button", { name: "Accept" }).click();
  await page.locator(".rsvp", { hasText: "Your response: accepted" }).waitFor();
  await go("#/calendar/" + bot);
  await page.locator(".entry", { hasText: "Review u1" }).locator(".chip", { hasText: "accepted" }).waitFor();
});

await test("a meeting is arranged, moved and cancelled; the feed link is there", async () => {
  await page.getByRole("button", { name: "New meeting" }).first().click();
  await page.check("dialog [name=all_day]");
  await page.locator("dialog [name=last]").waitFor();
  assert((await page.inputValue("dialog [name=start]")) === (await page.inputValue("dialog [name=last]")), "the first day is not the last");
  await page.uncheck("dialog [name=all_day]");
  await page.fill("dialog [name=title]", "Stand-up");
  await page.fill("dialog [name=attendees]", desk);
  await page.getByRole("button", { name: "Invite" }).click();
  await page.locator(".entry", { hasText: "Stand-up" }).click();
  const theirs = await until("the guest has it", async () => (await api("GET", `/api/v1/inboxes/${desk}/calendar/events`, await token())).events.find((e) => e.title === "Stand-up"));
  await api("POST", `/api/v1/inboxes/${desk}/calendar/events/${theirs.id}/rsvp`, await token(), { response: "tentative" });
  await page.locator("dialog .guests", { hasText: "tentative" }).waitFor(); // while the dialog is open
  await page.locator("dialog").getByRole("button", { name: "Change" }).click();
  await page.fill("dialog [name=location]", "Room 7");
  await page.locator("dialog").getByRole("button", { name: "Save and notify the guests" }).click();
  await page.locator(".entry", { hasText: "Room 7" }).click();
  await page.locator("dialog").getByRole("button", { name: "Cancel the meeting" }).click();
  await page.locator("dialog textarea").fill("Sorry");
  await page.locator("dialog").getByRole("button", { name: "Cancel the meeting" }).click();
  await page.locator(".entry", { hasText: "Stand-up" }).locator(".chip", { hasText: "cancelled" }).waitFor();
  await api("POST", `/api/v1/inboxes/${bot}/calendar/events`, await token(), { title: "Offsite", all_day: true, start: "2027-04-05", end: "2027-04-08", attendees: [desk] });
  await page.locator(".entry", { hasText: "Offsite" }).filter({ hasText: "until Apr 7" }).click();
  await page.locator("dialog .time", { hasText: "Monday, April 5, 2027 – Wednesday, April 7, 2027" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Month" }).click();
  await page.locator(".month").waitFor();
  await page.getByRole("button", { name: "Agenda" }).click();
  await page.getByRole("button", { name: "Subscribe" }).click();
  await page.getByRole("button", { name: "Show the link" }).click();
  const feed = await page.locator("dialog pre").textContent();
  assert((await (await fetch(feed)).text()).includes("BEGIN:VCALENDAR"), "the link leads nowhere");
  await page.getByRole("button", { name: "Replace the link" }).click();
  await page.locator("dialog").getByRole("button", { name: "Replace", exact: true }).click();
  await until("there is another link", async () => ((now) => now && now !== feed)(await page.locator("dialog pre").textContent({ timeout: 500 }).catch(() => "")));
  assert((await fetch(feed)).status === 404, "the old link still leads somewhere");
  await page.getByLabel(/^Send me/).check();
  await until("copies are sent", async () => (await api("GET", `/api/v1/inboxes/${bot}/calendar/owner`, await token())).enabled);
  await page.getByLabel(/^Send me/).uncheck();
  await until("none are sent", async () => !(await api("GET", `/api/v1/inboxes/${bot}/calendar/owner`, await token())).enabled);
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
