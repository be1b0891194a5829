// How sizes, times, names and states are said.

const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dayYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** short is a time in a row: the hour today, else the day. */
export function short(t: string): string {
  const d = new Date(t), now = new Date();
  if (d.toDateString() === now.toDateString()) return clock.format(d);
  return (d.getFullYear() === now.getFullYear() ? day : dayYear).format(d);
}
export const long = (t: string) => full.format(new Date(t));
export const hour = (t: string) => clock.format(new Date(t));
export const utc = (t: string) => t.replace("T", " ").replace(/\.\d+Z$/, "Z").replace("Z", " UTC");
/** date says a day; one without a time is no moment of any zone. */
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

/** eventNames are the events a webhook can be for, as sentences. */
export const eventNames: Record<string, string> = {
  "*": "Everything, also what is added later",
  "message.received": "A mail came in",
  "message.delivered": "A sent mail was delivered",
  "message.failed": "A sent mail failed",
  "message.bounced": "A sent mail came back",
  "calendar.*": "Everything about meetings",
  "calendar.event.created": "A meeting was added by an invitation",
  "calendar.event.updated": "A meeting changed",
  "calendar.event.cancelled": "A meeting was cancelled",
  "calendar.attendee.responded": "A guest answered",
};

/** lifetimes are how long a key works, in days. */
export const lifetimes: [string, string][] = [["90", "90 days"], ["30", "30 days"], ["365", "A year"], ["", "Until it is revoked"]];

/** scopes are what a key may do, as sentences. */
export const scopes: [string, string, string][] = [
  ["inbox:read", "Read mail", "List and open mail, download files, mark as read"],
  ["email:send", "Send mail", "Send from the inboxes, answer and arrange meetings"],
  ["message:write", "Delete messages", "Delete single messages, not inboxes"],
  ["inbox:manage", "Manage inboxes", "Create, change, burn and delete inboxes"],
  ["full", "Everything", "All of these, and whatever is added later"],
];
