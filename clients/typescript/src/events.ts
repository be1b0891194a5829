import { ApiError, ConnectionError, InboxdError, TimeoutError, UnexpectedAnswerError } from "./errors.js";
import { Deadline, longestPause, passes, pauseBefore, reason, sleep, type Call, type Transport } from "./transport.js";
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

/** Seconds of one long poll. */
const pollWait = 50;
/** How long a stream may take to its first block, which comes at once unless something on the way holds streams back. */
const firstSilence = 10_000;

/** How much of a line of a stream is waited for, in characters. */
const longestLine = 4 << 20;

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
    place.cursor = (await transport.json<{ next: string }>({ method: "GET", path, query: { after: "now" }, member: "next" }, options)).next;
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

const rest = (n: number, err: unknown, signal?: AbortSignal) => sleep(Math.min(longestPause, pauseBefore(n, err)), signal);

/** streams goes from one stream to the next. */
async function* streams(transport: Transport, path: string, options: FollowOptions, place: { cursor: string }): AsyncGenerator<Followed, void, undefined> {
  for (let vain = 0, begun = false; ; ) {
    try {
      for await (const block of stream(transport, path, options, place.cursor, begun)) {
        if (block.gap) options.onGap?.();
        if (block.id) place.cursor = block.id;
        begun = true;
        vain = 0;
        if (block.data) yield { ...parsed(block.data), cursor: place.cursor };
      }
    } catch (err) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (err instanceof TimeoutError && !begun) throw new NoStream("something on the way holds streams back");
      if (err instanceof ApiError && (err.status === 405 || err.status === 406)) throw new NoStream(err.message);
      if (!(passes(err) || err instanceof TimeoutError) || (!begun && vain >= 2)) throw err;
      await rest(vain++, err, options.signal);
    }
  }
}

/** stream reads the blocks of one stream until it breaks, which it always does in the end. */
async function* stream(transport: Transport, path: string, options: FollowOptions, cursor: string, begun: boolean): AsyncGenerator<Block, void, undefined> {
  const silence = options.silence ?? 45_000;
  const watch = new Deadline(begun ? silence : Math.min(silence, firstSilence), options.signal);
  const call: Call = { method: "GET", path, query: { to: options.to }, headers: { Accept: "text/event-stream", "Last-Event-ID": cursor } };
  let body: Response["body"] | undefined;
  let reader: ReadableStreamDefaultReader<string> | undefined;
  try {
    const response = await transport.open(call, watch.signal);
    body = response.body;
    if (!body || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) throw new NoStream("what answers is no stream");
    reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (const blocks = new Blocks(); ; watch.arm(silence)) {
      const { done, value } = await reader.read();
      if (done) throw new ConnectionError("The stream ended");
      watch.arm(Infinity); // the time that the caller takes is not the stream's
      yield* blocks.take(value);
    }
  } catch (err) {
    if (watch.passed) throw new TimeoutError("The stream says nothing");
    throw err instanceof InboxdError ? err : new ConnectionError(`The stream broke: ${reason(err)}`, { cause: err });
  } finally {
    watch.release();
    await (reader ?? body)?.cancel().catch(() => undefined);
  }
}

function parsed(data: string): Event {
  try {
    return JSON.parse(data) as Event;
  } catch (cause) {
    throw new UnexpectedAnswerError("The stream holds what is no event", 200, { cause });
  }
}

async function* polls(transport: Transport, path: string, options: FollowOptions, place: { cursor: string }): AsyncGenerator<Followed, void, undefined> {
  for (let vain = 0; ; ) {
    let page: { events: Event[]; next: string; gap?: boolean };
    try {
      page = await transport.json({ method: "GET", path, query: { after: place.cursor, wait: pollWait, to: options.to }, member: "next" }, { signal: options.signal, timeout: (pollWait + 15) * 1000 });
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
    if (this.#rest.length > longestLine) throw new UnexpectedAnswerError("The stream holds a line without an end", 200);
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
