import type { Transport } from "./transport.js";
import type { AccountInfo, CallOptions, Delivery, DeliveryQuery, Domain, Encryption, Ended, InboxKeyOrder, IssuedInboxKey, IssuedKey, Key, KeyOrder, Session, Tested, Webhook, WebhookChange, WebhookOrder } from "./types.js";

const part = encodeURIComponent;

/** The webhooks of the account: `client.webhooks`. The calls need an account key with webhooks:manage, or a session. */
export class Webhooks {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Adds a webhook. Its secret is returned only here. */
  create(order: WebhookOrder, options?: CallOptions): Promise<{ webhook: Webhook; secret: string }> {
    return this.#transport.json({ method: "POST", path: "/api/v1/webhooks", body: order, member: "webhook" }, options);
  }

  /** All webhooks. */
  list(options?: CallOptions): Promise<Webhook[]> {
    return this.#transport.member({ method: "GET", path: "/api/v1/webhooks", member: "webhooks" }, options);
  }

  /** One webhook. */
  get(id: number, options?: CallOptions): Promise<Webhook> {
    return this.#transport.member({ method: "GET", path: `/api/v1/webhooks/${id}`, member: "webhook" }, options);
  }

  /** Changes the URL or the events. Pending deliveries go to the new URL. */
  update(id: number, change: WebhookChange, options?: CallOptions): Promise<Webhook> {
    return this.#transport.member({ method: "PATCH", path: `/api/v1/webhooks/${id}`, body: change, safe: true, member: "webhook" }, options);
  }

  /** Deletes a webhook and its pending deliveries. */
  async delete(id: number, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `/api/v1/webhooks/${id}`, member: "ok" }, options);
  }

  /** Replaces the secret and returns the new one. The previous secret also signs for one more day. */
  rotateSecret(id: number, options?: CallOptions): Promise<string> {
    return this.#transport.member({ method: "POST", path: `/api/v1/webhooks/${id}/rotate-secret`, member: "secret" }, options);
  }

  /** Posts a sample event; the result says how the receiver responded. */
  test(id: number, options?: CallOptions): Promise<Tested> {
    return this.#transport.json({ method: "POST", path: `/api/v1/webhooks/${id}/test`, member: "ok" }, options);
  }

  /** The attempts of the last 7 days, newest first: one page of `limit` (by default 100) with ids below `before`. */
  deliveries(query: DeliveryQuery = {}, options?: CallOptions): Promise<Delivery[]> {
    return this.#transport.member({ method: "GET", path: "/api/v1/webhooks/deliveries", query, member: "deliveries" }, options);
  }

  /** Attempts a delivery again that has succeeded or failed. */
  async redeliver(deliveryId: number, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "POST", path: `/api/v1/webhooks/deliveries/${deliveryId}/redeliver`, member: "ok" }, options);
  }
}

/** Own domains of the account: `client.domains`. The calls need an account key with domains:manage, or a session. */
export class Domains {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Adds a domain; the result has the DNS records to publish. */
  claim(domain: string, options?: CallOptions): Promise<Domain> {
    return this.#transport.member({ method: "POST", path: "/api/v1/domains", body: { domain }, member: "domain" }, options);
  }

  /** All domains. */
  list(options?: CallOptions): Promise<Domain[]> {
    return this.#transport.member({ method: "GET", path: "/api/v1/domains", member: "domains" }, options);
  }

  /** One domain with the result of its latest check. */
  get(domain: string, options?: CallOptions): Promise<Domain> {
    return this.#transport.member({ method: "GET", path: `/api/v1/domains/${part(domain)}`, member: "domain" }, options);
  }

  /** Checks the DNS records now. */
  verify(domain: string, options?: CallOptions): Promise<Domain> {
    return this.#transport.member({ method: "POST", path: `/api/v1/domains/${part(domain)}/verify`, safe: true, member: "domain" }, options);
  }

  /** The records as a zone file that can be imported unchanged. */
  async zone(domain: string, options?: CallOptions): Promise<string> {
    return new TextDecoder().decode(await this.#transport.bytes({ method: "GET", path: `/api/v1/domains/${part(domain)}/zone` }, options));
  }

  /** Removes a domain. Fails with 400 while inboxes exist under it. */
  async release(domain: string, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `/api/v1/domains/${part(domain)}`, member: "ok" }, options);
  }
}

/** The keys of the account: `client.keys`. The calls need a session; see `logIn`. */
export class Keys {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an account key, by default with inbox:read. `key` of the result is shown only here. */
  create(order: KeyOrder = {}, options?: CallOptions): Promise<IssuedKey> {
    return this.#transport.json({ method: "POST", path: "/api/keys", body: order, member: "key" }, options);
  }

  /** Iterates over account keys and inbox keys, oldest first. */
  list(options?: CallOptions): AsyncGenerator<Key, void, undefined> {
    return this.#transport.list("/api/keys", "keys", {}, options);
  }

  /** Revokes a key immediately. */
  async revoke(id: number, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `/api/keys/${id}`, member: "ok" }, options);
  }

  /** Creates the key of an inbox, which can have only one. `api_key` of the result is shown only here. */
  createForInbox(address: string, order: InboxKeyOrder = {}, options?: CallOptions): Promise<IssuedInboxKey> {
    return this.#transport.json({ method: "POST", path: `/api/inboxes/${part(address)}/key`, body: order, member: "api_key" }, options);
  }

  /** Revokes the key of an inbox, so that a new one can be created. */
  async revokeForInbox(address: string, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `/api/inboxes/${part(address)}/key`, member: "ok" }, options);
  }
}

/** The account: `client.account`. Unless stated otherwise, the calls need a session; see `logIn`. */
export class Account {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The account with the limits of its plan and their usage. */
  get(options?: CallOptions): Promise<AccountInfo> {
    return this.#transport.member({ method: "GET", path: "/api/account", member: "account" }, options);
  }

  /** The sessions, oldest first. */
  sessions(options?: CallOptions): Promise<Session[]> {
    return this.#transport.member({ method: "GET", path: "/api/account/sessions", member: "sessions" }, options);
  }

  /** Ends a session immediately. */
  async endSession(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `/api/account/sessions/${part(id)}`, member: "ok" }, options);
  }

  /** Ends the session of this client. */
  async logOut(options?: CallOptions): Promise<void> {
    await this.#post("/api/auth/logout", {}, options);
  }

  /** Sets a new password and ends all other sessions. */
  async changePassword(old: string, password: string, options?: CallOptions): Promise<void> {
    await this.#post("/api/account/password", { old, new: password }, options);
  }

  /** Sets the public key for encrypted inboxes, an age recipient. Replacing a key needs the password. */
  setEncryption(publicKey: string, password?: string, options?: CallOptions): Promise<Encryption> {
    return this.#transport.member({ method: "PUT", path: "/api/account/encryption", body: { public_key: publicKey, password }, member: "encryption" }, options);
  }

  /** Removes the public key. Fails with 400 while encrypted inboxes exist. */
  deleteEncryption(password: string, options?: CallOptions): Promise<Encryption> {
    return this.#transport.member({ method: "DELETE", path: "/api/account/encryption", body: { password }, member: "encryption" }, options);
  }

  /** Sends the link that verifies the account's address again. */
  async requestVerification(options?: CallOptions): Promise<void> {
    await this.#post("/api/auth/verify-email", {}, options);
  }

  /** Verifies an address with the token of a link. Needs no credential. */
  async confirmVerification(token: string, options?: CallOptions): Promise<void> {
    await this.#post("/api/auth/verify-email/confirm", { token }, options);
  }

  /** Sends a reset link to the address if an account has it. Needs no credential. */
  async requestPasswordReset(email: string, options?: CallOptions): Promise<void> {
    await this.#post("/api/auth/password-reset", { email }, options);
  }

  /** Sets a new password with the token of a link, and counts what that ended. Needs no credential. */
  confirmPasswordReset(token: string, password: string, options?: CallOptions): Promise<Ended> {
    return this.#post("/api/auth/password-reset/confirm", { token, password }, options);
  }

  #post<T>(path: string, body: object, options?: CallOptions): Promise<T> {
    return this.#transport.json({ method: "POST", path, body, member: "ok" }, options);
  }
}
