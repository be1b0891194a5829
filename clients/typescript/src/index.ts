/**
 * E-mail inboxes for software agents and test suites.
 *
 * ```ts
 * const inbox = await new Inboxd().inboxes.create();
 * await signUp(inbox.address);
 * const code = await inbox.waitForOtp();
 * ```
 * @packageDocumentation
 */
export { Account, Domains, Keys, Webhooks } from "./account.js";
export { Calendar } from "./calendar.js";
export { Inboxd, Inboxes, Suppressions } from "./client.js";
export { ApiError, ConnectionError, InboxdError, TimeoutError, UnexpectedAnswerError } from "./errors.js";
export type { FollowOptions, Followed } from "./events.js";
export { Inbox, type MessageWaitOptions, type WaitOptions } from "./inbox.js";
export type { Options } from "./transport.js";
export type * from "./types.js";
export { verifyWebhook, WebhookError } from "./webhook.js";
