// Sends messages to the server over real SMTP.
import { connect } from "node:net";

/**
 * session opens an SMTP session. Its `deliver` returns when the server has replied to the final
 * dot, with the time when the dot was sent.
 */
async function session(smtp) {
  const [host, port] = smtp.split(":");
  const s = connect(Number(port), host);
  s.setEncoding("utf8");
  let got = "";
  const lines = [];
  let wake = () => {};
  s.on("data", (d) => {
    got += d;
    for (let i; (i = got.indexOf("\r\n")) >= 0; got = got.slice(i + 2)) {
      const line = got.slice(0, i);
      if (line[3] !== "-") lines.push(line);
    }
    wake();
  });
  s.on("error", (e) => (lines.push("500 " + e.message), wake()));
  const answer = async (want) => {
    while (!lines.length) await new Promise((done) => (wake = done));
    const line = lines.shift();
    if (!line.startsWith(want)) throw new Error(`SMTP: ${line}`);
  };
  const say = (line, want) => (s.write(line + "\r\n"), answer(want));
  await answer("220");
  await say("EHLO test.example", "250");
  return {
    async deliver(from, to, text) {
      await say(`MAIL FROM:<${from}>`, "250");
      await say(`RCPT TO:<${to}>`, "250");
      await say("DATA", "354");
      const began = Date.now();
      await say(text.replace(/\r?\n/g, "\r\n").replace(/^\./gm, "..") + "\r\n.", "250");
      return began;
    },
    end: () => void s.end("QUIT\r\n"),
  };
}

/** deliver sends `text` (LF or CRLF) and returns when the server has replied to the final dot. */
export async function deliver(smtp, from, to, text) {
  const s = await session(smtp), began = await s.deliver(from, to, text);
  s.end();
  return began;
}

/** deliverAll sends n messages over eight sessions. */
export async function deliverAll(smtp, from, to, n, text) {
  let i = 0;
  await Promise.all(Array.from({ length: 8 }, async () => {
    const s = await session(smtp);
    while (i < n) await s.deliver(from, to, text(i++));
    s.end();
  }));
}

/** mail returns a plain message. */
export const mail = (subject, body, more = "") => `From: Shop <shop@example.com>\nTo: someone@example.com\nSubject: ${subject}\nMessage-ID: <${Math.random().toString(36).slice(2)}@example.com>\n${more}\n${body}\n`;

/** invitation returns a message with an invitation. */
export const invitation = (uid, to, by) => `From: ${by}\nTo: ${to}\nSubject: Invitation ${uid}\nMIME-Version: 1.0\nContent-Type: text/calendar; method=REQUEST; charset=utf-8\n\nBEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//t//t\nMETHOD:REQUEST\nBEGIN:VEVENT\nUID:${uid}@example.com\nDTSTAMP:20261101T090000Z\nDTSTART:20270301T140000Z\nDTEND:20270301T150000Z\nSUMMARY:Review ${uid}\nORGANIZER:mailto:${by}\nATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:${to}\nEND:VEVENT\nEND:VCALENDAR\n`;
