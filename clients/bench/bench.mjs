// Measures the latency that the TypeScript client adds to a plain long poll, and the memory of 100 streams; see cmd/inboxd/clientfigures_test.go. Prints one line of JSON.
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { Inboxd } from "../typescript/dist/src/index.js";

const rounds = Number(process.env.ROUNDS);
const base = process.env.INBOX_BASE_URL;
const headers = { "X-API-Key": process.env.INBOX_API_KEY };
const client = new Inboxd();
const inbox = await client.inboxes.create();
const began = (await (await fetch(`${base}/api/v1/inboxes/${inbox.address}/events?after=now`, { headers })).json()).next;

// One session for all messages; each is sent in one write.
const [host, port] = process.env.INBOXD_SMTP.split(":");
const socket = connect(Number(port), host);
const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
async function replies(n) {
  while (n > 0) if ((await lines.next()).value[3] === " ") n--;
}
await replies(1);
socket.write("EHLO bench\r\n");
await replies(1);
let mails = 0;
async function mail() {
  const code = String(100000 + ++mails);
  socket.write(`MAIL FROM:<shop@example.com>\r\nRCPT TO:<${inbox.address}>\r\nDATA\r\n`);
  await replies(3);
  const sent = performance.now();
  socket.write(`From: shop@example.com\r\nSubject: Sign in\r\n\r\nYour code is ${code}\r\n.\r\n`);
  await replies(1);
  return { code, sent };
}

const ways = {
  bare: async () => {
    const url = `${base}/api/v1/inboxes/${inbox.address}/latest?wait=50&otp=true&after=${mails}`;
    return (await (await fetch(url, { headers })).json()).email.otp_code;
  },
  client: () => inbox.waitForOtp({ timeout: 50_000 }),
};
const took = { bare: [], client: [] };
for (let i = 0; i < 2 * rounds; i++) {
  const way = i % 2 ? "client" : "bare";
  const other = i % 2 ? "bare" : "client";
  let end;
  const waiting = ways[way]().then((code) => ((end = performance.now()), code));
  await new Promise((r) => setTimeout(r, 5)); // by then it waits at the service
  const { code, sent } = await mail();
  if ((await waiting) !== code) throw new Error("another code came");
  if (other === "client") await inbox.waitForOtp(); // returns the code that the plain call saw
  took[way].push(end - sent);
}
socket.end("QUIT\r\n");
const p50 = (list) => list.sort((a, b) => a - b)[list.length >> 1];

const before = process.memoryUsage().rss;
const enough = new AbortController();
const streams = Array.from({ length: 100 }, () => inbox.events({ after: began, signal: enough.signal }));
await Promise.all(streams.map((s) => s.next())); // each is open and has received its first event
const weight = process.memoryUsage().rss - before;
enough.abort();
await Promise.allSettled(streams.map((s) => s.return()));
await inbox.delete();
console.log(JSON.stringify({ bare_ms: p50(took.bare), client_ms: p50(took.client), streams_mb: weight / 2 ** 20 }));
process.exit(0);
