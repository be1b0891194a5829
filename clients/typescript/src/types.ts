import type { components, operations } from "./contract.js";

type Schemas = components["schemas"];
type Query<O extends keyof operations> = NonNullable<operations[O]["parameters"]["query"]>;
type Body<O extends keyof operations> = operations[O] extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;

/** A message with the field names of the contract. */
export type Message = Schemas["Message"];
/** A message that arrived while a wait for a code waited in vain. */
export type ArrivedMessage = Pick<Message, "id" | "subject" | "from" | "received_at" | "otp_code" | "otp" | "otp_candidates" | "is_read">;
export type Mailbox = Schemas["Mailbox"];
export type Attachment = Schemas["Attachment"];
export type InboxInfo = Schemas["Inbox"];
export type CreatedInbox = Schemas["CreatedInbox"];
export type InboxOrder = Schemas["InboxOrder"];
export type InboxChange = NonNullable<Body<"updateInbox">>;
export type Letter = Body<"sendMessage">;
/** A message for `simulate`; `from` is an address, or a name and an address. */
export type SimulatedMessage = Body<"simulateMessage">;
export type Meeting = Schemas["Meeting"];
export type OneMeeting = Schemas["OneMeeting"];
export type MeetingOrder = Schemas["MeetingOrder"];
export type MeetingChange = Schemas["MeetingChange"];
export type Arranged = Schemas["Arranged"];
export type CalendarFeed = Schemas["CalendarFeed"];
export type OwnerCopies = Schemas["OwnerCopies"];
export type Suppression = Schemas["Suppression"];
/** An event of a stream, a long poll or a webhook. `event` is its kind. */
export type Event = Schemas["Event"];
export type EventName = Schemas["EventName"];
export type MessageQuery = Omit<Query<"listMessages">, "before" | "since"> & { before?: number; since?: Date | string };
export type AllMessagesQuery = Omit<Query<"listAllMessages">, "cursor" | "since"> & { since?: Date | string };
export type InboxQuery = Omit<Query<"listInboxes">, "cursor">;
export type MeetingQuery = Omit<Query<"listMeetings">, "cursor" | "from" | "to"> & { from?: Date | string; to?: Date | string };
export type LatestQuery = Omit<Query<"getLatestMessage">, "since"> & { since?: Date | string };
export type Busy = operations["getFreeBusy"]["responses"]["200"]["content"]["application/json"]["busy"][number];
type Given<O extends keyof operations, S extends number> = operations[O]["responses"] extends { [status in S]: { content: { "application/json": infer B } } } ? B : never;
export type Webhook = Schemas["Webhook"];
export type WebhookOrder = Body<"createWebhook">;
export type WebhookChange = NonNullable<Body<"updateWebhook">>;
export type Tested = Given<"testWebhook", 200>;
export type Delivery = Schemas["Delivery"];
export type DeliveryQuery = Query<"listDeliveries">;
export type Domain = Schemas["Domain"];
export type Key = Schemas["Key"];
export type KeyOrder = NonNullable<Body<"issueKey">>;
export type IssuedKey = Given<"issueKey", 201>;
export type InboxKeyOrder = NonNullable<Body<"issueInboxKey">>;
export type IssuedInboxKey = Given<"issueInboxKey", 201>;
export type AccountInfo = Schemas["Account"];
export type Session = Schemas["Session"];
export type Encryption = Schemas["Encryption"];
/** What a password reset has ended. */
export type Ended = Given<"confirmPasswordReset", 200>;
export type ErrorCode = Schemas["ErrorCode"];
/** One result of `createMany`: an inbox, or an error with the members of an `ApiError`. */
export type BatchResult =
  | { inbox: import("./inbox.js").Inbox; status: number }
  | { inbox?: undefined; status: number; detail: string; code: ErrorCode | (string & {}); field?: string | undefined };

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call; its reason is thrown. */
  signal?: AbortSignal;
  /** Time limit of the call with its retries, in milliseconds. Default: that of the client. */
  timeout?: number;
}

/** Options of calls that create something. */
export interface OnceOptions extends CallOptions {
  /** 1 to 255 visible ASCII characters: a repeated call gets the first response, for 24 hours. Default: one generated for each call. */
  idempotencyKey?: string;
}
