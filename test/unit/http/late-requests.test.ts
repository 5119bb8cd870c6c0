import dns from 'node:dns';
import { fetch as undiciFetch } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Fetch, PaymentsClientOptions } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { type Journal, memoryJournal } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { jumpClock, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass, turns } from '../../helpers/fake-timers.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { createClientFor } from '../../helpers/raw-service.ts';
import { API_KEY, catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { heldService } from './held-service.ts';

const TIMEOUT = 30 * SECOND;
const LEASE = 10 * SECOND;

/** Connections are made only after `release`: until then the name of the service is looked up. */
function holdConnections(count = 1) {
  const released = Promise.withResolvers<void>();
  const connecting = Promise.withResolvers<void>();
  let lookups = 0;
  vi.spyOn(dns, 'lookup').mockImplementation((...given: unknown[]) => {
    const done = given.at(-1);
    if (typeof done !== 'function') throw new Error('dns.lookup was called without a callback.');
    if (++lookups === count) connecting.resolve();
    released.promise.then(() => done(null, [{ address: '127.0.0.1', family: 4 }]));
  });
  return { connecting: connecting.promise, release: released.resolve };
}

async function startNamedService() {
  const { requests, baseUrl } = await startService();
  const client = createClientFor(baseUrl.replace('127.0.0.1', 'localhost'));
  return { requests, client: (options: PaymentsClientOptions) => client({ timeout: TIMEOUT, ...options }) };
}

/** The clock stands still until `freeze`, after which the timer fires first, and late. */
function freezable() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  return () => {
    jumpClock(2 * TIMEOUT);
    vi.advanceTimersByTime(TIMEOUT);
  };
}

const clocks: [string, (by: number) => void][] = [
  ['the monotonic clock', jumpClock],
  ['the wall clock', (by) => vi.spyOn(Date, 'now').mockReturnValue(Date.now() + by)],
];

/** Makes a journal whose claims are kept, cannot be renewed, or are found to be another process's. */
function openJournal(renewal: 'renewed' | 'lost' | 'fails'): Journal {
  const { store, intercepted, records } = sharedStore(LEASE);
  return intercepted(['begun'], async (key, change) => {
    if (change.expected === null || renewal === 'renewed') return await store.write(key, change);
    if (renewal === 'fails') throw new Error('no database');
    const text = records.get(key)?.text.replace(/"attempt":"[^"]+"/, '"attempt":"of another process"') ?? '';
    records.set(key, { version: 'of another process', text });
    return false;
  });
}

const showing: [string, () => PaymentsClientOptions][] = [
  ["Node's fetch", () => ({})],
  ['a fetch of undici', () => ({ fetch: (url, init) => undiciFetch(url, init) })],
  ['undiciTransport', () => ({ transport: undiciTransport() })],
];

// A timer of a process that thaws between two reads of its sockets fires after them: no timer fires in these tests.
describe.each(showing)('over %s', (_, options) => {
  test.each(clocks)('sends nothing if its time passed by %s while it connected', async (_clock, jump) => {
    const service = await startNamedService();
    const client = service.client(options());
    const { connecting, release } = holdConnections();
    const call = catchError(client.chargeMobileMoney(charge));
    await connecting;
    jump(TIMEOUT);
    release();
    expect(await call).toMatchObject({ outcome: 'unknown', cause: { name: 'RequestTimeoutError' } });
    await client.verify(REFERENCE);
    expect(service.requests.map(({ method }) => method)).toEqual(['GET']);
  });

  test('sends nothing if the lease ended while it connected', async () => {
    const service = await startNamedService();
    const journal = memoryJournal({ lease: LEASE });
    const client = service.client({ ...options(), journal });
    const { connecting, release } = holdConnections();
    const call = catchError(charged(client));
    await connecting;
    jumpClock(LEASE);
    release();
    expect(await call).toMatchObject({ outcome: 'unknown', cause: { name: 'ConnectionError' } });
    await client.verify(REFERENCE);
    expect(service.requests.map(({ method }) => method)).toEqual(['GET']);
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
  });

  test('sends the younger of two charges with one X-Request-Id', async () => {
    const service = await startNamedService();
    const client = service.client({ ...options(), headers: { 'x-request-id': 'from-the-shop' } });
    const { connecting, release } = holdConnections(2);
    const first = catchError(client.chargeMobileMoney({ ...charge, amount: '1.00' }));
    await turns(10);
    jumpClock(TIMEOUT);
    const second = client.chargeMobileMoney(charge);
    await connecting;
    release();
    expect(await first).toMatchObject({ outcome: 'unknown' });
    await second;
    expect(service.requests.map(({ body }) => JSON.parse(body).amount)).toEqual([25.5]);
  });

  test('sends nothing late after another charge with its X-Request-Id has ended', async () => {
    const service = await startNamedService();
    const client = service.client({ ...options(), headers: { 'x-request-id': 'from-the-shop' } });
    const { connecting, release } = holdConnections(2);
    const stopping = new AbortController();
    const stopped = catchError(client.chargeMobileMoney(charge, { signal: stopping.signal }));
    const late = catchError(client.chargeMobileMoney(charge));
    await connecting;
    stopping.abort();
    await stopped;
    jumpClock(TIMEOUT);
    release();
    expect(await late).toMatchObject({ outcome: 'unknown', cause: { name: 'RequestTimeoutError' } });
    await client.verify(REFERENCE);
    expect(service.requests.map(({ method }) => method)).toEqual(['GET']);
  });

  test('reads a response of 400 kB that arrived while it was frozen', async () => {
    const freeze = freezable();
    const service = await startService((response) => {
      sendJson(response, 200, { ...successBodies.chargeMobileMoney(), padding: 'x'.repeat(400_000) });
      freeze();
    });
    const result = await service.client({ ...options(), timeout: TIMEOUT }).chargeMobileMoney(charge);
    expect(result).toMatchObject({ reference: REFERENCE });
  });

  test('waits for a charge that left, although its lease ends', async () => {
    const { service, arrived, respond } = await heldService();
    const journal = openJournal('fails');
    fakeClocks();
    const call = charged(service.client({ ...options(), timeout: TIMEOUT, journal }));
    await arrived;
    await pass(LEASE + SECOND);
    respond();
    expect(await call).toMatchObject({ reference: REFERENCE });
  });
});

/** The client of a transport that does not show when a request leaves. */
const hidden = (fetch: Fetch, options: PaymentsClientOptions = {}) =>
  createClientFor('https://pay.example')({ apiKey: API_KEY, timeout: TIMEOUT, fetch, ...options });

test('aborts a charge at once after a freeze if nothing shows that it left', async () => {
  const freeze = freezable();
  const seen: boolean[] = [];
  const client = hidden(async (_url, { signal }) => {
    freeze();
    seen.push(signal.aborted);
    return Response.json(successBodies.chargeMobileMoney());
  });
  expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({ outcome: 'unknown' });
  expect(seen).toEqual([true]);
});

test('reads the body after a freeze if the headers had arrived', async () => {
  const freeze = freezable();
  const client = hidden(async () => {
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      freeze();
      await turns(2);
      controller.enqueue(new TextEncoder().encode(JSON.stringify(successBodies.chargeMobileMoney())));
      controller.close();
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
  });
  expect(await client.chargeMobileMoney(charge)).toMatchObject({ reference: REFERENCE });
});

describe('a charge of which nothing shows that it left', () => {
  /** Charges under a lease that `renew` keeps, and returns the signal that its fetch got. */
  async function startCharge(renew: 'renewed' | 'lost' | 'fails') {
    const aborted = vi.fn();
    const sent = Promise.withResolvers<void>();
    fakeClocks();
    const client = hidden(
      (_url, { signal }) => {
        signal.addEventListener('abort', aborted);
        sent.resolve();
        return new Promise(() => {});
      },
      { journal: openJournal(renew) },
    );
    const call = catchError(charged(client));
    await sent.promise;
    return { aborted, call };
  }

  test('is aborted when the lease ends', async () => {
    const { aborted, call } = await startCharge('fails');
    await pass(LEASE - SECOND);
    expect(aborted).not.toHaveBeenCalled();
    await pass(SECOND);
    expect(aborted).toHaveBeenCalledOnce();
    expect(await call).toMatchObject({ outcome: 'unknown', cause: { name: 'ConnectionError' } });
  });

  test('is aborted when another process has the key', async () => {
    const { aborted, call } = await startCharge('lost');
    await pass(LEASE / 2);
    expect(aborted).toHaveBeenCalledOnce();
    expect(await call).toMatchObject({ outcome: 'unknown' });
  });

  test('is waited for while the lease is renewed', async () => {
    const { aborted, call } = await startCharge('renewed');
    await pass(TIMEOUT - SECOND);
    expect(aborted).not.toHaveBeenCalled();
    await pass(SECOND);
    expect(await call).toMatchObject({ cause: { name: 'RequestTimeoutError' } });
    expect(vi.getTimerCount()).toBe(0);
  });
});
