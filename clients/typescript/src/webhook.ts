import { InboxdError } from "./errors.js";
import type { Event } from "./types.js";

/** A webhook that must not be believed; the message says why. Answer it with 400. */
export class WebhookError extends InboxdError {}

type Headers_ = Headers | Record<string, string | string[] | undefined>;

function header(headers: Headers_, name: string): string {
  if (typeof (headers as Headers).get === "function") return (headers as Headers).get(name) ?? "";
  for (const [key, value] of Object.entries(headers as Record<string, string | string[] | undefined>)) {
    if (key.toLowerCase() === name) return Array.isArray(value) ? value.join(" ") : (value ?? "");
  }
  return "";
}

/**
 * verifyWebhook checks that a POST came from the service (standard-webhooks) and returns its event.
 * @param body the bytes as they came: text that was parsed and written again does not match
 * @param secret as it was shown at the creation, `whsec_...`
 * @param options `tolerance`: seconds that the time of signing may be off, default 300; `now`: present in Unix seconds
 * @throws WebhookError
 */
export async function verifyWebhook(body: string | Uint8Array, headers: Headers_, secret: string, options: { tolerance?: number; now?: number } = {}): Promise<Event> {
  const id = header(headers, "webhook-id");
  const stamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  if (!id || !stamp || !signatures) throw new WebhookError("The request has no webhook-id, webhook-timestamp or webhook-signature: it is no webhook, or something took them off");
  if (!/^\d{1,15}$/.test(stamp)) throw new WebhookError("webhook-timestamp is no number of seconds");
  const now = options.now ?? Date.now() / 1000;
  const off = now - Number(stamp);
  if (Math.abs(off) > (options.tolerance ?? 300)) {
    throw new WebhookError(`The webhook was signed ${Math.floor(Math.abs(off))} seconds ${off > 0 ? "ago" : "ahead of this clock"}: it is old, or a clock is wrong`);
  }
  const keyBytes = decoded(secret.replace(/^whsec_/, ""));
  if (!keyBytes?.length) throw new WebhookError("The secret is not one of this service: it looks like whsec_ and base64");
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${stamp}.`);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  const key = await crypto.subtle.importKey("raw", keyBytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const one of signatures.split(" ")) {
    if (!one.startsWith("v1,")) continue;
    const signature = decoded(one.slice(3));
    if (signature && (await crypto.subtle.verify("HMAC", key, signature, signed))) return read(bytes);
  }
  throw new WebhookError("No signature matches: the body is not the bytes that were sent, or the secret is another webhook's");
}

/** decoded is what base64 stands for; undefined: it is none. */
function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function read(body: Uint8Array): Event {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as Event;
  } catch (cause) {
    throw new WebhookError("The webhook is signed and holds no event", { cause });
  }
}
