import { createServer, type RequestListener } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** mail sends a message to the service over SMTP. */
export async function mail(to: string, subject: string, text: string, from = "shop@example.com", smtp = process.env["INBOXD_SMTP"]!): Promise<void> {
  const [host, port] = smtp.split(":");
  const socket = connect(Number(port), host);
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const expect = async (code: string) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done || !value.startsWith(code)) throw new Error(`SMTP: ${value}`);
      if (value[3] === " ") return;
    }
  };
  await expect("220");
  for (const [line, code] of [["EHLO test", "250"], [`MAIL FROM:<${from}>`, "250"], [`RCPT TO:<${to}>`, "250"], ["DATA", "354"]] as const) {
    socket.write(`${line}\r\n`);
    await expect(code);
  }
  socket.write(`From: Shop <${from}>\r\nTo: <${to}>\r\nSubject: ${subject}\r\nMessage-ID: <${Math.random()}@example.com>\r\n\r\n${text}\r\n.\r\n`);
  await expect("250");
  socket.end("QUIT\r\n");
}

/** fake starts a server with the given handler. */
export async function fake(answer: RequestListener): Promise<{ url: string; close: () => void }> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
