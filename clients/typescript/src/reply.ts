import { InboxdError } from "./errors.js";
import type { Letter, Message } from "./types.js";

/** What programs put before the subject of an answer, in the languages they speak, perhaps with a count. */
const prefix = /^\s*(?:re|aw|antw|sv|vs|rif|odp|ynt|r|res|回复|回覆|答复|返信|ответ|отв)\s*(?:\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]/iu;

/** answering is the letter that answers a message, in its conversation and without a text: a received one at its Reply-To, else its From, a sent one to whom it went. */
export function answering(m: Message): Pick<Letter, "to" | "cc" | "subject" | "in_reply_to"> {
  if (m.encrypted) throw new InboxdError(`Message ${m.id} is encrypted: its subject is not known here`);
  const given = m.direction === "out" ? m.to : m.reply_to.some((box) => box.email) ? m.reply_to : [m.from];
  const [to, ...cc] = given.map((box) => box.email).filter(Boolean);
  if (!to) throw new InboxdError(`Message ${m.id} names no address to answer`);
  return { to, ...(cc.length && { cc }), subject: answered(m.subject ?? ""), ...(answerable(m.internet_message_id) && { in_reply_to: `<${m.internet_message_id}>` }) };
}

/** answered is the subject of an answer: "Re: " once, whatever was there (RFC 5322 section 3.6.5). */
function answered(subject: string): string {
  let clean = subject.replace(/[\x00-\x1f\x7f]/g, " ");
  while (prefix.test(clean)) clean = clean.replace(prefix, "");
  return [...`Re: ${clean.trim()}`].slice(0, 200).join("").trimEnd();
}

/** answerable reports whether the service takes a Message-ID for in_reply_to. */
const answerable = (id: string | null) => !!id && id.length <= 248 && /^[!-~]+$/.test(id) && /^[^@<>,]+@[^<>,]+$/.test(id) && !id.includes("=?");
