// Long work in turns, so that the page goes on meanwhile: a worker would need a script address,
// and the page's policy lets nobody make one.

/** next lets whatever waits go first. */
export const next = () => new Promise<void>((done) => setTimeout(done));

/** pieces hands bytes over a megabyte at a time. */
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
