import { Calendar } from "./calendar.js";
import { ApiError, InboxdError, TimeoutError } from "./errors.js";
import { follow, type FollowOptions, type Followed } from "./events.js";
import { answering } from "./reply.js";
import { once, passes, pauseBefore, sleep, type Transport } from "./transport.js";
import type { CallOptions, CreatedInbox, InboxChange, InboxInfo, LatestQuery, Letter, Message, MessageQuery, OnceOptions } from "./types.js";

/** Which mail a wait is for. */
export interface WaitOptions {
  /** Milliseconds to wait. Default 30,000. */
  timeout?: number;
  /** Only mail received then or after. Default: of an inbox that this program made, all; of any other, the last 15 minutes. */
  since?: Date | string;
  /** Only mail with a higher id. Default: what this object has not handed out yet. */
  after?: number;
  /** Only of this sender: an address, `@domain`, or a part of an address; never a display name. */
  from?: string;
  /** Only mail whose sender is verified. */
  verified?: boolean;
  /** Only when the subject contains this. */
  subject?: string;
  /** Only what came to this envelope recipient, `user+tag@host`. */
  to?: string;
  /**
   * Mark what is handed out as read and hand out nothing that is: so that of several programs that wait at one inbox each
   * mail reaches one. Default: true for an inbox that this program did not make.
   */
  claim?: boolean;
  /** Ends the wait; its reason is thrown. */
  signal?: AbortSignal;
}

export interface MessageWaitOptions extends WaitOptions {
  /** Only a message for which this is true. */
  match?: (message: Message) => boolean | undefined;
}

/** Seconds of one long poll. */
const pollSeconds = 50;
/** Milliseconds that a wait may take beyond its time, for the last answer to come. */
const grace = 2000;
/** How far back, in milliseconds, a wait looks at an inbox that this program did not make. */
const window = 15 * 60_000;

/** An inbox. Nothing is asked of the service until a method is called. */
export class Inbox {
  /** `prefix@namespace` */
  readonly address: string;
  /** The answer that this object was made of: of `create`, `get` or `list`; undefined of `client.inbox(address)`. */
  readonly info: CreatedInbox | InboxInfo | undefined;
  readonly calendar: Calendar;
  readonly #transport: Transport;
  readonly #path: string;
  readonly #own: boolean;
  /** The last code that was handed out, for each choice of sender, subject, recipient and verification. */
  readonly #codes = new Map<string, number>();
  /** Messages that were handed out; all up to #settled were. */
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

  /** The inbox with a tag: lists, latest, waits and events are of what came to `user+tag@host` alone. */
  tagged(tag: string): Inbox {
    const at = this.address.lastIndexOf("@");
    return new Inbox(this.#transport, `${this.address.slice(0, at)}+${tag}${this.address.slice(at)}`, undefined, this.#own);
  }

  /** The inbox as it is now. Needs inbox:read. */
  async get(options?: CallOptions): Promise<InboxInfo> {
    return this.#transport.member<InboxInfo>({ method: "GET", path: this.#path, member: "inbox" }, options);
  }

  /** Changes label, retention or what happens when it is full. Needs inbox:manage. */
  async update(change: InboxChange, options?: CallOptions): Promise<InboxInfo> {
    return this.#transport.member<InboxInfo>({ method: "PATCH", path: this.#path, body: change, safe: true, member: "inbox" }, options);
  }

  /** Deletes the inbox with its mail, for good. Needs inbox:manage. */
  async delete(options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: this.#path, member: "ok" }, options);
  }

  /** Deletes all mail and keeps the address; returns how many went. Needs inbox:manage. */
  async burn(options?: CallOptions): Promise<number> {
    return this.#transport.member<number>({ method: "POST", path: `${this.#path}/burn`, member: "deleted" }, options);
  }

  /**
   * The newest message that fits, a received one unless `direction` asks for others, null when there is none; `wait` (seconds, at most 60)
   * lets it come. Needs inbox:read.
   * @throws InboxdError when a code is asked for (`otp`) and the inbox is encrypted: there are no codes
   */
  async latest(query: LatestQuery = {}, options: CallOptions = {}): Promise<Message | null> {
    const timeout = options.timeout ?? this.#transport.timeout + (query.wait ?? 0) * 1000;
    const call = { method: "GET", path: `${this.#path}/latest`, query, member: "email" } as const;
    const answer = await this.#transport.json<{ email: Message | null; encrypted?: boolean; note?: string }>(call, { ...options, timeout });
    if (query.otp && answer.encrypted) throw new InboxdError(answer.note ?? "This inbox is encrypted");
    return answer.email;
  }

  /** Goes through the messages, newest first; `limit` is the size of a page. Needs inbox:read. */
  async *messages(query: MessageQuery = {}, options?: CallOptions): AsyncGenerator<Message, void, undefined> {
    const { fields } = query;
    const asked = { ...query, fields: fields && !fields.split(",").includes("id") ? `id,${fields}` : fields }; // pages go by ids
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

  /** Marks a message as read, or as unread. Needs inbox:read. */
  async mark(id: number, read = true, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "POST", path: `${this.#path}/messages/${id}/read`, body: { read }, safe: true, member: "ok" }, options);
  }

  /** Marks a message as read; false when it was: of several that claim one, one gets true. Needs inbox:read. */
  async claim(id: number, options?: CallOptions): Promise<boolean> {
    return this.#transport.member<boolean>({ method: "POST", path: `${this.#path}/messages/${id}/read`, body: { claim: true }, member: "claimed" }, options);
  }

  /** Deletes one message. Needs message:write. */
  async deleteMessage(id: number, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `${this.#path}/messages/${id}`, member: "ok" }, options);
  }

  /** Deletes the messages with a lower id, or those older than so many hours; returns how many went. Needs message:write. */
  async deleteMessages(which: { before: number } | { older_than: number }, options?: CallOptions): Promise<number> {
    return this.#transport.member<number>({ method: "DELETE", path: `${this.#path}/messages`, query: which, member: "deleted" }, options);
  }

  /** Queues a mail and returns the id of its message: it is accepted, not yet delivered. Needs email:send. */
  async send(letter: Letter, options: OnceOptions = {}): Promise<number> {
    const call = { method: "POST", path: `${this.#path}/send`, body: letter, headers: once(options.idempotencyKey), member: "message_id" } as const;
    return this.#transport.member<number>(call, options);
  }

  /**
   * Answers a message in its conversation: at its Reply-To, else its From, of a sent one whom it went to; `cc` comes on top. Needs email:send.
   * @throws InboxdError when it is encrypted or names no address
   */
  async reply(to: Message, letter: Omit<Letter, "to" | "in_reply_to">, options?: OnceOptions): Promise<number> {
    const answer = answering(to);
    return this.send({ ...answer, ...letter, cc: [...(answer.cc ?? []), ...(letter.cc ?? [])] }, options);
  }

  /**
   * Looks at a sent message until it is settled and returns it.
   * @throws TimeoutError when it is still on its way: it is queued, not lost, and must not be sent again
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
   * Waits for a one-time code and returns it: the newest that this object has not handed out.
   * @throws TimeoutError when none came in time; its `messageId` is that of a message that came without a code, if one did
   * @throws InboxdError at once when the inbox is encrypted: there are no codes
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
        if (options.after === undefined && seen <= handed) continue; // another wait was quicker
        this.#codes.set(choice, Math.max(seen, handed));
        return found;
      }
    });
    return message.otp_code!;
  }

  /**
   * Waits for a message and returns it: the oldest that fits and that this object has not handed out.
   * @throws TimeoutError when none came in time
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

  /** What happens at this inbox, as it happens; without an end. Needs inbox:read. */
  events(options?: FollowOptions): AsyncGenerator<Followed, void, undefined> {
    return follow(this.#transport, `${this.#path}/events`, options);
  }

  /** settle moves the place up to which all was handed out; what is behind it needs no entry of its own. */
  #settle(id: number) {
    this.#settled = Math.max(this.#settled, id);
    for (const one of this.#handed) if (one <= this.#settled) this.#handed.delete(one);
  }

  /** between gathers what came after seen and before newest, oldest first. */
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
        const vain = `No ${what} came to ${this.address} within ${time / 1000} s`;
        const other = what === "code" ? await this.#withoutCode({ from, subject, to, verified, since, after: before }, options.signal) : null;
        if (!other) throw new TimeoutError(vain);
        throw new TimeoutError(`${vain}: message ${other.id} came without one, ${JSON.stringify(other.subject ?? "")}`, other.id, other.subject ?? "");
      }
      const claim = options.claim ?? !this.#own;
      if (!claim || (!found.is_read && (await unlessGone(this.claim(found.id, { signal: options.signal }))))) return found;
    }
  }

  /** withoutCode is the newest message that came, if no code was found in it. */
  async #withoutCode(query: LatestQuery, signal?: AbortSignal): Promise<Message | null> {
    const newest = await this.latest({ ...query, fields: "id,subject,otp_code" }, { signal, timeout: grace }).catch(() => null);
    signal?.throwIfAborted();
    return newest?.otp_code ? null : newest;
  }

  /** poll asks for the latest until there is one or the time is up; it outlives a restart of the service. */
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

/** unlessGone is what is asked of a message; undefined: it was deleted meanwhile. */
const unlessGone = <T>(asked: Promise<T>) =>
  asked.catch((err: unknown) => {
    if (err instanceof ApiError && err.status === 404) return undefined;
    throw err;
  });
