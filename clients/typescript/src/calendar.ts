import { once, type Transport } from "./transport.js";
import type { Arranged, Busy, CalendarFeed, CallOptions, Meeting, MeetingChange, MeetingOrder, MeetingQuery, OnceOptions, OneMeeting, OwnerCopies } from "./types.js";

/** The calendar of an inbox: `inbox.calendar`. */
export class Calendar {
  readonly #transport: Transport;
  readonly #path: string;

  /** @internal */
  constructor(transport: Transport, inboxPath: string) {
    this.#transport = transport;
    this.#path = `${inboxPath}/calendar`;
  }

  /** Meetings, soonest first. Needs inbox:read. */
  list(query: MeetingQuery = {}, options?: CallOptions): AsyncGenerator<Meeting, void, undefined> {
    return this.#transport.list(`${this.#path}/events`, "events", query, options);
  }

  /** The current state of one meeting. Needs inbox:read. */
  async get(id: number, options?: CallOptions): Promise<OneMeeting["event"]> {
    return this.#transport.member<OneMeeting["event"]>({ method: "GET", path: `${this.#path}/events/${id}`, member: "event" }, options);
  }

  /** Creates a meeting and invites its attendees. Needs email:send. */
  create(order: MeetingOrder, options: OnceOptions = {}): Promise<Arranged> {
    return this.#order("/events", order, options);
  }

  /** Changes a meeting that this inbox organizes. Needs email:send. */
  update(id: number, change: MeetingChange, options?: CallOptions): Promise<Arranged> {
    return this.#transport.json({ method: "PATCH", path: `${this.#path}/events/${id}`, body: change, member: "event" }, options);
  }

  /** Cancels a meeting that this inbox organizes; `message` is a text for the guests. Needs email:send. */
  cancel(id: number, message?: string, options: OnceOptions = {}): Promise<Arranged> {
    return this.#order(`/events/${id}/cancel`, message === undefined ? {} : { message }, options);
  }

  /** Responds to an invitation. Needs email:send. */
  answer(id: number, response: "accepted" | "declined" | "tentative", comment?: string, options: OnceOptions = {}): Promise<Arranged> {
    return this.#order(`/events/${id}/rsvp`, comment === undefined ? { response } : { response, comment }, options);
  }

  /** Removes a meeting from this calendar. Nothing is sent, and no message restores it for 30 days. Needs message:write. */
  async remove(id: number, options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `${this.#path}/events/${id}`, safe: true, member: "ok" }, options);
  }

  /** The occupied periods between two times, at most 92 days apart. Needs inbox:read. */
  async freeBusy(from: Date | string, to: Date | string, options?: CallOptions): Promise<Busy[]> {
    return this.#transport.member<Busy[]>({ method: "GET", path: `${this.#path}/freebusy`, query: { from, to }, member: "busy" }, options);
  }

  /** The link for calendar programs; the first call creates it. Needs inbox:read. */
  feed(options?: CallOptions): Promise<CalendarFeed> {
    return this.#transport.json({ method: "GET", path: `${this.#path}/feed`, member: "feed_url" }, options);
  }

  /** Replaces the link; the old one stops working immediately. Needs inbox:manage. */
  rotateFeed(options: OnceOptions = {}): Promise<CalendarFeed> {
    return this.#transport.json({ method: "POST", path: `${this.#path}/feed/rotate`, headers: once(options.idempotencyKey), member: "feed_url" }, options);
  }

  /** Turns the link off. Needs inbox:manage. */
  async deleteFeed(options?: CallOptions): Promise<void> {
    await this.#transport.json({ method: "DELETE", path: `${this.#path}/feed`, safe: true, member: "enabled" }, options);
  }

  /** Whether the account's owner gets copies. Needs an account key with inbox:read. */
  owner(options?: CallOptions): Promise<OwnerCopies> {
    return this.#transport.json({ method: "GET", path: `${this.#path}/owner`, member: "enabled" }, options);
  }

  /** Sets whether the account's owner gets copies. Needs an account key with inbox:manage. */
  setOwner(enabled: boolean, options?: CallOptions): Promise<OwnerCopies> {
    return this.#transport.json({ method: "PUT", path: `${this.#path}/owner`, body: { enabled }, member: "enabled" }, options);
  }

  #order(path: string, body: unknown, options: OnceOptions): Promise<Arranged> {
    return this.#transport.json({ method: "POST", path: this.#path + path, body, headers: once(options.idempotencyKey), member: "event" }, options);
  }
}
