import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Inboxd, TimeoutError, type Delivery, type Inbox, type Message } from "../src/index.js";
import { fake, mail } from "./support.js";

const client = new Inboxd();

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const one of items) out.push(one);
  return out;
}

async function withInbox(use: (inbox: Inbox) => Promise<void>) {
  const inbox = await client.inboxes.create();
  await use(inbox);
  await inbox.delete();
}

test("a code is handed out once, the newest first", () =>
  withInbox(async (inbox) => {
    const waiting = inbox.waitForOtp();
    await mail(inbox.address, "Sign in", "Your code is 482913");
    assert.equal(await waiting, "482913");
    await assert.rejects(inbox.waitForOtp({ timeout: 300 }), TimeoutError);
    await mail(inbox.address, "Sign in", "Your code is 555123");
    assert.equal(await client.inbox(inbox.address).waitForOtp(), "555123"); // claims it
    await assert.rejects(client.inbox(inbox.address).waitForOtp({ timeout: 300 }), TimeoutError);
    await mail(inbox.address, "No digits", "Hello");
    await assert.rejects(inbox.waitForOtp({ timeout: 300, after: 2 }), (err) => err instanceof TimeoutError && err.messageId === 3 && err.subject === "No digits" && /What did arrive:\nmessage 3 from shop@\S+, subject "No digits": no code$/.test(err.message));
    const others = /: code 555123, confidence [01]\.\d\d, already read\n/;
    await assert.rejects(inbox.waitForOtp({ timeout: 0, from: "bank" }), (err) => err instanceof TimeoutError && others.test(err.message) && err.arrived.map((m) => m.id).join() === "3,2,1");
    assert.equal(await inbox.latest({ direction: "out" }), null);
  }));

test("two waits at once get a code each", () =>
  withInbox(async (inbox) => {
    const both = [inbox.waitForOtp(), inbox.waitForOtp()];
    await mail(inbox.address, "Sign in", "Your code is 482913");
    assert.equal(await Promise.race(both), "482913");
    await mail(inbox.address, "Sign in", "Your code is 555123");
    assert.deepEqual((await Promise.all(both)).sort(), ["482913", "555123"]);
  }));

test("messages are handed out oldest first, and none is lost between two waits", () =>
  withInbox(async (inbox) => {
    for (const n of ["one", "two", "three", "four"]) await mail(inbox.address, n, "hello");
    assert.equal((await inbox.waitForMessage({ match: (m) => m.subject === "three" })).subject, "three");
    const rest = [await inbox.waitForMessage(), await inbox.waitForMessage(), await inbox.waitForMessage()];
    assert.deepEqual(rest.map((m) => m.subject), ["one", "two", "four"]);
    assert.ok("html" in rest[0]!, "what is handed out is whole");
    await assert.rejects(inbox.waitForMessage({ timeout: 300 }), /No message arrived at .* within 0.3 s/);
    assert.equal((await inbox.waitForMessage({ subject: "TWO", after: 0 })).subject, "two");
  }));

test("lists page by themselves", () =>
  withInbox(async (inbox) => {
    for (let i = 0; i < 5; i++) await mail(inbox.address, `s${i}`, "hello");
    const seen = await all(inbox.messages({ limit: 2, fields: "subject" }));
    assert.deepEqual(seen.map((m) => m.subject), ["s4", "s3", "s2", "s1", "s0"]);
    assert.equal((await all(client.messages({ limit: 2, subject: "s", label: "" }))).filter((m) => m.inbox === inbox.address).length, 5);
    const prefix = `many${Date.now() % 1e6}`;
    const made = await client.inboxes.createMany([{ prefix: `${prefix}a` }, { prefix: `${prefix}b` }, { prefix: "-bad-." }]);
    assert.deepEqual(made.map((r) => r.status), [201, 201, 422]);
    assert.deepEqual(made.flatMap((r) => (r.inbox ? [] : [r.code, r.field])), ["validation", "prefix"]);
    assert.equal((await all(client.inboxes.list({ prefix, limit: 1 }))).length, 2);
    for (const r of made) await r.inbox?.delete();
  }));

test("every call on a message", () =>
  withInbox(async (inbox) => {
    await mail(inbox.address, "Hello", "A text");
    const m = (await inbox.latest({ wait: 5 }))!;
    assert.equal((await inbox.message(m.id)).body?.trim(), "A text");
    assert.match(new TextDecoder().decode(await inbox.raw(m.id)), /^[^]*Subject: Hello/);
    await inbox.mark(m.id);
    assert.equal((await inbox.message(m.id)).is_read, true);
    assert.equal(await inbox.claim(m.id), false);
    await inbox.mark(m.id, false);
    assert.equal(await inbox.claim(m.id), true);
    await assert.rejects(inbox.attachment(m.id, 1), (err: ApiError) => err.status === 404 && err.requestId !== "");
    assert.equal(await inbox.latest({ after: "now" }), null);
    await inbox.deleteMessage(m.id);
    await assert.rejects(inbox.message(m.id), /not found in inbox/);
    await mail(inbox.address, "Hello", "A text");
    const simulated = await inbox.simulate({ from: "shop@example.com", text: "Your code is 482913" });
    assert.deepEqual([simulated.otp_code, simulated.simulated], ["482913", true]);
    await inbox.deleteMessage(simulated.id);
    assert.equal(await inbox.deleteMessages({ before: 100 }), 1);
    await mail(inbox.address.replace("@", "+lane@"), "Lane", "A text");
    assert.equal((await inbox.tagged("lane").waitForMessage()).subject, "Lane");
    assert.equal(await inbox.tagged("other").latest(), null);
    assert.equal(await inbox.burn(), 1);
  }));

test("every call on an inbox, and what the account has", () =>
  withInbox(async (inbox) => {
    assert.equal((await inbox.update({ retention_hours: 2 })).retention_hours, 2);
    assert.equal((await client.inboxes.get(inbox.address)).address, inbox.address);
    assert.equal((inbox.info as { api_key: null }).api_key, null);
    assert.deepEqual(await all(client.suppressions.list()), []);
    await assert.rejects(client.suppressions.delete("nobody@example.com"), (err: ApiError) => err.status === 404);
    assert.equal((await client.tools("openai")).length, 6);
  }));

test("mail is sent, settled and answered", () =>
  withInbox(async (one) =>
    withInbox(async (two) => {
      const id = await one.send({ to: two.address, subject: "Question", body: "Well?", attachments: [{ filename: "a.txt", content_b64: btoa("hi") }] });
      const got = await two.waitForMessage();
      assert.equal(new TextDecoder().decode(await two.attachment(got.id, got.attachments[0]!.id)), "hi");
      assert.equal((await one.waitUntilSent(id)).send_status, "sent");
      await two.reply(got, { body: "Yes" });
      const answer: Message = await one.waitForMessage();
      assert.equal(answer.subject, "Re: Question");
      assert.equal(answer.in_reply_to, got.internet_message_id);
      const letter = { to: two.address, subject: "once" };
      assert.equal(await one.send(letter, { idempotencyKey: "k1" }), await one.send(letter, { idempotencyKey: "k1" }));
      await assert.rejects(one.send({ ...letter, subject: "other" }, { idempotencyKey: "k1" }), (err: ApiError) => err.status === 422);
    }),
  ));

test("every call of the calendar", () =>
  withInbox(async (host) =>
    withInbox(async (guest) => {
      const made = await host.calendar.create({ title: "Review", start: "2027-03-01T15:00", timezone: "Europe/Berlin", attendees: [guest.address] });
      const id = made.event.id!;
      const invited = await guest.waitForMessage({ match: (m) => m.calendar_event !== null });
      const theirs = invited.calendar_event!.event_id!;
      assert.equal((await guest.calendar.get(theirs)).title, "Review");
      assert.equal((await guest.calendar.answer(theirs, "accepted", "Gladly")).event.my_status, "accepted");
      assert.equal((await host.waitForMessage({ match: (m) => m.calendar_event?.action === "replied" })).calendar_event!.event_id, id);
      assert.equal((await host.calendar.update(id, { title: "Second review" })).event.title, "Second review");
      assert.deepEqual((await all(host.calendar.list({ from: new Date("2027-01-01") }))).map((m) => m.id), [id]);
      assert.equal((await host.calendar.freeBusy("2027-03-01", "2027-03-02")).length, 1);
      const feed = await host.calendar.feed();
      assert.match(await (await fetch(feed.feed_url)).text(), /SUMMARY:Second review/);
      assert.notEqual((await host.calendar.rotateFeed()).feed_url, feed.feed_url);
      await host.calendar.deleteFeed();
      assert.equal((await host.calendar.owner()).enabled, false);
      assert.equal((await host.calendar.setOwner(true)).enabled, true);
      await host.calendar.setOwner(false);
      assert.equal((await host.calendar.cancel(id, "Sorry")).event.status, "cancelled");
      await host.calendar.remove(id);
      await assert.rejects(host.calendar.get(id), (err: ApiError) => err.status === 404);
    }),
  ));

test("every call about webhooks", () =>
  withInbox(async (inbox) => {
    const receiver = await fake((_, response) => response.end("thanks"));
    const { webhook, secret } = await client.webhooks.create({ url: receiver.url, event: "*", inbox: inbox.address });
    assert.equal(webhook.inbox, inbox.address);
    assert.equal((await client.webhooks.test(webhook.id)).status_code, 200);
    assert.notEqual(await client.webhooks.rotateSecret(webhook.id), secret);
    assert.equal((await client.webhooks.update(webhook.id, { event: "message.received" })).event, "message.received");
    const got = await client.webhooks.get(webhook.id);
    assert.deepEqual((await client.webhooks.list()).find((w) => w.id === webhook.id), got);
    await mail(inbox.address, "Hello", "A text");
    let [delivery] = [] as Delivery[];
    while (delivery?.state !== "succeeded") [delivery] = await client.webhooks.deliveries({ webhook_id: webhook.id, limit: 1 });
    assert.equal(delivery.response, "thanks");
    await client.webhooks.redeliver(delivery.id);
    await client.webhooks.delete(webhook.id);
    await assert.rejects(client.webhooks.get(webhook.id), (err: ApiError) => err.status === 404);
    receiver.close();
  }));

test("every call about domains", async () => {
  const name = "typescript.example.org";
  assert.equal((await client.domains.claim(name)).status, "pending");
  assert.deepEqual((await client.domains.list()).find((d) => d.domain === name), await client.domains.get(name));
  assert.notEqual((await client.domains.verify(name)).checked_at, null);
  assert.match(await client.domains.zone(name), /typescript\.example\.org\./);
  await client.domains.release(name);
  await assert.rejects(client.domains.get(name), (err: ApiError) => err.status === 404);
});

test("keys and the account with a session", async () => {
  const email = `typescript${Date.now()}@example.test`;
  const session = await client.signUp(email, "correct horse");
  const key = await session.keys.create({ label: "ci", scopes: ["inbox:manage"], expires_in_days: 30 });
  const agent = new Inboxd({ apiKey: key.key });
  const { address } = await agent.inboxes.create();
  await assert.rejects(agent.account.get(), /requires a session token/);
  assert.equal((await session.keys.createForInbox(address)).scopes, "inbox:read");
  assert.deepEqual((await all(session.keys.list())).map((k) => [k.kind, k.label]), [["account", "ci"], ["inbox", ""]]);
  await session.keys.revokeForInbox(address);
  await session.keys.revoke(key.id);
  assert.equal((await session.account.get()).usage.keys, 0);
  await session.account.changePassword("correct horse", "battery staple");
  const other = await client.logIn(email, "battery staple");
  const before = (await other.account.sessions()).length;
  await session.account.logOut();
  assert.equal((await other.account.sessions()).length, before - 1);
  assert.equal((await other.account.setEncryption("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")).enabled, true);
  assert.equal((await other.account.deleteEncryption("battery staple")).enabled, false);
  await other.account.requestVerification();
  await other.account.requestPasswordReset(email);
  await assert.rejects(other.account.confirmVerification("x"), (err: ApiError) => err.status === 400);
  await assert.rejects(other.account.confirmPasswordReset("x", "battery staple"), (err: ApiError) => err.status === 400);
  const third = await other.logIn(email, "battery staple");
  await third.account.endSession((await third.account.sessions()).find((s) => !s.current)!.id);
  await assert.rejects(other.account.get(), (err: ApiError) => err.status === 401);
});

test("a refusal tells status, sentence and request", async () => {
  await assert.rejects(new Inboxd({ apiKey: "svc_live_wrong" }).inboxes.create(), (err: ApiError) => {
    assert.equal(err.status, 401);
    assert.equal(err.detail, "A valid API key is required");
    assert.deepEqual([err.code, err.field], ["unauthorized", undefined]);
    assert.notEqual(err.requestId, "");
    return err.message.includes(err.requestId);
  });
});

test("an end of the signal ends a wait at once, with its reason", () =>
  withInbox(async (inbox) => {
    const controller = new AbortController();
    const waiting = inbox.waitForOtp({ signal: controller.signal });
    const streaming = inbox.events({ signal: controller.signal }).next();
    setTimeout(() => controller.abort(new Error("enough")), 50);
    await assert.rejects(waiting, /^Error: enough$/);
    await assert.rejects(streaming, /^Error: enough$/);
  }));

for (const transport of ["stream", "poll"] as const) {
  test(`events come by ${transport} and go on behind a cursor`, () =>
    withInbox(async (inbox) => {
      const events = inbox.events({ transport });
      const first = events.next();
      let cursor = "";
      for (let i = 0; i < 3; i++) {
        // a message that arrives while the iteration begins may be before "now"
        while (!cursor && !(await Promise.race([first.then(() => true), mail(inbox.address, "s0", "x").then(() => false)]))) await new Promise((r) => setTimeout(r, 20));
        if (!cursor) cursor = (await first).value!.cursor;
      }
      await events.return();
      await mail(inbox.address, "last", "x");
      for await (const event of inbox.events({ after: cursor, transport })) {
        assert.equal(event.event, "message.received");
        assert.equal(event.inbox, inbox.address);
        if (event.event === "message.received" && event.subject === "last") break;
      }
    }));
}
