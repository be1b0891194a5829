// Formats sizes, times, names and states as text.

const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dayYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** short formats a time for a row: the hour if it is today, else the day. */
export function short(t: string): string {
  const d = new Date(t), now = new Date();
  if (d.toDateString() === now.toDateString()) return clock.format(d);
  return (d.getFullYear() === now.getFullYear() ? day : dayYear).format(d);
}
export const long = (t: string) => full.format(new Date(t));
export const hour = (t: string) => clock.format(new Date(t));
export const utc = (t: string) => t.replace("T", " ").replace(/\.\d+Z$/, "Z").replace("Z", " UTC");
/** date formats a day. A date without a time belongs to no time zone. */
export const date = (t: string) => weekday.format(t.length === 10 ? new Date(t + "T00:00") : new Date(t));

export const dayOnly = (t: string) => day.format(new Date(t.slice(0, 10) + "T00:00"));

export function size(n: number): string {
  if (n < 1024) return n + " B";
  for (const unit of ["KB", "MB", "GB"]) {
    n /= 1024;
    if (n < 1024 || unit === "GB") return (n < 10 ? n.toFixed(1) : Math.round(n)) + " " + unit;
  }
  return "";
}

export const number = (n: number) => n.toLocaleString();

export function hours(n: number): string {
  if (n % 24 === 0 && n > 24) return n / 24 + " days";
  return n === 1 ? "1 hour" : n + " hours";
}

export const person = (p: { email: string; name?: string | null }) => p.name || p.email;
export const plural = (n: number, one: string, many = one + "s") => `${number(n)} ${n === 1 ? one : many}`;

/** eventNames describes the events that a webhook can select. */
export const eventNames: Record<string, string> = {
  "*": "All events, including future kinds",
  "message.received": "A message was received",
  "message.delivered": "A sent message was delivered",
  "message.failed": "A sent message failed",
  "message.bounced": "A sent message bounced",
  "calendar.*": "All events about meetings",
  "calendar.event.created": "A meeting was added by an invitation",
  "calendar.event.updated": "A meeting changed",
  "calendar.event.cancelled": "A meeting was cancelled",
  "calendar.attendee.responded": "A guest responded",
};

/** lifetimes are the lifetimes of a key, in days. */
export const lifetimes: [string, string][] = [["90", "90 days"], ["30", "30 days"], ["365", "A year"], ["", "Until it is revoked"]];

/** scopes describes the permissions of a key. */
export const scopes: [string, string, string][] = [
  ["inbox:read", "Read messages", "List and open messages, download files, mark messages as read"],
  ["email:send", "Send messages", "Send from the inboxes, respond to invitations and arrange meetings"],
  ["message:write", "Delete messages", "Delete single messages, not inboxes"],
  ["inbox:manage", "Manage inboxes", "Create, change, empty and delete inboxes"],
  ["webhooks:manage", "Manage webhooks", "Create, change, test and delete webhooks, which receive the events of all inboxes with their codes"],
  ["domains:manage", "Manage domains", "Add, verify and remove own domains"],
  ["full", "Everything", "All of these, and permissions that are added later"],
];
