// The passphrase of a key file (age-encryption.org/v1, section scrypt). The computation that makes
// guessing slow runs in turns of a few milliseconds, see turns.ts.
import { Stanza, type Identity, type Recipient } from "age-encryption";
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { scryptAsync } from "@noble/hashes/scrypt.js";
import { base64nopad } from "@scure/base";

const label = new TextEncoder().encode("age-encryption.org/v1/scrypt");
const strength = 18, strongest = 20, turn = 12; // logarithms of the work; milliseconds

/** Done receives the progress of the computation, from 0 to 1. */
export type Done = (part: number) => void;

function key(passphrase: string, salt: Uint8Array, logN: number, done: Done): Promise<Uint8Array> {
  return scryptAsync(passphrase, new Uint8Array([...label, ...salt]), { N: 2 ** logN, r: 8, p: 1, dkLen: 32, asyncTick: turn, onProgress: done });
}

/** locking encrypts a file with a passphrase. */
export const locking = (passphrase: string, done: Done): Recipient => ({
  async wrapFileKey(fileKey) {
    const salt = crypto.getRandomValues(new Uint8Array(16)), k = await key(passphrase, salt, strength, done);
    return [new Stanza(["scrypt", base64nopad.encode(salt), String(strength)], chacha20poly1305(k, new Uint8Array(12)).encrypt(fileKey))];
  },
});

/** unlocking decrypts it. It returns null if the passphrase is wrong. */
export const unlocking = (passphrase: string, done: Done): Identity => ({
  async unwrapFileKey(stanzas) {
    const [s] = stanzas, [kind, salt, logN] = s.args;
    if (kind !== "scrypt") return null;
    if (stanzas.length !== 1 || s.args.length !== 3 || !/^[1-9]\d?$/.test(logN) || Number(logN) > strongest) throw new Error("not a key file that this page can open");
    const k = await key(passphrase, base64nopad.decode(salt), Number(logN), done);
    try {
      return chacha20poly1305(k, new Uint8Array(12)).decrypt(s.body);
    } catch {
      return null;
    }
  },
});
