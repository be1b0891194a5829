import { ApiError, ConnectionError, InboxdError, UnexpectedAnswerError } from "./errors.js";
import { backOff, sleep, type Call, type Transport } from "./transport.js";
import type { Event } from "./types.js";

export interface FollowOptions {
  /** Begin behind this cursor of an event; default: with what happens from now on. */
  after?: string;
  /** Only what came to this envelope recipient, `user+tag@host`. */
  to?: string;
  /** Ends the iteration; its reason is thrown. */
  signal?: AbortSignal;
  /** Called when events behind `after` are no longer kept. */
  onGap?: () => void;
  /** `auto` streams, and falls back to long polls where streams do not come through; default. */
  transport?: "auto" | "stream" | "poll";
  /** Milliseconds without a byte after which a stream counts as broken. Default 45,000: three heartbeats. */
  silence?: number;
}

/** An event and the cursor behind it: keep the cursor to go on from there. */
export type Followed = Event & { cursor: string };

const longestPause = 30_000;
const pollWait = 50;

/** Why a stream ended, where asking for another is of no use. */
class NoStream extends InboxdError {}

/**
 * follow goes through events without an end: over one connection that is made again where it broke, or by
 * long polls. No event is missed; after a break in a long poll those of one page may come again.
 */
export async function* follow(transport: Transport, path: string, options: FollowOptions = {}): AsyncGenerator<Followed, void, undefined> {
  const place = { cursor: options.after && options.after !== "now" ? options.after : "" };
  if (!place.cursor) {
    // where "now" is, so that a stream that never begins loses nothing
    place.cursor = (await transport.json<{ next: string }>({ method: "GET", path, query: { after: "now" }, safe: true, member: "next" }, options)).next;
  }
  if (options.transport !== "poll") {
    try {
      yield* streams(transport, path, options, place);
    } catch (err) {
      if (!(err instanceof NoStream) || options.transport === "stream") throw err;
    }
  }
  yield* polls(transport, path, options, place);
}

/** passes tells what is over soon from what is not. */
const passes = (err: unknown) =>
  err instanceof ConnectionError || (err instanceof ApiError && (err.status >= 500 || err.status === 429)) || (err instanceof UnexpectedAnswerError && err.status >= 500);

async function rest(n: number, err: unknown, signal?: AbortSignal) {
  const asked = err instanceof ApiError ? (err.retryAfter ?? 0) * 1000 : 0;
  await sleep(Math.min(longestPause, Math.max(backOff(n), asked)), signal);
}

async function* streams(transport: Transport, path: string, options: FollowOptions, place: { cursor: string }): AsyncGenerator<Followed, void, undefined> {
  let vain = 0;
  let begun = false;
  for (;;) {
    const controller = new AbortController();
    const end = () => controller.abort(options.signal!.reason);
    if (options.signal?.aborted) throw options.signal.reason;
    options.signal?.addEventListener("abort", end, { once: true });
    const silence = options.silence ?? 45_000;
    let quiet = false;
    const arm = (ms: number) =>
      setTimeout(() => {
        quiet = true;
        controller.abort(new ConnectionError("The stream says nothing"));
      }, ms);
    let watch = arm(begun ? silence : Math.min(silence, 10_000)); // the first block comes at once
    try {
      const call: Call = { method: "GET", path, query: { to: options.to }, headers: { Accept: "text/event-stream", "Last-Event-ID": place.cursor } };
      const response = await transport.open(call, controller.signal);
      if (!response.headers.get("Content-Type")?.startsWith("text/event-stream") || !response.body) {
        await response.body?.cancel();
        throw new NoStream("what answers is no stream");
      }
      const blocks = new Blocks();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) throw new ConnectionError("The stream ended");
          clearTimeout(watch);
          for (const block of blocks.take(value)) {
            if (block.gap) options.onGap?.();
            if (block.id) place.cursor = block.id;
            begun = true;
            vain = 0;
            if (block.data) yield { ...(JSON.parse(block.data) as Event), cursor: place.cursor };
          }
          watch = arm(silence);
        }
      } finally {
        clearTimeout(watch);
        await reader.cancel().catch(() => undefined);
      }
    } catch (err) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (quiet && !begun) throw new NoStream("something on the way holds streams back");
      if (err instanceof ApiError && (err.status === 405 || err.status === 406)) throw new NoStream(err.message);
      if (err instanceof SyntaxError) throw new UnexpectedAnswerError("The stream holds what is no event", 200, { cause: err });
      const broke = quiet || passes(err) || !(err instanceof InboxdError);
      if (!broke || (!begun && vain >= 2)) throw err;
      await rest(vain++, err, options.signal);
    } finally {
      clearTimeout(watch);
      options.signal?.removeEventListener("abort", end);
      controller.abort();
    }
  }
}

async function* polls(transport: Transport, path: string, options: FollowOptions, place: { cursor: string }): AsyncGenerator<Followed, void, undefined> {
  for (let vain = 0; ; ) {
    let page: { events: Event[]; next: string; gap?: boolean };
    try {
      page = await transport.json({ method: "GET", path, query: { after: place.cursor, wait: pollWait, to: options.to }, safe: true, member: "next" }, { signal: options.signal, timeout: (pollWait + 15) * 1000 });
      vain = 0;
    } catch (err) {
      if (options.signal?.aborted || !passes(err)) throw err;
      await rest(vain++, err, options.signal);
      continue;
    }
    if (page.gap) options.onGap?.();
    for (const [i, event] of page.events.entries()) {
      yield { ...event, cursor: i === page.events.length - 1 ? page.next : place.cursor };
    }
    place.cursor = page.next;
  }
}

interface Block {
  id: string;
  data: string;
  gap: boolean;
}

/** Blocks puts what a stream says back together (WHATWG HTML section 9.2). */
class Blocks {
  #rest = "";
  #block: Block = { id: "", data: "", gap: false };

  *take(text: string): Generator<Block> {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        yield this.#block;
        this.#block = { id: "", data: "", gap: false };
      } else if (line.startsWith(": older events")) {
        this.#block.gap = true;
      } else {
        const colon = line.indexOf(":");
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "id") this.#block.id = value;
        if (name === "data") this.#block.data += (this.#block.data && "\n") + value;
      }
    }
  }
}
