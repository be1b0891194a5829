// An encrypted mail, opened: read as the server would have read it; loaded when one is there.
import type { Address } from "postal-mime";
import { open } from "./age";
import { bytesOf, read } from "./parse";
import { textOf } from "./html";
import type { Held } from "./ring";
import type { Mailbox, SaidMeeting } from "./wire";

export type Opened = {
  subject: string; from: Mailbox; to: Mailbox[]; cc: Mailbox[]; replyTo: string; id: string; text: string; html: string | null;
  headers: [string, string][]; files: { name: string; type: string; bytes: Uint8Array<ArrayBuffer> }[]; invitation: SaidMeeting | null; source: Uint8Array<ArrayBuffer>;
};

const boxes = (list?: Address[]): Mailbox[] => (list ?? []).flatMap((a) => (a.group ? boxes(a.group) : [{ email: a.address ?? "", name: a.name ?? "" }]));

/** unseal opens an envelope and reads the mail in it; null when no key fits. */
export async function unseal(envelope: Uint8Array, keys: Held[]): Promise<Opened | null> {
  const source = await open(envelope, keys);
  if (!source) return null;
  const m = await read(source);
  const calendar = m.attachments.find((a) => /^text\/calendar/i.test(a.mimeType) || /\.ics$/i.test(a.filename ?? ""));
  return {
    subject: m.subject || "No subject", from: boxes(m.from ? [m.from] : [])[0] ?? { email: "", name: "" }, to: boxes(m.to), cc: boxes(m.cc),
    replyTo: boxes(m.replyTo)[0]?.email ?? "", id: m.messageId ?? "", html: m.html ?? null, text: m.text ?? (m.html ? textOf(m.html) : ""),
    headers: m.headers.map((h): [string, string] => [h.originalKey ?? h.key, h.value]), source,
    files: m.attachments.map((a, i) => ({ name: a.filename || `file-${i + 1}`, type: a.mimeType, bytes: bytesOf(a.content) })),
    invitation: calendar ? await (await import("./invitation")).invitation(new TextDecoder().decode(bytesOf(calendar.content))) : null,
  };
}
