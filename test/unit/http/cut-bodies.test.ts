import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { undiciTransport } from '../../../src/node/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge, startService, successBodies } from '../../helpers/service.ts';

const encodings: [string, (text: string) => Uint8Array][] = [
  ['identity', Buffer.from],
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
];
const text = JSON.stringify({ message: 'Too many requests: please wait.', docs: 'https://pay.example/429' });

/** The head of a response, and the end of its body, for each way in which HTTP marks that end. */
const framings: [string, (length: number) => [head: string, end: string]][] = [
  ['content-length', (length) => [`content-length: ${length}\r\n\r\n`, '']],
  ['chunked', (length) => [`transfer-encoding: chunked\r\n\r\n${length.toString(16)}\r\n`, '\r\n0\r\n\r\n']],
  ['its close', () => ['connection: close\r\n\r\n', '']],
];

describe.each([
  ['fetch', undefined],
  ['undiciTransport', undiciTransport()],
])('over %s', (_, transport) => {
  const cells = encodings.flatMap(([encoding, pack]) =>
    framings.map(([framing, frame]) => ({ encoding, pack, framing, frame })),
  );
  // What HTTP says has arrived, with no encoding and a stated length, is all there is.
  const unclear = cells.filter(({ encoding, framing }) => encoding !== 'identity' || framing === 'its close');

  test.each(unclear)(
    'reports unknown after a part of a 429 in $encoding, ended by $framing',
    async ({ encoding, pack, frame }) => {
      const whole = pack(text);
      const lengths = [1, whole.length >> 2, whole.length >> 1, whole.length - 10];
      const service = await startRawService((socket, count) => {
        const part = whole.subarray(0, lengths[count - 1]);
        const [head, end] = frame(part.length);
        socket.write(`HTTP/1.1 429 Too Many Requests\r\ncontent-encoding: ${encoding}\r\n${head}`);
        socket.write(part);
        socket.end(end);
      });
      const client = service.client({ transport, maxRetries: 1 });
      for (const _ of lengths)
        expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({
          name: 'OutcomeUnknownError',
          outcome: 'unknown',
        });
      expect(service.requests).toHaveLength(lengths.length);
    },
  );

  test.each(encodings)('reads a whole body in %s', async (encoding, pack) => {
    const headers = { 'content-encoding': encoding };
    const accepting = await startService(
      200,
      pack(JSON.stringify(successBodies.chargeMobileMoney())),
      headers,
    );
    const charged = await accepting.client({ transport }).chargeMobileMoney(charge);
    expect(charged).toMatchObject({ reference: REFERENCE, amount: '25.50' });

    const refusing = await startService(422, pack(text), headers);
    const failure = await catchError(refusing.client({ transport }).chargeMobileMoney(charge));
    expect(failure).toMatchObject({
      outcome: 'rejected',
      serviceMessage: 'Too many requests: please wait.',
    });
  });

  test('asks for no encoding, so that a refusal in HTML is proof', async () => {
    const service = await startService(403, '<html>Forbidden</html>');
    const failure = await catchError(service.client({ transport }).chargeMobileMoney(charge));
    expect(service.requests[0]?.headers['accept-encoding']).toBe('identity');
    expect(failure).toMatchObject({ name: 'PermissionError', outcome: 'rejected' });
  });
});
