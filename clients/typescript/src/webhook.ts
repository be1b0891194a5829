import { InboxdError } from "./errors.js";
import type { Event } from "./types.js";

/** A webhook that must not be trusted; the message says why. Respond with 400. */
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
 * @param body the body as received: JSON that was parsed and encoded again does not match
 * @param secret the secret returned when the webhook was created, `whsec_...`
 * @param options `tolerance`: how many seconds the time of signing may differ from now, default 300; `now`: current Unix time in seconds
 * @throws WebhookError
 */
export async function verifyWebhook(body: string | Uint8Array, headers: Headers_, secret: string, options: { tolerance?: number; now?: number } = {}): Promise<Event> {
  const id = header(headers, "webhook-id");
  const stamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  if (!id || !stamp || !signatures) throw new WebhookError("The request is not a webhook: webhook-id, webhook-timestamp or webhook-signature is missing");
  if (!/^\d{1,15}$/.test(stamp)) throw new WebhookError("webhook-timestamp is not a number of seconds");
  const now = options.now ?? Date.now() / 1000;
  const off = now - Number(stamp);
  const tolerance = options.tolerance ?? 300;
  if (Math.abs(off) > tolerance) {
    throw new WebhookError(`The webhook was signed ${Math.floor(Math.abs(off))} seconds ${off > 0 ? "ago" : "ahead of this clock"}. The limit is ${tolerance} seconds; check the clocks`);
  }
  const keyBytes = decoded(secret.replace(/^whsec_/, ""));
  if (!keyBytes?.length) throw new WebhookError("Invalid secret (use whsec_ followed by base64)");
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
  throw new WebhookError("No signature matches: the body was changed, or the secret belongs to another webhook");
}

/** decoded returns the bytes that base64 encodes; undefined: it is invalid. */
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
    throw new WebhookError("The signature is valid, but the body is not an event", { cause });
  }
}
