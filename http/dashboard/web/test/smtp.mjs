// Mail into the server over real SMTP, one session for each mail.
import { connect } from "node:net";

/** deliver sends `text` (LF or CRLF) and returns when its final dot is answered. */
export async function deliver(smtp, from, to, text) {
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
  await say(`MAIL FROM:<${from}>`, "250");
  await say(`RCPT TO:<${to}>`, "250");
  await say("DATA", "354");
  const began = Date.now();
  await say(text.replace(/\r?\n/g, "\r\n").replace(/^\./gm, "..") + "\r\n.", "250");
  s.end("QUIT\r\n");
  return began;
}

/** mail writes a plain one. */
export const mail = (subject, body, more = "") => `From: Shop <shop@example.com>\nTo: someone@example.com\nSubject: ${subject}\nMessage-ID: <${Math.random().toString(36).slice(2)}@example.com>\n${more}\n${body}\n`;
