// A sign-up in a test suite. `site` is a small site of this test that sends a code over SMTP (INBOXD_SMTP).
//
//   INBOX_BASE_URL=http://127.0.0.1:8080 INBOXD_SMTP=127.0.0.1:2525 INBOX_API_KEY=svc_live_... npx playwright test
import { createServer } from "node:http";
import { connect } from "node:net";
import { test as base, expect } from "inboxd/playwright";

const page = (form) => `<!doctype html><html lang="en"><title>Site</title><form method="post">${form}</form></html>`;
const first = page(`<label>E-mail <input name="email"></label> <button>Sign up</button>`);
const second = (email) => page(`<input type="hidden" name="email" value="${email}"><label>Code <input name="code"></label> <button>Confirm</button>`);

function mail(to, text) {
  const [host, port] = (process.env.INBOXD_SMTP ?? "127.0.0.1:2525").split(":");
  const lines = ["EHLO site", "MAIL FROM:<site@example.com>", `RCPT TO:<${to}>`, "DATA", `From: site@example.com\r\nTo: ${to}\r\nSubject: Confirm\r\n\r\n${text}\r\n.`, "QUIT"];
  const socket = connect(Number(port), host);
  socket.on("data", (said) => /^\d{3} /m.test(said.toString()) && lines.length && socket.write(lines.shift() + "\r\n"));
}

const test = base.extend({
  site: async ({}, use) => {
    const codes = new Map();
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += part;
      const { email, code } = Object.fromEntries(new URLSearchParams(body));
      response.setHeader("Content-Type", "text/html");
      if (request.method === "GET") return response.end(first);
      if (code) return response.end(codes.get(email) === code ? "Welcome" : "Wrong code");
      codes.set(email, String(100000 + Math.floor(Math.random() * 900000)));
      mail(email, `Your verification code is ${codes.get(email)}.`);
      response.end(second(email));
    });
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    await use(`http://127.0.0.1:${server.address().port}`);
    server.closeAllConnections();
    server.close();
  },
});

test("sign up", async ({ page, site, inbox }) => {
  await page.goto(site);
  await page.getByLabel("E-mail").fill(inbox.address);
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByLabel("Code").fill(await inbox.waitForOtp());
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByText("Welcome")).toBeVisible();
});
