import { Calendar } from "./calendar.js";
import { ApiError, InboxdError, TimeoutError } from "./errors.js";
import { follow, type FollowOptions, type Followed } from "./events.js";
import { answering } from "./reply.js";
import { once, passes, pauseBefore, sleep, type Transport } from "./transport.js";
import type { ArrivedMessage, CallOptions, CreatedInbox, InboxChange, InboxInfo, LatestQuery, Letter, Message, MessageQuery, OnceOptions, SimulatedMessage } from "./types.js";

/** Options of a wait: its time limit, and which messages match. */
export interface WaitOptions {
  /** Milliseconds to wait. Default 30,000. */
  timeout?: number;
  /** Only messages received at or after this time. Default: all in an inbox that this program created; in any other, the last 15 minutes. */
  since?: Date | string;
  /** Only messages with a higher id. Default: those that this object has not returned before. */
  after?: number;
  /** Only from this sender: an address, `@domain`, or a part of an address; never a display name. */
  from?: string;
  /** Only messages whose sender is verified. */
  verified?: boolean;
  /** Only messages whose subject contains this. */
  subject?: string;
  /** Only messages to this envelope recipient, `user+tag@host`. */
  to?: string;
  /**
   * Mark returned messages as read and skip read ones, so that each message reaches only one of several programs that wait at
   * one inbox. Default: true for an inbox that this program did not create.
   */
  claim?: boolean;
  /** Aborts the wait; its reason is thrown. */
  signal?: AbortSignal;
}

export interface MessageWaitOptions extends WaitOptions {
  /** Only messages for which this is true. */
  match?: (message: Message) => boolean | undefined;
}

/** Seconds of one long poll. */
const pollSeconds = 50;
/** Milliseconds that a wait may exceed its timeout to receive the last response. */
const grace = 2000;
/** Milliseconds before now whose messages a wait considers, in an inbox that this program did not create. */
const window = 15 * 60_000;

/** An inbox. No request is made until a method is called. */
export class Inbox {
  /** `prefix@namespace` */
  readonly address: string;
  /** The response of `create`, `get` or `list` that this object was created from; undefined for `client.inbox(address)`. */
  readonly info: CreatedInbox | InboxInfo | undefined;
  readonly calendar: Calendar;
  readonly #transport: Transport;
  readonly #path: string;
  readonly #own: boolean;
  /** The id of the latest returned code, by filter (sender, subject, recipient, verified). */
  readonly #codes = new Map<string, number>();
  /** Messages that were returned; all up to #settled were, too. */
  readonly #handed = new Set<number>();
  #settled = 0;

  /** @internal */
  constructor(transport: Transport, address: string, info?: CreatedInbox | InboxInfo, own = false) {
    this.address = address;
    this.info = info;
    this.#transport = transport;
    this.#own = own;
    this.#path = `/api/v1/inboxes/${encodeURIComponent(address)}`;
    this.calendar = new Calendar(transport, this.#path);
  }

  /** The inbox with a tag: lists, latest, waits and events include only messages to `user+tag@host`. */
  tagged(tag: string): Inbox {
    const at = this.address.lastIndexOf("@");
    return new Inbox(this.#transport, `${this.address.slice(0, at)}+${tag}${this.address.slice(at)}`, undefined, this.#own);
  }

  /** The current state of the inbox. Needs inbox:read. */
  async get(options?: CallOptions): Promise<InboxInfo> {
    return this.#transport.member<InboxInfo>({ method: "GET", path: this.#path, member: "inbox" }, options);
  }

  /** Changes the label, the retention, or what happens when the inbox is full. Needs inbox:manage. */
  async update(change: InboxChange, options?: CallOptions): Promise<InboxInfo> {
    return this.#transport.member<InboxInfo>({ method: "PATCH", path: this.#path, body: change, safe: true, member: "inbox" }, options);
  }

  /** Permanently deletes the inbox with its messages. Needs inbox:manage. */
  async delete(options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: this.#path, member: "ok" }, options);
  }

  /** Deletes all messages and keeps the address; returns how many were deleted. Needs inbox:manage. */
  async burn(options?: CallOptions): Promise<number> {
    return this.#transport.member<number>({ method: "POST", path: `${this.#path}/burn`, member: "deleted" }, options);
  }

  /**
   * The newest matching message, or null if there is none. `wait` waits up to that many seconds (at most 60) for one. Only received
   * messages match, unless `direction` is set. Needs inbox:read.
   * @throws InboxdError if a code is required (`otp`) and the inbox is encrypted, because its codes cannot be read
   */
  async latest(query: LatestQuery = {}, options: CallOptions = {}): Promise<Message | null> {
    const timeout = options.timeout ?? this.#transport.timeout + (query.wait ?? 0) * 1000;
    const call = { method: "GET", path: `${this.#path}/latest`, query, member: "email" } as const;
    const answer = await this.#transport.json<{ email: Message | null; encrypted?: boolean; note?: string }>(call, { ...options, timeout });
    if (query.otp && answer.encrypted) throw new InboxdError(answer.note ?? "This inbox is encrypted");
    return answer.email;
  }

  /** Iterates over the messages, newest first; `limit` is the page size. Needs inbox:read. */
  async *messages(query: MessageQuery = {}, options?: CallOptions): AsyncGenerator<Message, void, undefined> {
    const { fields } = query;
    const asked = { ...query, fields: fields && !fields.split(",").includes("id") ? `id,${fields}` : fields }; // paging uses the ids
    for (let { before } = query, more = true; more; ) {
      const page = await this.#transport.json<{ emails: Message[]; has_more: boolean }>({ method: "GET", path: `${this.#path}/messages`, query: { ...asked, before }, member: "emails" }, options);
      yield* page.emails;
      before = page.emails.at(-1)?.id;
      more = page.has_more && before !== undefined;
    }
  }

  /** One message. Needs inbox:read. */
  async message(id: number, options?: CallOptions): Promise<Message> {
    return this.#transport.member<Message>({ method: "GET", path: `${this.#path}/messages/${id}`, safe: true, member: "email" }, options);
  }

  /** A message as it was received, RFC 5322. Needs inbox:read. */
  raw(id: number, options?: CallOptions): Promise<Uint8Array> {
    return this.#transport.bytes({ method: "GET", path: `${this.#path}/messages/${id}/raw`, safe: true, headers: { Accept: "*/*" } }, options);
  }

  /** The bytes of an attachment. Needs inbox:read. */
  attachment(message: number, id: number, options?: CallOptions): Promise<Uint8Array> {
    return this.#transport.bytes({ method: "GET", path: `${this.#path}/messages/${message}/attachments/${id}`, safe: true, headers: { Accept: "*/*" } }, options);
  }

  /** Marks a message as read or unread. Needs inbox:read. */
  async mark(id: number, read = true, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "POST", path: `${this.#path}/messages/${id}/read`, body: { read }, safe: true, member: "ok" }, options);
  }

  /** Marks a message as read; returns whether it was unread. Of several clients that claim a message, one gets true. Needs inbox:read. */
  async claim(id: number, options?: CallOptions): Promise<boolean> {
    return this.#transport.member<boolean>({ method: "POST", path: `${this.#path}/messages/${id}/read`, body: { claim: true }, member: "claimed" }, options);
  }

  /** Deletes one message. Needs message:write. */
  async deleteMessage(id: number, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `${this.#path}/messages/${id}`, member: "ok" }, options);
  }

  /** Deletes the messages with a lower id, or those older than `older_than` hours; returns how many were deleted. Needs message:write. */
  async deleteMessages(which: { before: number } | { older_than: number }, options?: CallOptions): Promise<number> {
    return this.#transport.member<number>({ method: "DELETE", path: `${this.#path}/messages`, query: which, member: "deleted" }, options);
  }

  /** Queues a message and returns its id: it is accepted, not yet delivered. Needs email:send. */
  async send(letter: Letter, options: OnceOptions = {}): Promise<number> {
    const call = { method: "POST", path: `${this.#path}/send`, body: letter, headers: once(options.idempotencyKey), member: "message_id" } as const;
    return this.#transport.member<number>(call, options);
  }

  /** Receives a message as if it had come over SMTP, and returns it. Needs inbox:manage and a server with --simulate. */
  async simulate(message: SimulatedMessage, options: CallOptions = {}): Promise<Message> {
    return this.#transport.member<Message>({ method: "POST", path: `${this.#path}/messages`, body: message, member: "email" }, options);
  }

  /**
   * Replies to a message in its conversation. The reply to a received message goes to its Reply-To or else its From; one to a sent
   * message, to its recipients. `cc` is added. Needs email:send.
   * @throws InboxdError if the message is encrypted or has no address to reply to
   */
  async reply(to: Message, letter: Omit<Letter, "to" | "in_reply_to">, options?: OnceOptions): Promise<number> {
    const answer = answering(to);
    return this.send({ ...answer, ...letter, cc: [...(answer.cc ?? []), ...(letter.cc ?? [])] }, options);
  }

  /**
   * Polls a sent message until its status is final, and returns it.
   * @throws TimeoutError if it is still on its way: it is queued, not lost, and must not be sent again
   */
  async waitUntilSent(id: number, options: CallOptions = {}): Promise<Message> {
    const end = Date.now() + (options.timeout ?? 60_000);
    for (let pause = 50; ; pause = Math.min(2 * pause, 3000)) {
      const message = await this.message(id, { signal: options.signal });
      if (message.send_status !== "queued" && message.send_status !== "retrying") return message;
      if (Date.now() + pause > end) throw new TimeoutError(`Message ${id} of ${this.address} is still ${message.send_status}: it is on its way, do not send it again`);
      await sleep(pause, options.signal);
    }
  }

  /**
   * Waits for a one-time code and returns it: the newest that this object has not returned before.
   * @throws TimeoutError if no code arrives in time; its text and `arrived` list what did arrive, with codes, confidences and candidates
   * @throws InboxdError immediately if the inbox is encrypted, because its codes cannot be read
   */
  async waitForOtp(options: WaitOptions = {}): Promise<string> {
    const choice = JSON.stringify([options.from, options.subject, options.to, options.verified]);
    const before = options.after ?? this.#codes.get(choice) ?? 0;
    let seen = before;
    const message = await this.#wait(options, "code", before, async (query, end) => {
      for (;;) {
        const found = await this.#poll({ ...query, otp: true, after: seen }, end, options.signal);
        if (!found) return null;
        seen = found.id;
        const handed = this.#codes.get(choice) ?? 0;
        if (options.after === undefined && seen <= handed) continue; // another wait returned it first
        this.#codes.set(choice, Math.max(seen, handed));
        return found;
      }
    });
    return message.otp_code!;
  }

  /**
   * Waits for a message and returns it: the oldest matching one that this object has not returned before.
   * @throws TimeoutError if none arrives in time
   */
  async waitForMessage(options: MessageWaitOptions = {}): Promise<Message> {
    const ready: Message[] = [];
    const all = !(options.from || options.subject || options.to || options.since || options.verified) && options.after === undefined;
    let seen = options.after ?? this.#settled;
    let gapless = all;
    return this.#wait(options, "message", 0, async (query, end) => {
      for (;;) {
        for (let next = ready.shift(); next; next = ready.shift()) {
          const handed = options.after === undefined && (next.id <= this.#settled || this.#handed.has(next.id));
          const fits = !handed && (!options.match || !!options.match(next));
          if (fits) this.#handed.add(next.id);
          gapless &&= handed || fits;
          if (gapless) this.#settle(next.id);
          if (fits) return next;
        }
        const newest = await this.#poll({ ...query, after: seen }, end, options.signal);
        if (!newest) return null;
        if (newest.id > seen + 1) await this.#between(seen, newest, query, ready, options.signal);
        ready.push(newest);
        seen = newest.id;
      }
    });
  }

  /** Iterates over the events of this inbox as they happen, without end. Needs inbox:read. */
  events(options?: FollowOptions): AsyncGenerator<Followed, void, undefined> {
    return follow(this.#transport, `${this.#path}/events`, options);
  }

  /** settle raises the id up to which all messages were returned; those need no entries in #handed. */
  #settle(id: number) {
    this.#settled = Math.max(this.#settled, id);
    for (const one of this.#handed) if (one <= this.#settled) this.#handed.delete(one);
  }

  /** between appends the messages after seen and before newest, oldest first. */
  async #between(seen: number, newest: Message, query: LatestQuery, into: Message[], signal?: AbortSignal) {
    const found: Message[] = [];
    const { subject, ...rest } = query;
    const holds = (part: string | undefined, text: string) => !part || text.toLowerCase().includes(part.toLowerCase());
    for await (const m of this.messages({ ...rest, limit: 200, before: newest.id, fields: "id,subject" }, { signal })) {
      if (m.id <= seen) break;
      if (holds(subject, m.subject ?? "")) found.push(m);
    }
    for (const m of found.reverse()) {
      const whole = await unlessGone(this.message(m.id, { signal }));
      if (whole) into.push(whole);
    }
  }

  async #wait(options: WaitOptions, what: "code" | "message", before: number, next: (query: LatestQuery, end: number) => Promise<Message | null>): Promise<Message> {
    const time = options.timeout ?? 30_000;
    const end = Date.now() + time;
    const { from, subject, to, verified } = options;
    const since = options.since ?? (this.#own || options.after !== undefined ? undefined : new Date(this.#transport.now() - window));
    for (;;) {
      const found = await next({ from, subject, to, verified, since }, end);
      if (!found) {
        const vain = `No ${what} arrived at ${this.address} within ${time / 1000} s`;
        const arrived = what === "code" ? await this.#arrived({ to, since }, before, options.signal) : [];
        if (!arrived.length) throw new TimeoutError(vain);
        const codeless = arrived.find((m) => !m.otp);
        throw new TimeoutError(`${vain}. What did arrive:\n${arrived.map(described).join("\n")}`, codeless?.id, codeless && (codeless.subject ?? ""), arrived);
      }
      const claim = options.claim ?? !this.#own;
      if (!claim || (!found.is_read && (await unlessGone(this.claim(found.id, { signal: options.signal }))))) return found;
    }
  }

  /** arrived returns the newest messages after one, whoever sent them; none if the request fails. */
  async #arrived(query: LatestQuery, after: number, signal?: AbortSignal): Promise<ArrivedMessage[]> {
    const found: ArrivedMessage[] = [];
    const fields = "id,subject,from,received_at,otp_code,otp,otp_candidates,is_read";
    try {
      for await (const m of this.messages({ ...query, limit: 10, fields }, { signal, timeout: grace })) {
        if (m.id <= after || found.length === 10) break;
        found.push(m);
      }
    } catch {
      signal?.throwIfAborted();
    }
    return found;
  }

  /** poll requests the latest message until there is one or the time is over. It continues over a restart of the service. */
  async #poll(query: LatestQuery, end: number, signal?: AbortSignal): Promise<Message | null> {
    for (let vain = 0; ; ) {
      const left = Math.max(0, end - Date.now());
      const wait = Math.min(pollSeconds, Math.ceil(left / 1000));
      try {
        const found = await this.latest({ ...query, wait }, { signal, timeout: Math.min(this.#transport.timeout + wait * 1000, left + grace) });
        if (found || Date.now() >= end) return found;
        vain = 0;
      } catch (err) {
        if (signal?.aborted || !(passes(err) || err instanceof TimeoutError)) throw err;
        const pause = pauseBefore(vain++, err);
        if (Date.now() + pause > end) throw err;
        await sleep(pause, signal);
      }
    }
  }
}

/** described returns one line about a message and its code, for somebody who waits for one. */
function described(m: ArrivedMessage): string {
  const none = m.otp_candidates?.length ? `no code is certain enough, candidates ${m.otp_candidates.join(", ")}` : "no code";
  const code = m.otp ? `code ${m.otp.code}, confidence ${m.otp.confidence.toFixed(2)}` : none;
  return `message ${m.id} from ${m.from.email}, subject ${JSON.stringify(m.subject ?? "")}: ${code}${m.is_read ? ", already read" : ""}`;
}

/** unlessGone returns the result of a request about a message; undefined: the message was deleted meanwhile. */
const unlessGone = <T>(asked: Promise<T>) =>
  asked.catch((err: unknown) => {
    if (err instanceof ApiError && err.status === 404) return undefined;
    throw err;
  });
