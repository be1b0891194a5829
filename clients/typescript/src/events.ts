import { ApiError, ConnectionError, InboxdError, TimeoutError, UnexpectedAnswerError } from "./errors.js";
import { Deadline, longestPause, passes, pauseBefore, reason, sleep, type Call, type Transport } from "./transport.js";
import type { Event } from "./types.js";

export interface FollowOptions {
  /** Begin after this cursor. Default: begin now. */
  after?: string;
  /** Only events of messages to this envelope recipient, `user+tag@host`. */
  to?: string;
  /** Aborts the iteration; its reason is thrown. */
  signal?: AbortSignal;
  /** Called if events after `after` are no longer kept. */
  onGap?: () => void;
  /** `auto` (the default) uses a stream, or long polls if streams are buffered on the way. */
  transport?: "auto" | "stream" | "poll";
  /** Milliseconds without data after which a stream is considered broken. Default 45,000: three heartbeats. */
  silence?: number;
}

/** An event with the cursor after it: store the cursor to resume from there. */
export type Followed = Event & { cursor: string };

/** Seconds of one long poll. */
const pollWait = 50;
/** How long a stream may take until its first block, which arrives immediately unless something on the way buffers streams. */
const firstSilence = 10_000;

/** Maximum length of a line of a stream, in characters. */
const longestLine = 4 << 20;

/** The reason that a stream ended, if another stream would fail, too. */
class NoStream extends InboxdError {}

/**
 * follow iterates over events without end: by a stream that reconnects and resumes after an interruption, or by long polls.
 * No event is missed. After an interrupted long poll, the events of one page may be repeated.
 */
export async function* follow(transport: Transport, path: string, options: FollowOptions = {}): AsyncGenerator<Followed, void, undefined> {
  const place = { cursor: options.after && options.after !== "now" ? options.after : "" };
  if (!place.cursor) {
    // the current cursor, so that no event is lost if the stream never begins
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

/** streams reads one stream after the other. */
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
      if (err instanceof TimeoutError && !begun) throw new NoStream("no data on the stream, something on the way buffers it");
      if (err instanceof ApiError && (err.status === 405 || err.status === 406)) throw new NoStream(err.message);
      if (!(passes(err) || err instanceof TimeoutError) || (!begun && vain >= 2)) throw err;
      await rest(vain++, err, options.signal);
    }
  }
}

/** stream reads the blocks of one stream until it breaks. */
async function* stream(transport: Transport, path: string, options: FollowOptions, cursor: string, begun: boolean): AsyncGenerator<Block, void, undefined> {
  const silence = options.silence ?? 45_000;
  const watch = new Deadline(begun ? silence : Math.min(silence, firstSilence), options.signal);
  const call: Call = { method: "GET", path, query: { to: options.to }, headers: { Accept: "text/event-stream", "Last-Event-ID": cursor } };
  let body: Response["body"] | undefined;
  let reader: ReadableStreamDefaultReader<string> | undefined;
  try {
    const response = await transport.open(call, watch.signal);
    body = response.body;
    if (!body || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) throw new NoStream("the response is not an event stream");
    reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (const blocks = new Blocks(); ; watch.arm(silence)) {
      const { done, value } = await reader.read();
      if (done) throw new ConnectionError("The stream ended");
      watch.arm(Infinity); // the time that the caller takes does not count
      yield* blocks.take(value);
    }
  } catch (err) {
    if (watch.passed) throw new TimeoutError("No data on the stream");
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
    throw new UnexpectedAnswerError("The stream contains an invalid event", 200, { cause });
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

/** Blocks parses an event stream (WHATWG HTML section 9.2). */
class Blocks {
  #rest = "";
  #block: Block = { id: "", data: "", gap: false };

  *take(text: string): Generator<Block> {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    if (this.#rest.length > longestLine) throw new UnexpectedAnswerError("A line of the stream is too long", 200);
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
