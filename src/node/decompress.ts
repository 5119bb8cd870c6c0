import { pipeline, type Transform, Writable } from 'node:stream';
import * as zlib from 'node:zlib';

export interface Decompressor {
  /** Returns whether there is room for more. If not, `onDrain` is called when there is room again. */
  write(bytes: Uint8Array): boolean;
  end(): void;
  stop(): void;
}

/** A response with more encodings than this is made to keep its reader busy. */
const MAX_ENCODINGS = 5;

/**
 * Creates a decompressor that passes decoded bytes to `receive`, until that returns `false`. Returns `undefined` if the
 * body is not encoded, or is in an unknown encoding: it is then taken as it is. (No Accept-Encoding is sent, but a
 * service might encode anyway.)
 */
export function createDecompressor(
  contentEncoding: string | null,
  receive: (bytes: Uint8Array) => boolean,
  onDrain: () => void,
  onEnd: (error: unknown) => void,
): Decompressor | undefined {
  if (contentEncoding === null) return undefined;
  const encodings = contentEncoding.toLowerCase().split(',', MAX_ENCODINGS + 1);
  const decoders = encodings.reverse().flatMap((encoding) => DECODERS.get(encoding.trim()) ?? []);
  if (decoders.length < encodings.length || decoders.length > MAX_ENCODINGS) return undefined;
  const layers = decoders.map((createDecoder) => createDecoder());
  const [outermost] = layers;
  if (!outermost) return undefined;
  const unwanted = new Error('The rest of the body is not wanted.');
  const receiver = new Writable({
    write: (bytes: Buffer, _encoding, done) => done(receive(bytes) ? null : unwanted),
  });
  pipeline([...layers, receiver], (error) => onEnd(error === unwanted ? undefined : (error ?? undefined)));
  outermost.on('drain', onDrain);
  return {
    write: (bytes) => outermost.write(bytes),
    end: () => outermost.end(),
    stop: () => outermost.destroy(),
  };
}

const { constants } = zlib;

// As tolerant of a missing end as fetch is.
const createGunzip = () =>
  zlib.createUnzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH });
const createUnbrotli = () =>
  zlib.createBrotliDecompress({
    flush: constants.BROTLI_OPERATION_FLUSH,
    finishFlush: constants.BROTLI_OPERATION_FLUSH,
  });
/** The largest window of zstd over HTTP is 8 MiB (RFC 9659). */
const createUnzstd = () => zlib.createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } });

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createGunzip],
  ['br', createUnbrotli],
  // Node has zstd since 22.15.
  ...('createZstdDecompress' in zlib ? [['zstd', createUnzstd] as const] : []),
]);
