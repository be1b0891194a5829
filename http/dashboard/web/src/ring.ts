// The key ring: the keys of one account in one browser that decrypt messages. They are stored in
// IndexedDB as CryptoKeys that cannot be exported. If the browser has no X25519 or no storage, they
// stay in memory. This module does not know what the keys decrypt.

/** Held is one private key: a CryptoKey, or its text if the browser has no X25519. */
export type Held = { account: string; recipient: string; key: CryptoKey | string; added: string };

let inMemory: Held[] = [];

function database(): Promise<IDBDatabase> {
  return new Promise((done, fail) => {
    const r = indexedDB.open("inbox-keys", 1);
    r.onupgradeneeded = () => r.result.createObjectStore("keys", { keyPath: ["account", "recipient"] });
    r.onsuccess = () => done(r.result);
    r.onerror = () => fail(r.error);
  });
}

async function stored<T>(mode: IDBTransactionMode, act: (s: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await database();
  try {
    return await new Promise<T>((done, fail) => {
      const t = db.transaction("keys", mode), r = act(t.objectStore("keys"));
      t.oncomplete = () => done(r.result);
      t.onerror = t.onabort = () => fail(t.error);
    });
  } finally {
    db.close();
  }
}

/** keys returns the keys of an account. */
export async function keys(account: string): Promise<Held[]> {
  let kept: Held[] = [];
  try {
    kept = await stored<Held[]>("readonly", (s) => s.getAll());
  } catch {
    // No IndexedDB: only the keys in memory are available.
  }
  return [...inMemory, ...kept].filter((k) => k.account === account);
}

/** keep adds a key. It returns whether the key survives a reload. */
export async function keep(k: Held): Promise<boolean> {
  const same = (x: Held) => x.account === k.account && x.recipient === k.recipient;
  inMemory = inMemory.filter((x) => !same(x));
  if (typeof k.key !== "string") {
    try {
      await stored("readwrite", (s) => s.put(k));
      return true;
    } catch {
      // No IndexedDB, as above.
    }
  }
  inMemory.push(k);
  return false;
}

/** forget deletes one key, or all keys of an account. */
export async function forget(account: string, recipient?: string) {
  inMemory = inMemory.filter((k) => k.account !== account || (recipient && k.recipient !== recipient));
  try {
    for (const k of await keys(account)) if (!recipient || k.recipient === recipient) await stored("readwrite", (s) => s.delete([k.account, k.recipient]));
  } catch {
    // Nothing was stored.
  }
}

/** forgetOthers deletes the keys of all accounts except these. */
export async function forgetOthers(accounts: string[]) {
  inMemory = inMemory.filter((k) => accounts.includes(k.account));
  try {
    for (const k of await stored<Held[]>("readonly", (s) => s.getAll())) if (!accounts.includes(k.account)) await stored("readwrite", (s) => s.delete([k.account, k.recipient]));
  } catch {
    // Nothing was stored.
  }
}

// The prefix of a private key in PKCS #8 (RFC 8410 section 7). It is constant.
const wrapping = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20];

/**
 * locked makes a non-exportable CryptoKey from the 32 octets. It returns null if the browser has no
 * X25519.
 */
export async function locked(octets: Uint8Array): Promise<CryptoKey | null> {
  const der = new Uint8Array([...wrapping, ...octets]);
  try {
    return await crypto.subtle.importKey("pkcs8", der, { name: "X25519" }, false, ["deriveBits"]);
  } catch {
    return null;
  } finally {
    der.fill(0);
  }
}
