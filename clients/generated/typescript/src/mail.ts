import { connect } from "node:net";
import { createInterface } from "node:readline";

/** mail has a shop mail a code to an address, by the SMTP of the service. */
export async function mail(to: string): Promise<void> {
  const [host, port] = process.env["INBOXD_SMTP"]!.split(":");
  const socket = connect(Number(port), host);
  const text = `From: shop@example.com\r\nTo: ${to}\r\nSubject: Sign in\r\n\r\nYour code is 482913\r\n.`;
  const lines = ["EHLO shop", "MAIL FROM:<shop@example.com>", `RCPT TO:<${to}>`, "DATA", text, "QUIT"];
  for await (const said of createInterface({ input: socket })) {
    if (/^[45]/.test(said)) throw new Error(said);
    if (said[3] === " ") socket.write(`${lines.shift()}\r\n`);
    if (lines.length === 0) break;
  }
  socket.end();
}

/** check throws what an answer holds instead of what was asked for. */
export function check<T>(what: T | null | undefined, answer: unknown): T {
  if (what === null || what === undefined) throw new Error(JSON.stringify(answer));
  return what;
}
