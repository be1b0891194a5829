import { InboxdError } from "./errors.js";
import type { Letter, Message } from "./types.js";

/** Prefixes that mail programs put before the subject of a reply, in several languages, optionally with a counter. */
const prefix = /^\s*(?:re|aw|antw|sv|vs|rif|odp|ynt|r|res|回复|回覆|答复|返信|ответ|отв)\s*(?:\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]/iu;

/**
 * answering returns a letter without a text that replies to a message in its conversation. A reply to a received message goes to
 * its Reply-To or else its From; one to a sent message, to its recipients.
 */
export function answering(m: Message): Pick<Letter, "to" | "cc" | "subject" | "in_reply_to"> {
  if (m.encrypted) throw new InboxdError(`Message ${m.id} is encrypted, so its subject is unknown`);
  const given = m.direction === "out" ? m.to : m.reply_to.some((box) => box.email) ? m.reply_to : [m.from];
  const [to, ...cc] = given.map((box) => box.email).filter(Boolean);
  if (!to) throw new InboxdError(`Message ${m.id} has no address to reply to`);
  return { to, ...(cc.length && { cc }), subject: answered(m.subject ?? ""), ...(answerable(m.internet_message_id) && { in_reply_to: `<${m.internet_message_id}>` }) };
}

/** answered returns the subject of a reply: "Re: " once, whatever prefixes there were (RFC 5322 section 3.6.5). */
function answered(subject: string): string {
  let clean = subject.replace(/[\x00-\x1f\x7f]/g, " ");
  while (prefix.test(clean)) clean = clean.replace(prefix, "");
  return [...`Re: ${clean.trim()}`].slice(0, 200).join("").trimEnd();
}

/** answerable reports whether the service accepts a Message-ID for in_reply_to. */
const answerable = (id: string | null) => !!id && id.length <= 248 && /^[!-~]+$/.test(id) && /^[^@<>,]+@[^<>,]+$/.test(id) && !id.includes("=?");
