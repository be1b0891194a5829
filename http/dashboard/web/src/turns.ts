// Splits long work into turns, so that the page stays responsive. A worker would need a script URL,
// which the page's policy forbids.

/** next lets pending tasks run first. */
export const next = () => new Promise<void>((done) => setTimeout(done));

/** pieces streams bytes, one megabyte at a time. */
export function pieces(b: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const size = 1 << 20;
  let at = 0;
  return new ReadableStream({
    async pull(to) {
      if (at) await next();
      to.enqueue(b.subarray(at, (at += size)));
      if (at >= b.length) to.close();
    },
  });
}
