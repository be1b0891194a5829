import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { ApiError, ConnectionError, Inboxd, TimeoutError, UnexpectedAnswerError, verifyWebhook, WebhookError, type Message } from "../src/index.js";
import { fake, mail } from "./support.js";

async function against(answer: (req: IncomingMessage, res: ServerResponse, n: number) => void, use: (client: Inboxd, asked: () => number) => Promise<void>) {
  let n = 0;
  const server = await fake((req, res) => {
    req.resume();
    req.on("end", () => answer(req, res, ++n));
  });
  try {
    await use(new Inboxd({ baseUrl: server.url, apiKey: "svc_live_x", timeout: 5000 }), () => n);
  } finally {
    server.close();
  }
}

test("a page of HTML with 500 is named, and asked for three times where that is safe", () =>
  against(
    (_, res) => res.writeHead(500, { "Content-Type": "text/html" }).end("<html>oops"),
    async (client, asked) => {
      await assert.rejects(client.inbox("a@b.test").latest(), (err: UnexpectedAnswerError) => err instanceof UnexpectedAnswerError && err.status === 500 && /<html>oops/.test(err.message));
      assert.equal(asked(), 3);
      await assert.rejects(client.inbox("a@b.test").deleteMessage(7), UnexpectedAnswerError);
      assert.equal(asked(), 4, "a deletion is not repeated");
    },
  ));

test("JSON that is cut, or another service's, is named", () =>
  against(
    (req, res) => res.writeHead(200, { "Content-Type": "application/json" }).end(req.url!.includes("latest") ? '{"email":{"id":' : '{"hello":1}'),
    async (client) => {
      await assert.rejects(client.inbox("a@b.test").latest(), /not JSON or is truncated/);
      await assert.rejects(client.inbox("a@b.test").get(), /the response is not from the inbox service/);
    },
  ));

test("an answer that breaks off is asked for again", () =>
  against(
    (_, res, n) => {
      if (n > 1) return void res.writeHead(200).end('{"email":null}');
      res.writeHead(200, { "Content-Length": "100" });
      res.write('{"email"');
      setTimeout(() => res.destroy(), 20);
    },
    async (client, asked) => {
      assert.equal(await client.inbox("a@b.test").latest(), null);
      assert.equal(asked(), 2);
    },
  ));

test("a creation has one name over its repeats, and waits as it is told", () => {
  const names = new Set<unknown>();
  return against(
    (req, res, n) => {
      names.add(req.headers["idempotency-key"]);
      if (n === 1) return void req.socket.destroy();
      if (n === 2) return void res.writeHead(503, { "Retry-After": "0" }).end('{"detail":"busy"}');
      res.writeHead(201).end('{"address":"a@b.test"}');
    },
    async (client) => {
      assert.equal((await client.inboxes.create()).address, "a@b.test");
      assert.equal(names.size, 1);
      assert.match(String([...names][0]), /^[0-9a-f]{32}$/);
    },
  );
});

test("an answer goes to who waits for it, once Re:, and names what the service takes", async () => {
  const bodies: Record<string, unknown>[] = [];
  const box = (email: string) => ({ email, name: "" });
  const got = { id: 7, direction: "in", encrypted: false, subject: "AW: Re[2]: Lunch\r\n", from: box("shop@x.test"), to: [box("a@b.test")], reply_to: [], internet_message_id: "1@x.test" } as unknown as Message;
  const carried: typeof fetch = async (_, init) => {
    bodies.push(JSON.parse(String(init!.body)));
    return new Response('{"message_id":1}', { status: 202 });
  };
  const inbox = new Inboxd({ fetch: carried }).inbox("a@b.test");
  await inbox.reply(got, { body: "Yes" });
  await inbox.reply({ ...got, reply_to: [box(""), box("desk@x.test"), box("boss@x.test")], subject: null, internet_message_id: "a b@x" }, { cc: ["c@x.test"] });
  await inbox.reply({ ...got, direction: "out", subject: "x".repeat(300) }, { subject: "Other" });
  await assert.rejects(inbox.reply({ ...got, from: box("") }, {}), /has no address to reply to/);
  await assert.rejects(inbox.reply({ ...got, encrypted: true }, {}), /is encrypted/);
  assert.deepEqual(bodies, [
    { to: "shop@x.test", subject: "Re: Lunch", in_reply_to: "<1@x.test>", body: "Yes", cc: [] },
    { to: "desk@x.test", cc: ["boss@x.test", "c@x.test"], subject: "Re:" },
    { to: "a@b.test", subject: "Other", in_reply_to: "<1@x.test>", cc: [] },
  ]);
});

test("settings that cannot work are refused at once", () => {
  for (const baseUrl of ["localhost:8080", "127.0.0.1:8080", "ftp://x.test", "http://", "http://x.test/?a=b"]) {
    assert.throws(() => new Inboxd({ baseUrl, apiKey: "svc_live_x" }), /invalid base URL ".*": use a URL such as http:..127.0.0.1:8080/);
  }
  assert.throws(() => new Inboxd({ baseUrl: "http://x.test", apiKey: "" }), /the API key is missing: set INBOX_API_KEY/);
});

test("a refusal is not repeated", () =>
  against(
    (_, res) => res.writeHead(403, { "X-Request-Id": "r1" }).end('{"detail":"No","code":"forbidden","field":"to"}'),
    async (client, asked) => {
      await assert.rejects(client.inboxes.create(), (err: ApiError) => err.status === 403 && err.detail === "No" && err.code === "forbidden" && err.field === "to" && err.requestId === "r1");
      assert.equal(asked(), 1);
    },
  ));

test("a redirect is not followed: the key would go along", () =>
  against(
    (_, res) => res.writeHead(302, { Location: "http://127.0.0.1:1/" }).end(),
    async (client) => assert.rejects(client.inbox("a@b.test").get(), /HTTP 302, not from the inbox service/),
  ));

test("a call ends at its time, a service that is not there is named", async () => {
  await against(
    () => undefined,
    async (client) => assert.rejects(client.inbox("a@b.test").get({ timeout: 100 }), (err) => err instanceof TimeoutError && /no response within 100 ms/.test(err.message)),
  );
  await assert.rejects(new Inboxd({ baseUrl: "http://127.0.0.1:1", retries: 0 }).inboxes.create(), (err) => err instanceof ConnectionError && /cannot reach http:..127.0.0.1:1/.test(err.message));
});

test("streams that do not come through become long polls, without a loss", () => {
  const polls: string[] = [];
  return against(
    (req, res) => {
      if (req.headers.accept === "text/event-stream") return void res.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders(); // held back
      polls.push(req.url!);
      res.writeHead(200).end(polls.length === 1 ? '{"events":[],"next":"c1"}' : '{"events":[{"event":"message.received","inbox":"a@b.test"}],"next":"c2"}');
    },
    async (client) => {
      for await (const event of client.events({ silence: 100 })) {
        assert.equal(event.cursor, "c2");
        break;
      }
      assert.deepEqual(polls, ["/api/v1/events?after=now", "/api/v1/events?after=c1&wait=50"]);
    },
  );
});

test("a line without an end is given up", () =>
  against(
    (_, res) => void res.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: " + "x".repeat(5 << 20)),
    async (client) => assert.rejects(client.events({ after: "c1" }).next(), (err) => err instanceof UnexpectedAnswerError && /line of the stream is too long/.test(err.message)),
  ));

test("a wait passes over what is deleted meanwhile", () => {
  const message = (id: number) => ({ id, subject: "s", from: { name: "", email: "x@y.test" }, is_read: false });
  return against(
    (req, res) => {
      const url = req.url!;
      if (url.includes("/latest")) return res.end(JSON.stringify({ email: message(url.includes("after=3") ? 4 : 3) }));
      if (url.includes("/messages?")) return res.end(JSON.stringify({ emails: [message(2)], has_more: false }));
      if (url.includes("/messages/4/read")) return res.end('{"claimed":true}');
      res.writeHead(404).end('{"detail":"Message not found"}');
    },
    async (client) => assert.equal((await client.inbox("a@b.test").waitForMessage({ timeout: 5000 })).id, 4),
  );
});

test("a stream that breaks goes on where it broke", () => {
  const places: unknown[] = [];
  return against(
    (req, res, n) => {
      if (n === 1) return void res.writeHead(200).end('{"events":[],"next":"c0"}');
      places.push(req.headers["last-event-id"]);
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      res.write(`id: c${n}\n\nid: d${n}\nda`);
      setTimeout(() => {
        res.write(`ta: {"event":"message.received","inbox":"${n}"}\n\nid: lost\ndata: {"ev`);
        setTimeout(() => res.destroy(), 10);
      }, 10);
    },
    async (client) => {
      const seen: string[] = [];
      for await (const event of client.events()) if (seen.push(`${event.inbox} ${event.cursor}`) === 2) break;
      assert.deepEqual(seen, ["2 d2", "3 d3"]);
      assert.deepEqual(places, ["c0", "d2"]);
    },
  );
});

async function serve(folder: string, http: string, smtp: string): Promise<{ process: ChildProcess; http: string; smtp: string }> {
  const child = spawn(process.env["INBOXD_BIN"]!, ["serve", "--data", folder, "--http", http, "--smtp", smtp], { stdio: ["ignore", "pipe", "ignore"] });
  for await (const line of createInterface({ input: child.stdout! })) {
    const ready = /ready http=(\S+) smtp=(\S+)/.exec(line);
    if (ready) return { process: child, http: ready[1]!, smtp: ready[2]! };
  }
  throw new Error("the server did not start");
}

test("a wait and a stream outlive a restart of the service", async () => {
  const folder = await mkdtemp(join(tmpdir(), "inboxd-ts-"));
  let server = await serve(folder, "127.0.0.1:0", "127.0.0.1:0");
  try {
    const post = async (path: string, body: unknown, token = "") => (await (await fetch(`http://${server.http}${path}`, { method: "POST", body: JSON.stringify(body), headers: token ? { Authorization: `Bearer ${token}` } : {} })).json()) as Record<string, string>;
    const { session_token } = await post("/api/auth/signup", { email: "a@example.com", password: "correct horse" });
    const { key } = await post("/api/keys", { scopes: ["full"] }, session_token);
    const client = new Inboxd({ baseUrl: `http://${server.http}`, apiKey: key });
    const inbox = await client.inboxes.create();
    const events = inbox.events();
    const event = events.next();
    const code = inbox.waitForOtp();
    await mail(inbox.address, "Plain", "nothing", undefined, server.smtp);
    assert.equal((await event).value!.event, "message.received");
    const next = events.next();
    server.process.kill("SIGKILL");
    await once(server.process, "exit");
    server = await serve(folder, server.http, server.smtp);
    await mail(inbox.address, "Sign in", "Your code is 482913", undefined, server.smtp);
    assert.equal(await code, "482913");
    const followed = (await next).value!;
    assert.equal(followed.event === "message.received" && followed.otp, "482913");
    await events.return();
  } finally {
    server.process.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
});

test("a thousand waits, ten at a time, share connections", () => {
  const connections = new Set<unknown>();
  return against(
    (req, res, n) => {
      connections.add(req.socket);
      res.end(`{"email":{"id":${n},"otp_code":"482913","is_read":false}}`);
    },
    async (client) => {
      const wait = async () => {
        const inbox = client.inbox("a@b.test");
        for (let i = 0; i < 100; i++) assert.equal(await inbox.waitForOtp({ claim: false }), "482913");
      };
      await Promise.all(Array.from({ length: 10 }, wait));
      // fetch may open another connection before it notices that one is idle
      assert.ok(connections.size < 50, `${connections.size} connections were opened`);
    },
  );
});

test("webhooks are believed when all is as it was signed", async () => {
  const secret = "whsec_" + Buffer.from("0123456789abcdef0123456789abcdef").toString("base64");
  const body = '{"event":"message.received","inbox":"a@b.test","subject":"ü"}';
  const now = Math.floor(Date.now() / 1000);
  const sign = (stamp: number, text = body) => ({
    "Webhook-Id": "evt_1",
    "webhook-timestamp": String(stamp),
    "webhook-signature": "v1,bm8= v1," + createHmac("sha256", Buffer.from(secret.slice(6), "base64")).update(`evt_1.${stamp}.${text}`).digest("base64"),
  });
  assert.equal((await verifyWebhook(body, sign(now), secret)).event, "message.received");
  assert.equal((await verifyWebhook(Buffer.from(body), new Headers(sign(now)), secret)).inbox, "a@b.test");
  assert.equal((await verifyWebhook(body, sign(now - 290), secret)).inbox, "a@b.test");
  for (const [name, given, why] of [
    ["a body changed by one byte", () => verifyWebhook(body.replace("a@b", "c@b"), sign(now), secret), /No signature matches/],
    ["another secret", () => verifyWebhook(body, sign(now), "whsec_AAAA"), /No signature matches/],
    ["an old one", () => verifyWebhook(body, sign(now - 301), secret), /signed 30[1-9] seconds ago/],
    ["one of tomorrow", () => verifyWebhook(body, sign(now + 400), secret), /ahead of this clock/],
    ["no headers", () => verifyWebhook(body, {}, secret), /webhook-id, webhook-timestamp or webhook-signature is missing/],
    ["no secret", () => verifyWebhook(body, sign(now), "whsec_%"), /use whsec_ followed by base64/],
    ["an empty secret, with which anybody can sign", () => verifyWebhook(body, sign(now), ""), /use whsec_ followed by base64/],
    ["one that is signed and no event", () => verifyWebhook("x", sign(now, "x"), secret), /the body is not an event/],
  ] as const) {
    await assert.rejects(given(), (err) => err instanceof WebhookError && why.test(err.message), name);
  }
});
