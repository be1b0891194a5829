// Opening encrypted mail: which keys there are, and what to say when none fits. What reads
// age and MIME is loaded when a mail needs it.
import * as api from "./api";
import * as ring from "./ring";
import { leaving, loadAccount, session } from "./session";
import type { Message } from "./wire";
import type { Opened } from "./sealedmail";

const stays = "inbox-keys-stay"; // the account whose keys stay after its sign-out

export const staysAfterSignOut = () => localStorage.getItem(stays) === session.account?.id;
export const setStays = (on: boolean) => (on && session.account ? localStorage.setItem(stays, session.account.id) : localStorage.removeItem(stays));

// Who chooses to sign out leaves no key behind, unless told otherwise.
leaving(async (byChoice) => {
  const id = session.account?.id;
  if (byChoice && id && !staysAfterSignOut()) await ring.forget(id);
});

/** open opens an encrypted mail with the keys of this browser, or says why it can't. */
export async function open(m: Message): Promise<Opened | { why: string }> {
  if (!session.account) await loadAccount().catch(() => {}); // right after a reload
  const id = session.account?.id;
  const keys = id ? await ring.keys(id) : [];
  if (!keys.length) return { why: `This mail is end-to-end encrypted, and no key is open in this browser. Open your key file${publicKey()}.` };
  try {
    const envelope = m.envelope ? bytes(m.envelope) : new Uint8Array(await (await api.ask("GET", api.path`/api/v1/inboxes/${m.inbox}/messages/${m.id}/raw`)).arrayBuffer());
    const got = await (await import("./sealedmail")).unseal(envelope, keys);
    return got ?? { why: "None of the keys in this browser opens this mail. It was sealed for another key: open the key file that was in use when it came." };
  } catch (e) {
    if (e instanceof api.Failure) return { why: e.message };
    return { why: "The envelope can't be opened: it is damaged, or this browser lacks what is needed." };
  }
}

function publicKey(): string {
  const k = session.account?.encryption.public_key;
  return k ? `, the one whose public key is ${k.slice(0, 12)}…${k.slice(-6)}` : "";
}

function bytes(base64: string): Uint8Array {
  const s = atob(base64), b = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i);
  return b;
}
