import type { ServerResponse } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import type { OperationName } from '../../../src/index.ts';
import { callOperation } from '../../helpers/allowed-ends.ts';
import { operationNames } from '../../helpers/calls.ts';
import { startService, successBodies } from '../../helpers/service.ts';

const MiB = 1024 * 1024;
const WHOLE = 512 * MiB;
const CHUNK = Buffer.alloc(64 * 1024, 'a');

/** Writes up to 512 MiB as fast as they are taken, and counts what was. */
async function pour(response: ServerResponse, opening: string, counter: { bytes: number }): Promise<void> {
  function* chunks() {
    yield Buffer.from(opening);
    for (; counter.bytes < WHOLE; counter.bytes += CHUNK.byteLength) yield CHUNK;
  }
  await pipeline(Readable.from(chunks()), response).catch(() => {});
}

/** By how many bytes the process grew, at its largest, while something ran. */
async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  const used = () => {
    const { rss, arrayBuffers } = process.memoryUsage();
    return { rss, arrayBuffers };
  };
  const before = used();
  let most = 0;
  const sample = () => {
    const now = used();
    most = Math.max(most, now.rss - before.rss, now.arrayBuffers - before.arrayBuffers);
  };
  const timer = setInterval(sample, 1);
  await work();
  sample();
  clearInterval(timer);
  return most;
}

const json = (operation: OperationName) => JSON.stringify(successBodies[operation]());
/** A valid response, except for a text that never ends. */
const opening = (operation: OperationName) => `${json(operation).slice(0, -1)},"more":"`;

const expected = {
  200: { initialize: 'outcome_unknown', chargeMobileMoney: 'outcome_unknown', verify: 'unexpected_response' },
  400: { initialize: 'outcome_unknown', chargeMobileMoney: 'outcome_unknown', verify: 'invalid_request' },
  500: { initialize: 'outcome_unknown', chargeMobileMoney: 'outcome_unknown', verify: 'server_error' },
} as const;

test.each([200, 400, 500] as const)(
  '512 MiB in a %i are not read: the call ends, memory does not grow',
  async (status) => {
    for (const operation of operationNames) {
      const counter = { bytes: 0 };
      const onStopped = vi.fn();
      const service = await startService((response) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        pour(response, opening(operation), counter).finally(onStopped);
      });
      const client = service.client();
      const growth = await growthDuring(async () => {
        const end = await callOperation(client, operation);
        expect(end).toMatchObject({ error: { code: expected[status][operation] } });
        expect(JSON.stringify(end).length).toBeLessThan(100_000);
      });
      expect(growth).toBeLessThan(64 * MiB);
      await vi.waitFor(() => expect(onStopped).toHaveBeenCalledOnce(), { timeout: 10_000 });
      expect(counter.bytes).toBeLessThan(32 * MiB);
      expect(service.requests).toHaveLength(1);
    }
  },
);

test('does not decode 128 MiB that were compressed to an eighth of a MiB', async () => {
  const packed = await gzipped(128 * MiB);
  expect(packed.byteLength).toBeLessThan(MiB);
  for (const coding of ['gzip', 'gzip, gzip']) {
    const body = coding === 'gzip' ? packed : gzipSync(packed);
    const service = await startService(200, body, {
      'content-type': 'application/json',
      'content-encoding': coding,
    });
    for (const operation of operationNames) {
      const client = service.client();
      const growth = await growthDuring(async () => {
        expect(await callOperation(client, operation)).toMatchObject({
          error: { code: expected[200][operation] },
        });
      });
      expect(growth).toBeLessThan(64 * MiB);
    }
  }
});

async function gzipped(size: number): Promise<Buffer> {
  function* chunks() {
    for (let bytes = 0; bytes < size; bytes += CHUNK.byteLength) yield CHUNK;
  }
  const gzip = Readable.from(chunks()).compose<Duplex>(createGzip());
  return Buffer.concat(await gzip.toArray());
}

test.each([
  ['exactly the limit', MiB, true],
  ['one byte more', MiB + 1, false],
])('reads a valid response with %s of 1 MiB whole or not at all', async (_, size, isRead) => {
  const [start, end] = [opening('verify'), '"}'];
  const body = `${start}${'a'.repeat(size - start.length - end.length)}${end}`;
  const service = await startService(200, body);
  const ended = await callOperation(service.client(), 'verify');
  expect('value' in ended).toBe(isRead);
  if (!isRead)
    expect(ended).toMatchObject({ error: { message: expect.stringContaining('longer than any') } });
});
