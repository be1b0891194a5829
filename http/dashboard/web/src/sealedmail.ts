// Parses a decrypted message like the server would. This chunk is loaded when there is one. Only
// the displayed parts stay in memory: files are decrypted again when they are saved.
import type { Address } from "postal-mime";
import { open } from "./age";
import { bytesOf, read } from "./parse";
import { textOf } from "./html";
import type { Held } from "./ring";
import type { Mailbox, SaidMeeting } from "./wire";

export type Opened = {
  subject: string; from: Mailbox; to: Mailbox[]; cc: Mailbox[]; replyTo: string; id: string; text: string; html: string | null;
  headers: [string, string][]; files: { name: string; type: string; size: number }[]; invitation: SaidMeeting | null;
};

const boxes = (list?: Address[]): Mailbox[] => (list ?? []).flatMap((a) => (a.group ? boxes(a.group) : [{ email: a.address ?? "", name: a.name ?? "" }]));

/** unseal decrypts an envelope and parses the message in it. It returns null if no key fits. */
export async function unseal(envelope: Uint8Array<ArrayBuffer>, keys: Held[]): Promise<Opened | null> {
  const source = await open(envelope, keys);
  if (!source) return null;
  const m = await read(source);
  const calendar = m.attachments.find((a) => /^text\/calendar/i.test(a.mimeType) || /\.ics$/i.test(a.filename ?? ""));
  return {
    subject: m.subject || "No subject", from: boxes(m.from ? [m.from] : [])[0] ?? { email: "", name: "" }, to: boxes(m.to), cc: boxes(m.cc),
    replyTo: boxes(m.replyTo)[0]?.email ?? "", id: m.messageId ?? "", html: m.html ?? null, text: m.text ?? (m.html ? textOf(m.html) : ""),
    headers: m.headers.map((h): [string, string] => [h.originalKey ?? h.key, h.value]),
    files: m.attachments.map((a, i) => ({ name: a.filename || `file-${i + 1}`, type: a.mimeType, size: bytesOf(a.content).length })),
    invitation: calendar ? await (await import("./invitation")).invitation(new TextDecoder().decode(bytesOf(calendar.content))) : null,
  };
}

/** source returns the message in an envelope as received. */
export const source = open;

/** file returns the n-th file of the message in an envelope. */
export async function file(envelope: Uint8Array<ArrayBuffer>, keys: Held[], n: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const all = await open(envelope, keys);
  return all && bytesOf((await read(all)).attachments[n].content);
}
