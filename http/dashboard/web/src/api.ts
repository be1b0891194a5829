// Calls of the public API with the session's token. This module knows how a call fails, and reports
// the service's own sentence. It does not know what is requested.

/**
 * Failure is an error response. Its message is the sentence to show. Status 0 means that there was
 * no response.
 */
export class Failure extends Error {
  constructor(readonly status: number, sentence: string) {
    super(sentence);
  }
  /** field is the field that a 422 names, else "". For `cc[1]` it is `cc`. */
  get field(): string {
    return (this.status === 422 && /^Invalid request: '([A-Za-z_]+)/.exec(this.message)?.[1]) || "";
  }
  /** passing reports whether the failure is the service's, so that the call is retried. */
  get passing(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

/** Left is thrown if the sign-in ended before the response arrived. */
export class Left extends Error {}

let token = "";
let life = new AbortController();
let refused: () => void = () => {};
let trouble: (f: Failure | null) => void = () => {};

export function setToken(t: string) {
  life.abort();
  life = new AbortController();
  token = t;
}

export const hasToken = () => token !== "";

/** watch registers who is notified of a rejected credential, and of a service that fails or recovers. */
export function watch(onRefused: () => void, onTrouble: (f: Failure | null) => void) {
  refused = onRefused;
  trouble = onTrouble;
}

export type Options = { once?: string; signal?: AbortSignal; headers?: Record<string, string> };

/** ask makes a call and returns the response if it is a success. */
export async function ask(method: string, path: string, body?: unknown, o: Options = {}): Promise<Response> {
  const { signal } = life;
  const mine = token;
  const headers: Record<string, string> = { ...o.headers };
  if (mine) headers.Authorization = "Bearer " + mine;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (o.once) headers["Idempotency-Key"] = o.once;
  let r: Response;
  try {
    r = await fetch(path, {
      method, headers, body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
      credentials: "omit", cache: "no-store", redirect: "error", signal: o.signal ? AbortSignal.any([signal, o.signal]) : signal,
    });
  } catch (e) {
    if (signal.aborted || o.signal?.aborted) throw new Left();
    throw fail(new Failure(0, "The service can't be reached. The page retries automatically."));
  }
  if (signal.aborted) throw new Left();
  if (r.ok) {
    trouble(null);
    return r;
  }
  const f = new Failure(r.status, await sentence(r));
  if (signal.aborted) throw new Left(); // the sign-in ended because of another response while this one was read
  if (r.status === 401 && mine && mine === token) {
    refused();
    throw new Left();
  }
  throw fail(f);
}

function fail(f: Failure) {
  if (f.passing) trouble(f);
  return f;
}

async function sentence(r: Response): Promise<string> {
  try {
    return String((await r.json()).detail);
  } catch {
    return `The service responded with status ${r.status}.`;
  }
}

/** json makes a call and returns the JSON of the response. */
export async function json<T>(method: string, path: string, body?: unknown, o?: Options): Promise<T> {
  const r = await ask(method, path, body, o);
  try {
    return (await r.json()) as T;
  } catch {
    if (life.signal.aborted || o?.signal?.aborted) throw new Left();
    throw fail(new Failure(0, "The response was incomplete. The page retries automatically."));
  }
}

export const get = <T>(path: string, o?: Options) => json<T>("GET", path, undefined, o);

/** path builds an escaped path: path`/api/v1/inboxes/${addr}/latest`. */
export function path(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return parts.reduce((all, p, i) => all + encodeURIComponent(String(values[i - 1])) + p);
}

/** query builds "?a=1&b=2" from the values that are set. */
export function query(q: Record<string, string | number | boolean | null | undefined>): string {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries(q)) if (v !== undefined && v !== null && v !== "" && v !== false) p.set(k, String(v));
  const s = p.toString();
  return s && "?" + s;
}

/** newOnce makes an idempotency key, so that a request is carried out once however often it is sent. */
export const newOnce = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

/**
 * onceEach makes the idempotency keys of one form. Attempts with the same body share a key, because
 * only the response to the first may be lost.
 */
export function onceEach(): (body: unknown) => string {
  let last = "", name = "";
  return (body) => {
    const now = JSON.stringify(body);
    if (now !== last) name = newOnce();
    last = now;
    return name;
  };
}
