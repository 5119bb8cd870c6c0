/** While a key is held: other calls wait, its heartbeat renews it, and what a person decides meanwhile counts. */

import { expect, test, vi } from 'vitest';
import { OutcomeUnknownError, type PaymentsClient } from '../../../src/index.ts';
import { createJournal, memoryStore, type Resolution } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { sleep } from '../../helpers/clock.ts';
import { charged, KEY, replayOf } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { DAY, SECOND, slow, type World, world } from '../../helpers/world.ts';
import { betweenClaimAndRequest, failWrite, interceptWrites, never } from './interrupted-calls.ts';

/** Of a journal, unless it is given another one. */
const LEASE = 10 * SECOND;

test('a waiting call says that it waits, and then replays', async () => {
  const { shop, start, posts, events } = world({ respond: slow('POST', SECOND) });
  const first = charged(shop.payments);
  const second = charged(start().payments);
  expect(await second).toEqual(replayOf(await first));
  expect(posts).toHaveLength(1);
  expect(events.filter(({ type }) => type === 'journal')).toMatchObject([
    { type: 'journal', result: 'waiting', idempotencyKey: KEY },
    { type: 'journal', result: 'replayed', reference: (await first).reference },
  ]);
});

/** Makes a world in which a process died right after its claim, and another one waits for it. */
async function waitForDead(
  readClock: (now: number, startedAt: number) => number = (now) => now,
  signal?: AbortSignal,
): Promise<World & { waiting: Promise<unknown>; payments: PaymentsClient }> {
  const store = memoryStore();
  const startedAt = Date.now();
  const begun = world({
    store: interceptWrites(store, 'begun', async (write) => {
      await write();
      return await never();
    }),
  });
  charged(begun.shop.payments).catch(() => {});
  await begun.clock.settle();
  const read: typeof store.read = async (key) => ({
    ...(await store.read(key)),
    now: readClock(Date.now(), startedAt),
  });
  const { payments } = begun.start({ store: { ...store, read } });
  const waiting = catchError(charged(payments, { signal }));
  await begun.clock.until(() => begun.events.length > 0);
  return { ...begun, waiting, payments };
}

test.for<[string, (now: number, startedAt: number) => number]>([
  ["the journal's clock", (now) => now],
  ["our own clock, while the journal's stands still", (_now, startedAt) => startedAt],
  ["our own clock, after the journal's went back a day", (now) => now - DAY],
])('a lease after the death of a process its key is unknown by %s', async ([, readClock]) => {
  const { waiting, clock, posts } = await waitForDead(readClock);
  expect(await waiting).toBeInstanceOf(OutcomeUnknownError);
  expect(clock.now).toBeGreaterThanOrEqual(LEASE);
  expect(clock.now).toBeLessThanOrEqual(LEASE + 2 * SECOND);
  expect(posts).toEqual([]);
});

test.for([new Error('the customer left'), 'the customer left', null])(
  'a wait ends at once with the own reason of its signal: %s',
  async (reason) => {
    const abort = new AbortController();
    const { waiting, clock, posts } = await waitForDead(undefined, abort.signal);
    abort.abort(reason);
    expect(await waiting).toBe(reason);
    expect(clock.now).toBeLessThan(SECOND);
    expect(posts).toEqual([]);
  },
);

test('a wait ends at once when its client is closed', async () => {
  const { waiting, payments, clock, posts } = await waitForDead();
  void payments.close();
  expect(await waiting).toMatchObject({
    code: 'closed',
    operation: 'chargeMobileMoney',
    outcome: 'not_sent',
  });
  expect(clock.now).toBeLessThan(SECOND);
  expect(posts).toEqual([]);
});

test('a charge that takes longer than a lease is held to its end', async () => {
  const store = memoryStore();
  let writes = 0;
  const { shop, start, posts, clock } = world({
    store: interceptWrites(store, 'begun', (write) => {
      writes++;
      return write();
    }),
    respond: slow('POST', 45 * SECOND),
    client: { timeout: 60 * SECOND },
  });
  const first = charged(shop.payments);
  await clock.settle();
  const second = charged(start({ store }).payments);
  expect(await second).toEqual(replayOf(await first));
  // The claim, and three heartbeats per lease.
  expect(writes).toBe(1 + 13);
  expect(posts).toHaveLength(1);
  // No heartbeat is left.
  expect(vi.getTimerCount()).toBe(0);
});

test('a lease counts from the request of a renewal, not from its response', async () => {
  const store = memoryStore();
  let writes = 0;
  const { shop, start, posts, clock } = world({
    ...betweenClaimAndRequest(() => sleep(15 * SECOND)),
    // The database writes the first heartbeat at once, and responds late. It responds to no other one.
    store: interceptWrites(store, 'begun', async (write) => {
      if (++writes > 2) return await never();
      const isWritten = await write();
      if (writes === 2) await sleep(5 * SECOND);
      return isWritten;
    }),
  });
  const call = catchError(charged(shop.payments));
  // The heartbeat was asked for after 3.3 s, and confirmed after 8.3 s: the lease is over after 13.3 s.
  await clock.pass(14 * SECOND);
  await start({ store }).journal.resolve(KEY, 'not_charged', note);
  expect(await call).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
  // It did not try to renew what it knows to be over.
  expect(clock.now).toBeLessThan(18 * SECOND);
  // The first attempt, which got no connection.
  expect(posts).toHaveLength(1);
});

test.for([
  // The claim began 4 s after the start, and its renewal 7.3 s after it: the process holds the key for 10 s from then.
  [1, 13 * SECOND],
  [2, 16 * SECOND],
] as const)(
  'others see a key as held as long as its process does, after %d writes',
  async ([taken, time]) => {
    const store = memoryStore();
    let writes = 0;
    const { shop, clock } = world({
      respond: never,
      store: {
        ...store,
        async read(key) {
          const read = await store.read(key);
          await sleep(4 * SECOND);
          return read;
        },
        write: (...step) => (++writes <= taken ? store.write(...step) : failWrite()),
      },
    });
    catchError(charged(shop.payments));
    await clock.pass(time);
    expect(writes).toBeGreaterThan(taken);
    expect(await createJournal(store).read(KEY)).toMatchObject({ state: 'begun', inProgress: true });
  },
);

test('a slow read takes no lease of another process for over', async () => {
  const store = interceptWrites(memoryStore(), 'begun', (write, { expected }) =>
    expected === null ? write() : failWrite(),
  );
  const { shop, clock } = world({ store, respond: never });
  catchError(charged(shop.payments));
  await clock.pass(5 * SECOND);
  const read: typeof store.read = async (key) => {
    await sleep(4 * SECOND);
    return await store.read(key);
  };
  expect(await createJournal({ ...store, read }).read(KEY)).toMatchObject({ inProgress: true });
});

test('a request that has not left ends once its lease is over', async () => {
  let signal: AbortSignal | undefined;
  const { shop, clock } = world({
    store: interceptWrites(memoryStore(), 'begun', (write, { expected }) =>
      expected === null ? write() : failWrite(),
    ),
    client: {
      // It waits for a connection.
      fetch: (_, init) => {
        signal = init.signal;
        return new Promise((_resolve, reject) =>
          init.signal.addEventListener('abort', () => reject(init.signal.reason)),
        );
      },
    },
  });
  const call = catchError(charged(shop.payments));
  await clock.pass(LEASE - SECOND);
  expect(signal?.aborted).toBe(false);
  await clock.pass(2 * SECOND);
  expect(signal?.aborted).toBe(true);
  expect(await call).toMatchObject({ outcome: 'unknown' });
});

/** A store whose clock a test can set ahead, as that of a person's process might be. */
function createSkewedStore() {
  const store = memoryStore();
  let ahead = 0;
  const read: typeof store.read = async (key) => {
    const { record, now } = await store.read(key);
    return { record, now: now + ahead };
  };
  const setAhead = (by: number) => {
    ahead = by;
  };
  return { ...store, read, setAhead };
}

test('nothing is sent once a person has resolved the key', async () => {
  const store = createSkewedStore();
  const { shop, start, posts, clock } = world({ ...betweenClaimAndRequest(() => sleep(5 * SECOND)), store });
  const call = catchError(charged(shop.payments));
  await clock.pass(SECOND);
  store.setAhead(LEASE);
  await start().journal.resolve(KEY, 'not_charged', note);
  expect(await call).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
  expect(posts).toHaveLength(1);
  expect(await start().journal.read(KEY)).toMatchObject({ state: 'not_charged' });
});

/** A person resolves a key while its request is in flight, and by the clock of the store its lease is over. */
async function resolveMeanwhile(resolution: (reference: string) => Resolution, status = 200) {
  const store = createSkewedStore();
  let reference = '';
  const begun = world({
    store,
    respond: async (request, handle) => {
      if (request.method !== 'POST') return undefined;
      const response = await handle();
      reference = begun.service.charges[0]?.reference ?? '';
      store.setAhead(LEASE + SECOND);
      await begun.start().journal.resolve(KEY, resolution(reference), note);
      return status === 200 ? response : new Response('{}', { status });
    },
  });
  const end = await charged(begun.shop.payments).catch((error: unknown) => error);
  return { ...begun, end, reference };
}

test.for<[string, Resolution, resolved: object, replayed: string | undefined]>([
  ['not_charged', 'not_charged', { state: 'not_charged' }, undefined],
  [
    'another one',
    { reference: 'TXN-another' },
    { state: 'completed', reference: 'TXN-another' },
    'TXN-another',
  ],
])(
  'a charge that was resolved as %s meanwhile is a payment of its own',
  async ([, given, resolved, replayed]) => {
    const { end, reference, journal, shop, posts } = await resolveMeanwhile(() => given);
    expect(end).toBeInstanceOf(OutcomeUnknownError);
    expect(end).toMatchObject({ reference, outcome: 'unknown', retryable: false });
    expect(end).toMatchObject({ message: expect.stringContaining('resolved otherwise') });
    expect(await journal.read(KEY)).toMatchObject(resolved);
    expect(await journal.read(`${KEY}/2`)).toMatchObject({ state: 'completed', reference });
    expect(await charged(shop.payments)).toMatchObject({ reference: replayed ?? reference });
    expect(posts).toHaveLength(1);
  },
);

test('a charge that was resolved as what it is gives its result', async () => {
  const { end, reference } = await resolveMeanwhile((own) => ({ reference: own }));
  expect(end).toMatchObject({ reference, replayed: false, message: expect.stringMatching(/./) });
});

test('records a charge that had left when its claim was found lost', async () => {
  const store = createSkewedStore();
  const { clock, journal } = world({ store });
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const service = await clock.hold(() =>
    startService(async (response) => {
      arrived.resolve();
      await released.promise;
      sendJson(response, 200, successBodies.chargeMobileMoney());
    }),
  );
  const call = catchError(charged(service.client({ journal })));
  await clock.hold(() => arrived.promise);
  store.setAhead(LEASE + SECOND);
  await journal.resolve(KEY, 'not_charged', note);
  await clock.pass(4 * SECOND);
  released.resolve();
  expect(await clock.hold(() => call)).toMatchObject({ outcome: 'unknown', reference: REFERENCE });
  expect(await journal.read(`${KEY}/2`)).toMatchObject({ state: 'completed', reference: REFERENCE });
});
