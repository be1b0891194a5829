import { Account, Domains, Keys, Webhooks } from "./account.js";
import { follow, type FollowOptions, type Followed } from "./events.js";
import { Inbox } from "./inbox.js";
import { once, Transport, type Options } from "./transport.js";
import type { AllMessagesQuery, BatchResult, CallOptions, CreatedInbox, InboxInfo, InboxOrder, InboxQuery, Message, OnceOptions, Suppression } from "./types.js";

/** The inboxes that a key can access: `client.inboxes`. */
export class Inboxes {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an inbox. Without an order its address is random. Needs an account key with inbox:manage. */
  async create(order: InboxOrder = {}, options: OnceOptions = {}): Promise<Inbox> {
    const made = await this.#transport.json<CreatedInbox>({ method: "POST", path: "/api/v1/inboxes", body: order, headers: once(options.idempotencyKey), member: "address" }, options);
    return new Inbox(this.#transport, made.address, made, true);
  }

  /** Creates up to 1,000 inboxes in one call. The results are in the order of `orders`. Needs an account key with inbox:manage. */
  async createMany(orders: InboxOrder[], options: OnceOptions = {}): Promise<BatchResult[]> {
    type Result = { status: number; inbox?: CreatedInbox; detail?: string; code?: string; field?: string };
    const results = await this.#transport.member<Result[]>({ method: "POST", path: "/api/v1/inboxes/batch", body: { inboxes: orders }, headers: once(options.idempotencyKey), member: "results" }, options);
    return results.map((r) => (r.inbox ? { status: r.status, inbox: new Inbox(this.#transport, r.inbox.address, r.inbox, true) } : { status: r.status, detail: r.detail ?? "", code: r.code ?? "", field: r.field }));
  }

  /** Iterates over the inboxes. Needs inbox:read; an inbox key can access only one. */
  async *list(query: InboxQuery = {}, options?: CallOptions): AsyncGenerator<Inbox, void, undefined> {
    for await (const info of this.#transport.list<InboxInfo>("/api/v1/inboxes", "inboxes", query, options)) yield new Inbox(this.#transport, info.address, info);
  }

  /** One existing inbox. Needs inbox:read. */
  async get(address: string, options?: CallOptions): Promise<Inbox> {
    const info = await new Inbox(this.#transport, address).get(options);
    return new Inbox(this.#transport, info.address, info);
  }
}

/** Addresses from which messages were returned: `client.suppressions`. */
export class Suppressions {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Iterates over the suppressed addresses. Needs email:send. */
  list(options?: CallOptions): AsyncGenerator<Suppression, void, undefined> {
    return this.#transport.list("/api/v1/suppressions", "suppressions", {}, options);
  }

  /** Allows messages to an address again. Needs email:send. */
  async delete(email: string, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `/api/v1/suppressions/${encodeURIComponent(email)}`, member: "ok" }, options);
  }
}

/** Inboxd is the client of one key. It can be shared: use one for the whole program. */
export class Inboxd {
  readonly inboxes: Inboxes;
  readonly suppressions: Suppressions;
  readonly webhooks: Webhooks;
  readonly domains: Domains;
  readonly keys: Keys;
  readonly account: Account;
  readonly #transport: Transport;
  readonly #options: Options;

  /** @throws InboxdError if the key is missing, or the URL is invalid */
  constructor(options: Options = {}) {
    this.#options = options;
    this.#transport = new Transport(options);
    this.inboxes = new Inboxes(this.#transport);
    this.suppressions = new Suppressions(this.#transport);
    this.webhooks = new Webhooks(this.#transport);
    this.domains = new Domains(this.#transport);
    this.keys = new Keys(this.#transport);
    this.account = new Account(this.#transport);
  }

  /** A client of the same service with a new session as its credential, for `keys` and `account`. Needs no key. */
  logIn(email: string, password: string, options?: CallOptions): Promise<Inboxd> {
    return this.#session("/api/auth/login", email, password, options);
  }

  /** Opens an account; the client is like that of `logIn`. Needs no key. */
  signUp(email: string, password: string, options?: CallOptions): Promise<Inboxd> {
    return this.#session("/api/auth/signup", email, password, options);
  }

  async #session(path: string, email: string, password: string, options?: CallOptions): Promise<Inboxd> {
    const apiKey = await this.#transport.member<string>({ method: "POST", path, body: { email, password }, member: "session_token" }, options);
    return new Inboxd({ ...this.#options, apiKey });
  }

  /** The inbox at an address. Makes no request. */
  inbox(address: string): Inbox {
    return new Inbox(this.#transport, address);
  }

  /** Iterates over the messages of all inboxes, newest first; each has its `inbox`. Needs an account key with inbox:read. */
  messages(query: AllMessagesQuery = {}, options?: CallOptions): AsyncGenerator<Message & { inbox: string }, void, undefined> {
    return this.#transport.list("/api/v1/messages", "emails", query, options);
  }

  /** Iterates over the events of all inboxes as they happen, over one connection, without end. Needs inbox:read. */
  events(options?: FollowOptions): AsyncGenerator<Followed, void, undefined> {
    return follow(this.#transport, "/api/v1/events", options);
  }

  /** Six tools as function schemas for a model's API. */
  tools(format: "openai" | "anthropic" | "gemini", options?: CallOptions): Promise<object[]> {
    return this.#transport.json({ method: "GET", path: "/api/v1/tools", query: { format } }, options);
  }
}
