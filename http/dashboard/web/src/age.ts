// Keys and envelopes of age (age-encryption.org/v1). This chunk is loaded when encryption is used.
import { Decrypter, Encrypter, armor, generateX25519Identity, identityToRecipient } from "age-encryption";
import { bech32 } from "@scure/base";
import { locking, unlocking, type Done } from "./passphrase";
import { locked, type Held } from "./ring";
import { pieces } from "./turns";

/** pair makes a key pair. The identity is the private key. */
export async function pair(): Promise<{ identity: string; recipient: string }> {
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

/**
 * file returns the key file in the format of age-keygen. With a passphrase it is an encrypted age
 * file, which takes a second or two.
 */
export async function file(identity: string, recipient: string, passphrase: string, done: Done): Promise<Uint8Array<ArrayBuffer>> {
  const text = `# created: ${new Date().toISOString().slice(0, 19)}Z\n# public key: ${recipient}\n${identity}\n`;
  if (!passphrase) return new TextEncoder().encode(text);
  const e = new Encrypter();
  e.addRecipient(locking(passphrase, done));
  return new Uint8Array(await e.encrypt(text));
}

/** Locked is thrown if a key file needs a passphrase, or a different one. */
export class Locked extends Error {}

/** identities returns the private keys in a key file. */
export async function identities(bytes: Uint8Array<ArrayBuffer>, passphrase: string, done: Done): Promise<{ identity: string; recipient: string }[]> {
  let text = new TextDecoder().decode(bytes);
  if (/^-----BEGIN AGE|^age-encryption\.org\/v1/.test(text)) {
    if (!passphrase) throw new Locked("This key file is locked: enter its passphrase.");
    const d = new Decrypter();
    d.addIdentity(unlocking(passphrase, done));
    try {
      text = await d.decrypt(text.startsWith("---") ? armor.decode(text) : bytes, "text");
    } catch {
      throw new Locked("The passphrase does not open this key file.");
    }
  }
  const found = text.match(/^AGE-SECRET-KEY-1[0-9A-Z]+$/gm) ?? [];
  const out = [];
  for (const identity of found) out.push({ identity, recipient: await identityToRecipient(identity) });
  return out;
}

/** held converts a private key to the form that the key ring stores. */
export async function held(account: string, k: { identity: string; recipient: string }): Promise<Held> {
  const key = await locked(bech32.decodeToBytes(k.identity.toLowerCase()).bytes);
  return { account, recipient: k.recipient, key: key ?? k.identity, added: new Date().toISOString() };
}

/** open decrypts with the first key that fits. It returns null if none does. */
export async function open(envelope: Uint8Array<ArrayBuffer>, keys: Held[]): Promise<Uint8Array<ArrayBuffer> | null> {
  const d = new Decrypter();
  for (const k of keys) d.addIdentity(k.key);
  try {
    return new Uint8Array(await new Response(await d.decrypt(pieces(envelope))).arrayBuffer());
  } catch (e) {
    if (/no identity matched/i.test(String(e))) return null;
    throw e;
  }
}
