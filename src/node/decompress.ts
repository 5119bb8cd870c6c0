import { pipeline, type Transform, Writable } from 'node:stream';
import { constants, createBrotliDecompress, createUnzip } from 'node:zlib';

/** An answer in more layers than these is made to keep its reader busy. */
const MAX_ENCODINGS = 5;

/** As forgiving of a missing end as fetch is. */
const createGunzip = () =>
  createUnzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH });
const unbrotli = () =>
  createBrotliDecompress({
    flush: constants.BROTLI_OPERATION_FLUSH,
    finishFlush: constants.BROTLI_OPERATION_FLUSH,
  });

const unpackers: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createGunzip],
  ['br', unbrotli],
]);

/** Takes a packed body. `write` says whether there is room for more; `drained` is called when there is again. */
export interface Decompressor {
  write(bytes: Uint8Array): boolean;
  end(): void;
  stop(): void;
}

/**
 * Unpacks a body while it comes in, and no further than `take` wants it. `undefined` where it is not packed, or in a way
 * that nobody asked for: it is then taken as it is. (No Accept-Encoding is sent, but a service may pack all the same.)
 */
export function createDecompressor(
  contentEncoding: string | null,
  take: (bytes: Uint8Array) => boolean,
  drained: () => void,
  ended: (error: unknown) => void,
): Decompressor | undefined {
  const codings = contentEncoding?.toLowerCase().split(',', MAX_ENCODINGS + 1) ?? [];
  const wanted = codings.reverse().flatMap((coding) => unpackers.get(coding.trim()) ?? []);
  if (wanted.length < codings.length || wanted.length > MAX_ENCODINGS) return undefined;
  const layers = wanted.map((unpacker) => unpacker());
  const [outermost] = layers;
  if (!outermost) return undefined;
  const enough = new Error('The rest of the body is not wanted.');
  const taking = new Writable({
    write: (bytes: Buffer, _encoding, done) => done(take(bytes) ? null : enough),
  });
  pipeline([...layers, taking], (error) => ended(error === enough ? undefined : (error ?? undefined)));
  outermost.on('drain', drained);
  return {
    write: (bytes) => outermost.write(bytes),
    end: () => outermost.end(),
    stop: () => outermost.destroy(),
  };
}
