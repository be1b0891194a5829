// Opening encrypted mail: which keys there are, and what to say when none fits. What reads
// age and MIME is loaded when a mail needs it.
import * as api from "./api";
import * as ring from "./ring";
import { leaving, loadAccount, others, session } from "./session";
import type { Message } from "./wire";
import type { Opened } from "./sealedmail";

const stays = "inbox-keys-stay"; // the accounts whose keys stay after their sign-out

const staying = () => (localStorage.getItem(stays) ?? "").split(" ").filter(Boolean);
export const staysAfterSignOut = () => !!session.account && staying().includes(session.account.id);

export function setStays(on: boolean) {
  const id = session.account?.id, rest = staying().filter((x) => x !== id);
  localStorage.setItem(stays, [...rest, ...(on && id ? [id] : [])].join(" "));
}

// Who chooses to sign out leaves no key behind, and the next account to sign in finds none, unless told otherwise.
others((account) => ring.forgetOthers([account, ...staying()]));
leaving(async (byChoice) => {
  const id = session.account?.id;
  if (byChoice && id && !staysAfterSignOut()) await ring.forget(id);
});

/** open opens an encrypted mail with the keys of this browser, or says why it can't. */
export async function open(m: Message): Promise<Opened | { why: string }> {
  const keys = await held();
  if (!keys.length) return { why: `This mail is end-to-end encrypted, and no key is open in this browser. Open your key file${publicKey()}.` };
  try {
    const got = await (await chunk()).unseal(await envelope(m), keys);
    return got ?? { why: "None of the keys in this browser opens this mail. It was sealed for another key: open the key file that was in use when it came." };
  } catch (e) {
    if (e instanceof api.Failure) return { why: e.message };
    return { why: "The envelope can't be opened: it is damaged, or this browser lacks what is needed." };
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

const locked = () => new api.Failure(0, "The key that opened this mail is no longer in this browser.");

/** source is an opened mail as it was received. Nothing keeps it. */
export async function source(m: Message): Promise<Uint8Array<ArrayBuffer>> {
  const got = await (await chunk()).source(await envelope(m), await held());
  if (!got) throw locked();
  return got;
}

/** file is the n-th file of an opened mail: out of an envelope of its own, where the service has the same files, else out of the mail's. */
export async function file(m: Message, files: Opened["files"], n: number): Promise<Uint8Array<ArrayBuffer>> {
  // Ends of lines in a text are counted otherwise here than there.
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
