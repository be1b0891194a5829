// Types of the public API as the page uses them. /openapi.json defines the contract.

export type Account = {
  id: string; email: string; email_verified: boolean; plan: "free" | "paid"; limits: Limits; usage: Usage; encryption: Encryption; created_at: string;
};
export type Session = { id: string; created_at: string; last_used_at: string; expires_at: string; current: boolean };
export type Limits = {
  inboxes: number; default_retention_hours: number; max_retention_hours: number; labels: boolean; subdomains: boolean;
  max_subdomains: number; account_keys: number; sends_per_day: number; recipients_per_message: number;
  attachments_per_message: number; attachment_bytes_per_message: number; webhooks: number; max_messages: number; max_bytes: number;
};
export type Usage = { inboxes: number; keys: number; sends_today: number };
/** Encryption has only `enabled` if the service does not support encryption. */
export type Encryption = { enabled: boolean; public_key?: string | null; set_at?: string | null; encrypted_inboxes?: number };

export type Inbox = {
  address: string; label: string; retention_hours: number; created_at: string; encrypted: boolean; has_key: boolean;
  message_count: number; unread_count: number; last_message_at: string | null; keep_newest: boolean; full: boolean;
};
export type CreatedInbox = { address: string; label: string; retention_hours: number; ignored_fields?: string[]; note?: string };

export type Mailbox = { email: string; name: string };
export type Attachment = { id: number; filename: string; content_type: string; size_bytes: number; is_encrypted: boolean; truncated: boolean; content_id: string | null };
export type SendStatus = "queued" | "retrying" | "sent" | "unsigned" | "failed";
export type SentRecipient = { email: string; status: string; error: string | null; mx: string | null; at: string | null };
export type AuthResult = { result: string; domain: string | null };

/** Row is a message as a list shows it. */
export type Row = {
  inbox: string; id: number; direction: "in" | "out"; subject: string | null; from: Mailbox; to: Mailbox[]; envelope_to: string;
  received_at: string; otp_code: string | null; is_read: boolean; attachments: Attachment[]; encrypted: boolean;
  send_status?: SendStatus; calendar_event?: { action: string } | null;
};
export const rowFields = "id,direction,subject,from,to,envelope_to,received_at,otp_code,is_read,attachments,encrypted,send_status,calendar_event";

/** Message is a complete message. */
export type Message = Omit<Row, "calendar_event"> & {
  envelope_recipients: string[]; cc: Mailbox[]; bcc?: Mailbox[]; reply_to: Mailbox[]; date: string | null; expires_at: string; internet_message_id: string | null;
  references: string[]; otp: { code: string; confidence: number; source: string; origin: string | null; candidates: string[]; sender_verified: boolean } | null;
  verification_link: string | null; body: string | null; body_from_html: boolean; truncated_body: boolean; degraded: boolean; hidden_text: boolean;
  html: string | null; headers: Record<string, string | string[]> | null; links: string[]; links_truncated?: boolean;
  attachments_omitted: number; calendar_event: SaidMeeting | null; calendar_events?: SaidMeeting[];
  spam: { score: number; required: number; is_spam: boolean; rules: { name: string; weight: number; description?: string }[] } | null;
  auth: { spf: AuthResult; dkim: AuthResult; dmarc: AuthResult } | null;
  send_error?: string | null; recipients?: SentRecipient[]; size_bytes: number; note?: string; envelope?: string | null;
};

export type Person = { email: string; name: string | null };
export type Attendee = Person & { role: string; status: string };
export type Meeting = {
  id: number; uid: string; title: string; start: string; end: string; all_day: boolean; timezone: string | null; location: string;
  description: string; organizer: Person | null; attendees: Attendee[]; status: string; source: "outbound" | "inbound";
  sequence: number; recurring: boolean; my_status: string | null; recurrence: { rrule: string | null } | null; conflicts?: number[];
  timezone_unknown?: boolean; organizer_verified?: boolean; transparency?: "opaque" | "transparent"; join_url?: string | null;
};
export type SaidMeeting = Omit<Meeting, "id"> & { id: number | null; action: string; event_id: number | null; reason?: string | null };
export type Feed = {
  feed_url: string; webcal_url: string; subscribe_links: { google: string; apple: string; outlook: string };
  created_at: string | null; fetch_count: number; last_fetched_at: string | null; last_client: string | null; stale: boolean;
};
export type OwnerCopies = { enabled: boolean; email: string; available: boolean; blocked: boolean };

export type Webhook = {
  id: number; url: string; event: string; inbox: string | null; created_at: string; last_delivery_at: string | null; last_status_code: number | null;
};
export type Delivery = {
  id: number; webhook_id: number; event_id: string; event: string; inbox: string; url: string; attempt: number; status_code: number | null;
  error: string | null; duration_ms: number | null; at: string; next_attempt_at: string | null;
  state: "succeeded" | "retrying" | "failed"; response: string | null; gone?: boolean;
};
export type Key = {
  id: number; kind: "account" | "inbox"; label: string; scopes: string; prefix: string; inbox: string | null;
  created_at: string; expires_at: string | null; expired: boolean; last_used_at: string | null;
};
export type Domain = {
  domain: string; status: "pending" | "verified" | "failing"; checked_at: string | null;
  records: { type: string; name: string; value: string; purpose: string; found: boolean }[];
};
export type Suppression = { email: string; inbox: string; message_id: number; reason: string; at: string };

/** Happening is an event of the stream. It has the form of a webhook body. */
export type Happening = {
  event: string; inbox: string; message_id?: number; from?: string | null; subject?: string | null; otp?: string | null;
  received_at?: string; encrypted?: boolean; gone?: boolean; calendar_event?: { id: number | null } | null;
};
