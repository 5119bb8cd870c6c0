/** Nothing is sent without a claim: one that failed, came late, or whose lease is over. */

import { expect, test, vi } from 'vitest';
import { JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { jumpClock } from '../../helpers/fake-clock.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, EMAIL, PHONE } from '../../helpers/service.ts';
import { SECOND, world } from '../../helpers/world.ts';
import { betweenClaimAndRequest, failWrite, interceptWrites } from './interrupted-calls.ts';

/** Of a journal, unless it is given another one. */
const LEASE = 10 * SECOND;

const thrown: [string, unknown][] = [
  ['nothing', undefined],
  ['text', `cannot insert ${API_KEY} ${EMAIL}`],
  ['a symbol', Symbol('odd')],
  ['an object without a prototype', Object.create(null)],
  ['an error of another kind', new RangeError(`for ${EMAIL}`, { cause: new Error(API_KEY) })],
  ['a JournalError', new JournalError('Down.', { cause: new Error(`key ${API_KEY}`) })],
];

test.for(thrown)('a store that throws %s makes the claim fail, and nothing is sent', async ([, fault]) => {
  const fail = () => {
    throw fault;
  };
  for (const write of [fail, () => Promise.reject(fault)]) {
    const { shop, requests } = world({ store: { ...memoryStore(), write } });
    const failure = await catchError(charged(shop.payments));
    expect(failure).toBeInstanceOf(JournalError);
    expect(failure).toMatchObject({
      ...{ operation: 'chargeMobileMoney', outcome: 'not_sent' },
      message: expect.stringMatching(/Nothing was sent\.$/),
    });
    expectNoSecrets(failure, { key: API_KEY, phone: PHONE, email: EMAIL });
    expect(requests).toEqual([]);
  }
});

test('a claim that might be recorded sends nothing until it is resolved', async () => {
  const store = memoryStore();
  let isDown = false;
  const { shop, start, posts, clock } = world({
    store: {
      read: (key) => (isDown ? failWrite() : store.read(key)),
      async write(...step) {
        await store.write(...step);
        isDown = true;
        return await failWrite();
      },
    },
  });
  expect(await catchError(charged(shop.payments))).toMatchObject({
    code: 'journal_error',
    outcome: 'not_sent',
  });
  const other = start({ store });
  const claimedAt = clock.now;
  expect(await catchError(charged(other.payments))).toBeInstanceOf(OutcomeUnknownError);
  expect(clock.now - claimedAt).toBeLessThanOrEqual(LEASE + 2 * SECOND);
  expect(posts).toEqual([]);
  await other.journal.resolve(KEY, 'not_charged', note);
  await charged(other.payments);
  expect(posts).toHaveLength(1);
});

test.for([
  ['a timeout', 30 * SECOND, { code: 'journal_error', outcome: 'not_sent', retryable: true }],
  ['an abort', 20 * SECOND, { message: 'the customer left' }],
  ['close', 20 * SECOND, { code: 'closed', outcome: 'not_sent' }],
  ['an abort', SECOND / 2, { message: 'the customer left' }],
] as const)('ends at %s, and releases a claim that is written after %d ms', async ([by, delay, expected]) => {
  const store = memoryStore();
  const { shop, journal, posts, clock } = world({
    store: interceptWrites(store, 'begun', async (write) => {
      await sleep(delay);
      return await write();
    }),
  });
  const abort = new AbortController();
  const call = catchError(charged(shop.payments, { signal: abort.signal }));
  await clock.settle();
  if (by === 'an abort') abort.abort(new Error('the customer left'));
  else if (by === 'close') void shop.payments.close();
  expect(await call).toMatchObject(expected);
  // One that is written soon is released before the call ends.
  if (delay > SECOND) expect(clock.now).toBeLessThan(delay);
  else expect(await journal.read(KEY)).toMatchObject({ state: 'not_sent' });
  await clock.pass(2 * delay);
  expect(await journal.read(KEY)).toMatchObject({ state: 'not_sent' });
  expect(posts).toEqual([]);
});

test('a claim that is released after an abort is released once the journal takes it', async () => {
  let failures = 3;
  const begun = interceptWrites(memoryStore(), 'begun', async (write) => {
    await sleep(SECOND / 2);
    return await write();
  });
  const store = interceptWrites(begun, 'not_sent', (write) => (failures-- > 0 ? failWrite() : write()));
  const { shop, journal, clock } = world({ store });
  const abort = new AbortController();
  const call = catchError(charged(shop.payments, { signal: abort.signal }));
  await clock.settle();
  abort.abort(new Error('the customer left'));
  expect(await call).toMatchObject({ message: 'the customer left' });
  await clock.pass(5 * SECOND);
  expect(await journal.read(KEY)).toMatchObject({ state: 'not_sent' });
});

const jumps: Record<string, (by: number) => void> = {
  'monotonic clock': jumpClock,
  'wall clock': (by) => {
    const now = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => now() + by);
  },
};

const freezes: [when: string, sent: number, (freeze: () => void) => Parameters<typeof world>[0]][] = [
  [
    'during its claim',
    0,
    (freeze) => ({
      store: interceptWrites(memoryStore(), 'begun', async (write) => {
        const isWritten = await write();
        freeze();
        return isWritten;
      }),
    }),
  ],
  ['while it got its API key', 1, betweenClaimAndRequest],
  [
    'between two attempts',
    1,
    (freeze) => ({
      client: { maxRetries: 5 },
      respond: () => {
        freeze();
        return new Response('{}', { status: 429 });
      },
    }),
  ],
];

test.for(
  Object.keys(jumps).flatMap((clock) =>
    freezes.map(([when, sent, start]) => [when, clock, sent, start] as const),
  ),
)('a process that was frozen %s sends nothing more, by its %s', async ([, clock, sent, start]) => {
  const { shop, posts, journal } = world(start(() => jumps[clock]?.(LEASE)));
  expect(await catchError(charged(shop.payments))).toMatchObject({
    ...{ name: 'JournalError', operation: 'chargeMobileMoney', outcome: 'not_sent', retryable: true },
  });
  expect(posts).toHaveLength(sent);
  expect(await journal.read(KEY)).toMatchObject({ state: 'not_sent' });
});

test.for(Object.entries(jumps))(
  'a process sends that was frozen for less than a lease, by its %s',
  async ([, jump]) => {
    const { shop } = world(betweenClaimAndRequest(() => jump(LEASE / 2)));
    expect(await charged(shop.payments)).toMatchObject({ replayed: false });
  },
);
