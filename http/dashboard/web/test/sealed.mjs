// End-to-end encryption: keys, messages that only they decrypt, and data that must not be left
// behind.
import { readFileSync } from "node:fs";
import { account, api, assert, base, go, open, page, ready, row, smtp, test, token } from "./driver.mjs";
import { deliver, invitation, mail } from "./smtp.mjs";

await ready();

const sent = []; // requests of the page while keys were made
const secret = () => sent.some((r) => /AGE-SECRET-KEY/i.test(decodeURIComponent(r.replace(/%(?![0-9a-f]{2})/gi, "%25"))));
export const keyFiles = [];

async function makeKey(button, passphrase) {
  await go("#/account");
  await page.getByRole("button", { name: button }).click();
  if (passphrase) await page.fill("#key-file-passphrase", passphrase);
  const [d] = await Promise.all([page.waitForEvent("download"), page.click("#key-file-save")]);
  const file = { name: d.suggestedFilename(), mimeType: "application/octet-stream", buffer: readFileSync(await d.path()) };
  await page.locator("#confirm-key").waitFor(); // it appears after the download
  const changing = await page.locator("#confirm-key-password").count(); // changing an existing key takes the password
  if (changing) await page.fill("#confirm-key-password", account.password);
  // A different file is refused.
  await page.setInputFiles("#confirm-key-file", { name: "x.txt", mimeType: "text/plain", buffer: Buffer.from("nothing") });
  await page.getByRole("button", { name: "Turn encryption on" }).click();
  await page.locator("#confirm-key .bad").waitFor();
  await page.setInputFiles("#confirm-key-file", file);
  if (passphrase) await page.fill("#confirm-key-passphrase", passphrase);
  await page.getByRole("button", { name: "Turn encryption on" }).click(); // scrypt takes a while
  await page.locator(".sayings", { hasText: "Encryption is on" }).waitFor();
  keyFiles.push(file);
}

export let safe = "";

await test("encryption is set up, mail is received and opened, and again after a reload", async () => {
  page.on("request", (r) => sent.push(r.url() + " " + (r.postData() ?? "") + " " + JSON.stringify(r.headers())));
  await makeKey("Set up encryption", "");
  assert(/^# created: .*\n# public key: age1\w+\nAGE-SECRET-KEY-1[0-9A-Z]+\n$/.test(keyFiles[0].buffer.toString()), "the key file has another form");
  await page.getByRole("link", { name: "Inboxes (g i)" }).or(page.locator('nav.side a[href="#/mail"]')).first().click();
  await page.getByRole("button", { name: "New inbox" }).click();
  await page.fill("dialog [name=prefix]", "safe");
  await page.locator("dialog summary").click();
  await page.locator("dialog [name=encrypted]").check();
  await page.getByRole("button", { name: "Make inbox" }).click();
  await page.locator(".mails .who p", { hasText: "safe@" }).waitFor();
  safe = (await api("GET", "/api/v1/inboxes?prefix=safe", await token())).inboxes[0].address;
  await deliver(smtp, "ann@example.com", safe, `From: Ann <ann@example.com>\nTo: ${safe}\nSubject: Our plan\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html; charset=utf-8\n\n<h1>Nobody else reads this</h1><img src="https://tracker.example.com/x.gif">\n--b\nContent-Type: text/plain; name="plan.txt"\nContent-Disposition: attachment; filename="plan.txt"\n\nstep one\n--b\n` + invitation("e1", safe, "ann@example.com").split("\n").slice(4).join("\n").replace(/^/, "Content-Type: text/calendar; method=REQUEST\n") + "\n--b--");
  await row("Encrypted").click();
  await page.locator("article h1", { hasText: "Our plan" }).waitFor();
  await page.locator(".mails .row", { hasText: "Our plan" }).waitFor();
  await page.click("#tab-html");
  await page.frameLocator("iframe").locator("h1", { hasText: "Nobody else reads this" }).waitFor();
  await page.locator(".note", { hasText: "1 remote part was left out" }).waitFor();
  await page.click("#tab-calendar");
  await page.locator(".meeting h2", { hasText: "Review e1" }).waitFor();
  await page.click("#tab-attachments");
  assert(!sent.some((r) => r.includes("/attachments/")), "a file was fetched before it was saved");
  const [d] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save plan.txt" }).click()]);
  assert(readFileSync(await d.path(), "utf8").trim() === "step one", "the file differs");
  assert(sent.filter((r) => r.includes("/attachments/")).length === 1, "the file was not fetched when it was saved, and only then");
  await page.reload();
  await page.locator("article h1", { hasText: "Our plan" }).waitFor();
  const kept = await page.evaluate(() => new Promise((done) => {
    const r = indexedDB.open("inbox-keys");
    r.onsuccess = () => (r.result.transaction("keys").objectStore("keys").getAll().onsuccess = (e) => done(e.target.result.map((k) => [k.key instanceof CryptoKey, k.key.extractable])));
  }));
  assert(kept.length === 1 && kept[0][0] && kept[0][1] === false, "the key that is kept can be read out: " + JSON.stringify(kept));
  assert(!/AGE-SECRET/.test(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]))), "the private key is in the page");
});

await test("after a change of the key both mails open; without keys the page says what to do", async () => {
  await makeKey("Change the key", "a long passphrase");
  await deliver(smtp, "ann@example.com", safe, mail("The second plan", "Newer."));
  await go("#/mail/" + safe);
  await row("Encrypted").click();
  await page.locator("article h1", { hasText: "The second plan" }).waitFor();
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "Our plan" }).waitFor();
  assert(!secret(), "the private key is in a request");
  const public2 = (await api("GET", "/api/account", await token())).account.encryption.public_key;
  assert(sent.some((r) => r.includes(public2)), "no request was looked at");
  // Signing out deletes the keys.
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.fill("[name=email]", account.email);
  await page.fill("[name=password]", account.password);
  await page.keyboard.press("Enter");
  await page.locator(".mails .row").first().waitFor();
  await go("#/mail/" + safe);
  await row("Encrypted").click();
  await page.locator(".locked", { hasText: "Open your key file" }).waitFor();
  await page.locator(".locked").getByRole("link", { name: "Open a key file" }).click();
  await page.setInputFiles("#open-key-file", keyFiles[1]);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.locator("#open-key-passphrase-bad, #open-key .bad").first().waitFor();
  await page.setInputFiles("#open-key-file", keyFiles[0]);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.locator(".sayings", { hasText: "1 key opened" }).waitFor();
  await go("#/mail/" + safe);
  await row("Encrypted").click();
  await page.locator(".locked", { hasText: "None of the keys" }).waitFor();
  await page.keyboard.press("j");
  await page.locator("article h1", { hasText: "Our plan" }).waitFor();
  assert(!secret(), "the private key is in a request");
});

await test("over plain HTTP from elsewhere no keys are made, and addresses can still be copied", async () => {
  const t = await token(), p = await open(), there = base.replace("127.0.0.1", "plain.test");
  await p.goto(there + "/docs");
  await p.evaluate((t) => sessionStorage.setItem("inbox-session", t), t);
  await p.goto(there + "/#/account");
  await p.locator(".note", { hasText: "Encryption needs HTTPS" }).waitFor();
  assert(!(await p.locator("#encryption-begin, #open-key").count()), "keys can be made");
  await p.goto(there + "/#/mail/" + safe);
  await p.getByRole("button", { name: "Copy the address" }).click();
  await p.locator(".sayings", { hasText: "Copied" }).waitFor();
  await p.fill("#search", "");
  await p.focus("#search");
  await p.keyboard.press("Control+V");
  assert((await p.inputValue("#search")) === safe, "the address was not copied");
  await p.context().close();
});
