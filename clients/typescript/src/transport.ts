import { ApiError, ConnectionError, InboxdError, TimeoutError, UnexpectedAnswerError } from "./errors.js";
import type { CallOptions } from "./types.js";

/** Options of the client. */
export interface Options {
  /** URL of the service. Default: the variable `INBOX_BASE_URL`, else `http://127.0.0.1:8080`. */
  baseUrl?: string;
  /** An account key, an inbox key or a session token. Default: the variable `INBOX_API_KEY`. Required. */
  apiKey?: string;
  /** Time limit of one call with its retries, in milliseconds; waits and streams have their own. Default 30,000. */
  timeout?: number;
  /** How often a call is retried where that is safe. Default 2. */
  retries?: number;
  /** The function that makes the requests. Default: the platform's `fetch`. */
  fetch?: typeof fetch;
}

export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: object;
  body?: unknown;
  /** The call is safe to execute twice, although its method and headers do not imply it. */
  safe?: boolean;
  headers?: Record<string, string>;
  /** A field that is required in the response. */
  member?: string;
}

export const sleep = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });

/** backOff returns the pause before retry n (from 0), in milliseconds: it doubles, with jitter, up to 8 s. */
const backOff = (n: number) => Math.min(8000, 200 * 2 ** n) * (0.75 + Math.random() / 2);

/** The longest pause that the service may request, in milliseconds. */
export const longestPause = 30_000;

/** pauseBefore returns the pause before retry n, in milliseconds: our own, or a longer one that the service requests. */
export const pauseBefore = (n: number, err: unknown) => Math.max(backOff(n), (err instanceof ApiError && err.retryAfter ? err.retryAfter : 0) * 1000);

const environment = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};

/** A signal that aborts when another one aborts, or when the time is over. */
export class Deadline {
  readonly #controller = new AbortController();
  #timer?: ReturnType<typeof setTimeout>;
  passed = false;

  constructor(
    ms: number,
    readonly outer?: AbortSignal,
  ) {
    if (outer?.aborted) this.#follow();
    outer?.addEventListener("abort", this.#follow, { once: true });
    this.arm(ms);
  }
  /** arm restarts the time; Infinity: no time limit. */
  arm(ms: number) {
    clearTimeout(this.#timer);
    if (!Number.isFinite(ms)) return;
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#controller.abort();
    }, ms);
  }
  #follow = () => this.#controller.abort(this.outer!.reason);
  get signal() {
    return this.#controller.signal;
  }
  release() {
    clearTimeout(this.#timer);
    this.outer?.removeEventListener("abort", this.#follow);
  }
}

/** Transport makes calls, retries them where that is safe, and throws the errors. */
export class Transport {
  readonly base: string;
  readonly timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;
  readonly #credential: Record<string, string>;
  /** How far the clock of the service is ahead of ours, in milliseconds, by its latest response. */
  skew = 0;

  constructor(options: Options) {
    this.base = (options.baseUrl || environment["INBOX_BASE_URL"] || "http://127.0.0.1:8080").replace(/\/+$/, "");
    if (!/^https?:\/\/[^/?#\s]+[^?#\s]*$/i.test(this.base)) {
      throw new InboxdError(`invalid base URL ${JSON.stringify(this.base)}: use a URL such as http://127.0.0.1:8080 or https://mail.example.com`);
    }
    this.timeout = options.timeout ?? 30_000;
    this.#retries = options.retries ?? 2;
    this.#fetch = options.fetch ?? ((...a) => globalThis.fetch(...a));
    const key = options.apiKey ?? environment["INBOX_API_KEY"] ?? "";
    if (!key) throw new InboxdError("the API key is missing: set INBOX_API_KEY to a key of the service, svc_live_... or svc_sk_..., or pass apiKey");
    this.#credential = key.startsWith("svc_sess_") ? { Authorization: `Bearer ${key}` } : { "X-API-Key": key };
  }

  /** now returns the approximate time by the clock of the service. */
  now() {
    return Date.now() + this.skew;
  }

  /** json makes a call and returns its decoded response. */
  async json<T>(call: Call, options: CallOptions = {}): Promise<T> {
    return this.#attempts(call, options, async (response) => {
      const text = await response.text();
      let answer: unknown;
      try {
        answer = JSON.parse(text);
      } catch (cause) {
        throw new UnexpectedAnswerError(`${named(call)}: the response is not JSON or is truncated: ${excerpt(text)}`, response.status, { cause });
      }
      if (typeof answer !== "object" || answer === null || (call.member && !(call.member in answer))) {
        throw new UnexpectedAnswerError(`${named(call)}: the response is not from the inbox service: ${excerpt(text)}`, response.status);
      }
      return answer as T;
    });
  }

  /** member makes a call and returns the field `call.member` of its response. */
  async member<T>(call: Call & { member: string }, options?: CallOptions): Promise<T> {
    return (await this.json<Record<string, T>>(call, options))[call.member]!;
  }

  /** list iterates over a paged list, which is the field `member` of each page. */
  async *list<T>(path: string, member: string, query: object, options?: CallOptions): AsyncGenerator<T, void, undefined> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Record<string, T[]> & { next_cursor?: string | null } = await this.json({ method: "GET", path, query: { ...query, cursor }, member }, options);
      yield* page[member]!;
      cursor = page.next_cursor || null;
    }
  }

  /** bytes makes a call and returns the body of its response. */
  async bytes(call: Call, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#attempts(call, options, async (response) => new Uint8Array(await response.arrayBuffer()));
  }

  /** open makes one attempt and leaves the body to the caller; signal aborts both. */
  async open(call: Call, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { Accept: "application/json", ...this.#credential, ...call.headers };
    let body: string | undefined;
    if (call.body !== undefined) {
      headers["Content-Type"] = "application/json";
      body = JSON.stringify(call.body);
    }
    let response: Response;
    try {
      response = await this.#fetch(this.url(call), { method: call.method, headers, body, signal, redirect: "manual" });
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      throw new ConnectionError(`${named(call)}: cannot reach ${this.base}: ${reason(cause)}`, { cause });
    }
    const date = Date.parse(response.headers.get("Date") ?? "");
    this.skew = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0; // the header has whole seconds
    if (!response.ok) throw await refusal(call, response);
    return response;
  }

  url(call: Call): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value === undefined || value === null || value === "") continue;
      query.set(name, value instanceof Date ? value.toISOString() : String(value));
    }
    const tail = query.toString();
    return this.base + call.path + (tail && `?${tail}`);
  }

  async #attempts<T>(call: Call, options: CallOptions, read: (response: Response) => Promise<T>): Promise<T> {
    const time = options.timeout ?? this.timeout;
    const deadline = new Deadline(time, options.signal);
    try {
      for (let n = 0; ; n++) {
        try {
          const response = await this.open(call, deadline.signal);
          try {
            return await read(response);
          } catch (cause) {
            if (cause instanceof InboxdError || deadline.signal.aborted) throw cause;
            throw new ConnectionError(`${named(call)}: the response was interrupted: ${reason(cause)}`, { cause });
          }
        } catch (err) {
          if (options.signal?.aborted) throw options.signal.reason;
          if (deadline.passed) throw new TimeoutError(`${named(call)}: no response within ${time} ms`);
          if (n >= this.#retries || !mayRepeat(call, err)) throw err;
          const pause = pauseBefore(n, err);
          if (pause > longestPause) throw err;
          await sleep(pause, deadline.signal).catch(() => {
            if (options.signal?.aborted) throw options.signal.reason;
            throw err;
          });
        }
      }
    } finally {
      deadline.release();
    }
  }
}

/** mayRepeat reports whether a failed call may be retried: it was certainly not executed, or may be executed twice. */
function mayRepeat(call: Call, err: unknown): boolean {
  const twice = call.safe || call.method === "GET" || call.method === "PUT" || call.headers?.["Idempotency-Key"] !== undefined;
  if (err instanceof ApiError) return err.status === 503 || err.status === 429 || (twice && err.status >= 500 && err.status !== 507);
  if (err instanceof UnexpectedAnswerError) return twice && err.status >= 500;
  return err instanceof ConnectionError && (twice || refused(err.cause));
}

/** passes reports whether an error is likely to be temporary, such as a restart of the service. */
export function passes(err: unknown): boolean {
  if (err instanceof ApiError || err instanceof UnexpectedAnswerError) return err.status >= 500 || err.status === 429;
  return err instanceof ConnectionError;
}

/** refused reports whether no connection was made, so that nothing was sent. */
function refused(cause: unknown): boolean {
  const inner = (cause as { cause?: { code?: string } } | undefined)?.cause;
  return inner?.code === "ECONNREFUSED" || inner?.code === "ENOTFOUND";
}

async function refusal(call: Call, response: Response): Promise<InboxdError> {
  const text = await response.text().catch(() => "");
  let detail: unknown, code: string | undefined, field: string | undefined;
  try {
    ({ detail, code, field } = JSON.parse(text) as { detail?: unknown; code?: string; field?: string });
  } catch {
    // not from the service: reported below
  }
  if (typeof detail !== "string") {
    return new UnexpectedAnswerError(`${named(call)}: HTTP ${response.status}, not from the inbox service: ${excerpt(text)}`, response.status);
  }
  const after = response.headers.get("Retry-After");
  const seconds = after !== null && /^\d+$/.test(after) ? Number(after) : undefined;
  return new ApiError(response.status, detail, response.headers.get("X-Request-Id") ?? "", seconds, code, field);
}

const named = (call: Call) => `${call.method} ${call.path}`;
const excerpt = (text: string) => JSON.stringify(text.length > 200 ? text.slice(0, 200) + "…" : text);

/** reason returns the platform's text about an error; the inner error is more specific. */
export function reason(err: unknown): string {
  const inner = (err as { cause?: { message?: string; code?: string } }).cause;
  return inner?.message || inner?.code || (err as Error).message;
}

/** once returns the Idempotency-Key header of a call; without a key, one is generated. */
export const once = (given?: string): Record<string, string> => ({ "Idempotency-Key": given ?? drawn() });

/** drawn returns 32 random digits; randomUUID is missing in pages loaded over plain HTTP. */
const drawn = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
