// Parses a message as received. This chunk is loaded when a message needs it.
import PostalMime, { type Email, type PostalMimeOptions } from "postal-mime";
import { next } from "./turns";

const turn = 25; // milliseconds

type ByLine = new (o: PostalMimeOptions) => PostalMime & { processLine(line: Uint8Array<ArrayBuffer>, last: boolean): Promise<void> };

/**
 * Reader parses a large message in turns. The type cast is needed because the library's types do
 * not declare processLine.
 */
class Reader extends (PostalMime as unknown as ByLine) {
  private began = performance.now();
  override async processLine(line: Uint8Array<ArrayBuffer>, last: boolean): Promise<void> {
    if (performance.now() - this.began > turn) {
      await next();
      this.began = performance.now();
    }
    return super.processLine(line, last);
  }
}

export const read = (source: Uint8Array<ArrayBuffer>): Promise<Email> => new Reader({ attachmentEncoding: "arraybuffer" }).parse(source);

const harmless = /^image\/(png|gif|jpeg|webp|bmp|avif)$/i;

/** images returns the images of a message by Content-ID, as data: URLs. */
export async function images(source: Uint8Array<ArrayBuffer>): Promise<Map<string, string>> {
  const out = new Map<string, string>();
  for (const a of (await read(source)).attachments)
    if (a.contentId && harmless.test(a.mimeType)) out.set(a.contentId.replace(/^<|>$/g, ""), `data:${a.mimeType};base64,${base64(bytesOf(a.content))}`);
  return out;
}

export const bytesOf = (c: ArrayBuffer | Uint8Array | string): Uint8Array<ArrayBuffer> =>
  typeof c === "string" ? new TextEncoder().encode(c) : c instanceof Uint8Array ? new Uint8Array(c) : new Uint8Array(c);

function base64(b: Uint8Array): string {
  let s = "";
  for (let i = 0; i < b.length; i += 0x8000) s += String.fromCharCode(...b.subarray(i, i + 0x8000));
  return btoa(s);
}
