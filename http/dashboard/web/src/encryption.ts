// Setting up end-to-end encryption. The key pair is made here, and the public key is sent to the
// service only after the user has shown that the key file is stored. The private key is sent
// nowhere.
import type { VNode } from "snabbdom";
import * as api from "./api";
import * as ring from "./ring";
import * as sealed from "./sealed";
import * as reader from "./reader";
import { loadAccount, session } from "./session";
import { changed, part } from "./store";
import { button, chip, closeDialog, confirm, copyButton, el, field, form, full, isBusy, openDialog, present, run, save, say, trouble, troubleOf, when, wrong, type Child } from "./ui";
import type { Account, Encryption } from "./wire";
import * as words from "./words";

type Step = "" | "file" | "confirm";

const setup = part(() => ({ step: "" as Step, identity: "", recipient: "", saved: false, held: [] as ring.Held[], loaded: false, part: 0 }));

/** changing reports whether a key is already set. Changing it takes the password. */
const changing = () => session.account?.encryption.enabled ?? false;

const chunk = () => import("./age");

/** done shows the progress of a passphrase computation, in steps of ten percent. */
function done(part: number) {
  const tenth = Math.floor(part * 10) * 10;
  if (tenth === setup.part) return;
  setup.part = tenth;
  changed();
}

const busyWord = (what: string) => (setup.part > 0 && setup.part < 100 ? `${what} ${setup.part} %` : what + "…");

export function enter() {
  void recount();
}

async function recount() {
  const id = session.account?.id;
  if (!id) return;
  setup.held = await ring.keys(id);
  setup.loaded = true;
  changed();
}

export function view(a: Account): Child[] {
  if (!setup.loaded) void recount();
  const e = a.encryption;
  const first = [el("h2", null, "Encryption"), el("p", null, "Messages to an encrypted inbox are encrypted when they arrive. Only your key decrypts them, in this page or with ", el("span.mono", null, "age"), ". The service never has that key, so nobody can restore it for you. Keep the key file.")];
  if (!window.isSecureContext) return [...first, el("p.note", null, "Encryption needs HTTPS: over plain HTTP, an attacker could change this page and steal your key.")];
  return [...first, status(e), setup.step === "file" ? saving() : setup.step === "confirm" ? confirming() : beginning(e), openFile(e), held(e)];
}

const status = (e: Encryption) => el("div.key", null, chip(e.enabled ? "on" : "off", e.enabled ? "good" : ""), e.enabled && e.public_key ? [" since ", e.set_at ? when(e.set_at, words.long) : "", ". ", words.plural(e.encrypted_inboxes ?? 0, "encrypted inbox", "encrypted inboxes"), ".", el("p", null, el("span.quiet", null, "Public key "), el("span.mono.wrap", null, e.public_key), " ", copyButton(e.public_key, "Copy", { "aria-label": "Copy the public key" }, "button.tiny"))] : " New inboxes are not encrypted.");

function beginning(e: Encryption): VNode {
  const begin = button(isBusy("pair") ? "One moment…" : e.enabled ? "Change the key" : "Set up encryption", () => void run("pair", async () => {
    const p = await (await chunk()).pair();
    Object.assign(setup, { step: "file", saved: false }, p);
  }).catch(wrong), { id: "encryption-begin" }, e.enabled ? "button" : "button.main");
  if (!e.enabled) return el("div.steps-card", null, el("h3", null, "1 of 3: make a key pair"), el("p", null, "The key pair is made in this browser. The private key leaves the browser only as a file that you keep."), el("div.buttons.start", null, begin));
  return el("div.buttons.start", null, begin,
    button("Turn off", () => openDialog({ title: "Turn encryption off?", body: () => [el("p", null, "No encrypted inboxes can then be made. This is refused while an encrypted inbox exists."), form("encryption-off", [
      { name: "password", label: "Password", type: "password", required: true, auto: "current-password", autofocus: true },
    ], "Turn off", async (v) => {
      await api.json("DELETE", "/api/account/encryption", { password: v.password });
      await loadAccount();
      closeDialog();
    })] }), {}, "button.danger"));
}

function saving(): VNode {
  return full("form.steps-card", { key: "step-file", on: { submit: (ev: Event) => {
    ev.preventDefault();
    const pass = new FormData(ev.target as HTMLFormElement).get("passphrase") as string;
    void run("key-file", async () => {
      const bytes = await (await chunk()).file(setup.identity, setup.recipient, pass, done);
      save(pass ? "inbox-key.age" : "inbox-key.txt", "application/octet-stream", bytes);
      setup.saved = true;
      setup.step = "confirm";
    }).catch(wrong);
  } } }, el("h3", null, "2 of 3: keep the key file"), el("p", null, "The key pair is made. Download the private key. Anyone who has the file can read your messages, and without it nobody can."),
    field("key-file", { name: "passphrase", label: "Passphrase for the file (recommended)", type: "password", auto: "new-password", hint: "The file cannot be used without it. If it is empty, the file is not encrypted." }),
    troubleOf("key-file", []),
    el("div.buttons.start", null, el("button.main", { type: "submit", disabled: isBusy("key-file"), id: "key-file-save" }, isBusy("key-file") ? busyWord("Encrypting the file") : "Download key file"), button("Cancel", cancel)));
}

function confirming(): VNode {
  return fileForm("confirm-key", "3 of 3: confirm the key file", "Open the file that you just saved. Encryption is then turned on.", "Turn encryption on", async (found, at) => {
    const mine = found.find((k) => k.recipient === setup.recipient);
    if (!mine) return trouble("confirm-key", "file", "This is a different key file. Open the one that you just saved.");
    const id = session.account!.id;
    await api.json("PUT", "/api/account/encryption", { public_key: setup.recipient, password: changing() ? String(new FormData(at).get("password") ?? "") : undefined });
    const lasting = await ring.keep(await (await chunk()).held(id, mine));
    cancel();
    await loadAccount();
    await recount();
    say(lasting ? "Encryption is on. New inboxes can be encrypted." : "Encryption is on. This browser cannot store keys: open the key file after each reload.");
  }, cancel, changing() ? field("confirm-key", { name: "password", label: "Password of the account", type: "password", required: true, auto: "current-password" }) : null);
}

function cancel() {
  Object.assign(setup, { step: "", identity: "", recipient: "", saved: false });
  changed();
}

function openFile(e: Encryption): VNode | null {
  if (setup.step || (!e.enabled && !setup.held.length)) return null;
  return fileForm("open-key", "Open a key file", "The key decrypts messages in this browser. Messages for earlier keys need their key files too.", "Open", async (found, at) => {
    if (!found.length) return trouble("open-key", "file", "This file contains no private key.");
    for (const k of found) await ring.keep(await (await chunk()).held(session.account!.id, k));
    at.reset();
    await recount();
    await reader.unseal();
    say(`${words.plural(found.length, "key")} opened in this browser.`);
  });
}

type Found = { identity: string; recipient: string }[];

function fileForm(id: string, title: string, text: string, label: string, act: (found: Found, at: HTMLFormElement) => Promise<void>, cancelled?: () => void, more: Child = null): VNode {
  return full("form.steps-card", { key: id, attrs: { id }, on: { submit: (ev: Event) => {
    ev.preventDefault();
    const at = ev.target as HTMLFormElement, data = new FormData(at), f = data.get("file") as File | null;
    void run(id, async () => {
      if (!f?.size) return trouble(id, "file", "Choose the key file.");
      if (f.size > 1 << 20) return trouble(id, "file", "This is not a key file.");
      const { identities, Locked } = await chunk();
      let found: Found;
      try {
        found = await identities(new Uint8Array(await f.arrayBuffer()), String(data.get("passphrase") ?? ""), done);
      } catch (e) {
        return trouble(id, e instanceof Locked ? "passphrase" : "file", e instanceof Locked ? e.message : "This is not a key file.");
      }
      await act(found, at);
    }).catch(wrong);
  } } }, el("h3", null, title), el("p", null, text),
    el("div.field", null, el("label", { for: id + "-file" }, "Key file"), el("input", present({ type: "file", name: "file", id: id + "-file", accept: ".txt,.age,.key,text/plain" })), troubleFor(id, "file")),
    field(id, { name: "passphrase", label: "Passphrase, if it has one", type: "password", auto: "off" }), troubleOf(id, ["file", "passphrase"]), more,
    el("div.buttons.start", null, el("button.main", { type: "submit", disabled: isBusy(id) }, isBusy(id) ? busyWord("Opening") : label), cancelled && button("Cancel", cancelled)));
}

const troubleFor = (id: string, name: string) => troubleOf(id, ["passphrase", ""].filter((n) => n !== name));

function held(e: Encryption): VNode | null {
  if (!setup.held.length) return e.enabled ? el("p.note", null, "No key is open in this browser, so encrypted messages cannot be read here.") : null;
  return el("div", null, el("h3", null, "Keys open in this browser"),
    el("ul.files", null, setup.held.map((k) => el("li", null, el("span.mono.wrap", null, k.recipient), k.recipient === e.public_key && chip("in use", "good"), typeof k.key === "string" && chip("until reload", "warn"),
      button("Forget", () => confirm("Forget this key?", "Messages encrypted for it cannot be read in this browser until its file is opened again.", "Forget", async () => {
        await ring.forget(k.account, k.recipient);
        await recount();
      }), { "aria-label": "Forget " + k.recipient.slice(0, 16) }, "button.small")))),
    el("div.field.check", null, full("input", { attrs: { type: "checkbox", id: "keys-stay" }, props: { checked: sealed.staysAfterSignOut() }, on: { change: (ev: Event) => (sealed.setStays((ev.target as HTMLInputElement).checked), changed()) } }),
      el("label", { for: "keys-stay" }, "Keep these keys in this browser after signing out")));
}
