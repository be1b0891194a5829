// Decrypts messages: selects the keys, and explains what to do if none fits. The code for age and
// MIME is loaded when a message needs it.
import * as api from "./api";
import * as ring from "./ring";
import { leaving, loadAccount, others, session } from "./session";
import type { Message } from "./wire";
import type { Opened } from "./sealedmail";

const stays = "inbox-keys-stay"; // the accounts whose keys stay after sign-out

const staying = () => (localStorage.getItem(stays) ?? "").split(" ").filter(Boolean);
export const staysAfterSignOut = () => !!session.account && staying().includes(session.account.id);

export function setStays(on: boolean) {
  const id = session.account?.id, rest = staying().filter((x) => x !== id);
  localStorage.setItem(stays, [...rest, ...(on && id ? [id] : [])].join(" "));
}

// A sign-out deletes the account's keys, and a sign-in deletes the keys of other accounts, unless
// their owner chose to keep them.
others((account) => ring.forgetOthers([account, ...staying()]));
leaving(async (byChoice) => {
  const id = session.account?.id;
  if (byChoice && id && !staysAfterSignOut()) await ring.forget(id);
});

/** open decrypts a message with the keys of this browser, or returns the reason why it cannot. */
export async function open(m: Message): Promise<Opened | { why: string }> {
  const keys = await held();
  if (!keys.length) return { why: `This message is end-to-end encrypted, and no key is open in this browser. Open your key file${publicKey()}.` };
  try {
    const got = await (await chunk()).unseal(await envelope(m), keys);
    return got ?? { why: "None of the keys in this browser decrypts this message. Open the key file that was in use when it arrived." };
  } catch (e) {
    if (e instanceof api.Failure) return { why: e.message };
    return { why: "The envelope cannot be decrypted: it is damaged, or this browser lacks a required feature." };
  }
}

const chunk = () => import("./sealedmail");

async function held(): Promise<ring.Held[]> {
  if (!session.account) await loadAccount().catch(() => {}); // right after a reload
  return session.account ? ring.keys(session.account.id) : [];
}

const fetched = async (path: string) => new Uint8Array(await (await api.ask("GET", path)).arrayBuffer());
const of = (m: Message) => api.path`/api/v1/inboxes/${m.inbox}/messages/${m.id}`;
const envelope = (m: Message) => (m.envelope ? bytes(m.envelope) : fetched(of(m) + "/raw"));

const locked = () => new api.Failure(0, "The key that decrypted this message is no longer in this browser.");

/** source returns a decrypted message as received. It is not cached. */
export async function source(m: Message): Promise<Uint8Array<ArrayBuffer>> {
  const got = await (await chunk()).source(await envelope(m), await held());
  if (!got) throw locked();
  return got;
}

/**
 * file returns the n-th file of a decrypted message: from the file's own envelope if the service
 * has the same list of files, else from the message's envelope.
 */
export async function file(m: Message, files: Opened["files"], n: number): Promise<Uint8Array<ArrayBuffer>> {
  // The service and this page count line ends in text differently, so sizes of text files are not
  // compared.
  const alike = m.attachments.length === files.length && m.attachments.every((a, i) => !a.truncated && (a.size_bytes === files[i].size || /^(text|message)\//i.test(files[i].type)));
  const c = await chunk(), keys = await held();
  const got = alike ? await c.source(await fetched(of(m) + api.path`/attachments/${m.attachments[n].id}`), keys) : await c.file(await envelope(m), keys, n);
  if (!got) throw locked();
  return got;
}

function publicKey(): string {
  const k = session.account?.encryption.public_key;
  return k ? `, the one whose public key is ${k.slice(0, 12)}…${k.slice(-6)}` : "";
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  const s = atob(base64), b = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i);
  return b;
}
