// Calls of the public API with the session's token. It knows how an answer fails, and tells
// of it in the service's own sentence; it refuses to know what is asked for.

/** Failure is a refusal: its message is the sentence to show. Status 0: no answer came. */
export class Failure extends Error {
  constructor(readonly status: number, sentence: string) {
    super(sentence);
  }
  /** field is the one that a 422 names, "" otherwise: `cc` for `cc[1]`. */
  get field(): string {
    return (this.status === 422 && /^Invalid request: '([A-Za-z_]+)/.exec(this.message)?.[1]) || "";
  }
  /** passing failures are the service's, and are tried again. */
  get passing(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

/** Left is thrown where a sign-in ended while its answer was on the way. */
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

/** watch says whom to tell of a credential that no longer counts, and of a service in trouble. */
export function watch(onRefused: () => void, onTrouble: (f: Failure | null) => void) {
  refused = onRefused;
  trouble = onTrouble;
}

export type Options = { once?: string; signal?: AbortSignal; headers?: Record<string, string> };

/** ask makes a call and returns the response when it is a success. */
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
    throw fail(new Failure(0, "The service can't be reached. The page tries again by itself."));
  }
  if (signal.aborted) throw new Left();
  if (r.ok) {
    trouble(null);
    return r;
  }
  const f = new Failure(r.status, await sentence(r));
  if (signal.aborted) throw new Left(); // another refusal ended the sign-in while this one was read
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
    return `The service answered ${r.status}.`;
  }
}

/** json makes a call and returns what it answers. */
export async function json<T>(method: string, path: string, body?: unknown, o?: Options): Promise<T> {
  const r = await ask(method, path, body, o);
  try {
    return (await r.json()) as T;
  } catch {
    if (life.signal.aborted || o?.signal?.aborted) throw new Left();
    throw fail(new Failure(0, "The answer broke off. The page tries again by itself."));
  }
}

export const get = <T>(path: string, o?: Options) => json<T>("GET", path, undefined, o);

/** path fills a path: path`/api/v1/inboxes/${addr}/latest`. */
export function path(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return parts.reduce((all, p, i) => all + encodeURIComponent(String(values[i - 1])) + p);
}

/** query makes "?a=1&b=2" of what is there. */
export function query(q: Record<string, string | number | boolean | null | undefined>): string {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries(q)) if (v !== undefined && v !== null && v !== "" && v !== false) p.set(k, String(v));
  const s = p.toString();
  return s && "?" + s;
}

/** newOnce names a request, so that it is done once however often it is sent. */
export const newOnce = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

/** onceEach names the tries of one form: those with the same body alike, for the answer of the first may only be lost. */
export function onceEach(): (body: unknown) => string {
  let last = "", name = "";
  return (body) => {
    const now = JSON.stringify(body);
    if (now !== last) name = newOnce();
    last = now;
    return name;
  };
}
