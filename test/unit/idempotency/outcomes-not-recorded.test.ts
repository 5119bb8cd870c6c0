/** An outcome that the journal does not take: the caller gets it, it is tried on, and nothing is sent again. */

import { expect, test } from 'vitest';
import { OutcomeUnknownError, type PaymentsEvent } from '../../../src/index.ts';
import { type JournalStore, memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { catchError } from '../../helpers/service.ts';
import { HOUR, MINUTE, type ProcessOptions, type Respond, SECOND, slow, world } from '../../helpers/world.ts';
import { failWrite, interceptWrites, never } from './interrupted-calls.ts';

/** A process that reports on this store, beside the same records in a store that works. */
function openBroken(
  broken: (store: JournalStore) => JournalStore,
  options: ProcessOptions & { respond?: Respond } = {},
) {
  const store = memoryStore();
  const errors: string[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void errors.push(line) };
  const begun = world({ ...options, store: broken(store), client: { ...options.client, logger } });
  const listReports = (): PaymentsEvent[] => begun.events.filter(({ type }) => type === 'journal');
  return { ...begun, store, other: begun.start({ store }), errors, listReports };
}

test.for([
  ['completed', 200],
  ['rejected', 422],
] as const)('a call ends once its outcome is recorded as %s', async ([state, status]) => {
  const { shop, journal, clock } = openBroken(
    (store) =>
      interceptWrites(store, state, async (write) => {
        await sleep(SECOND);
        return await write();
      }),
    { respond: () => (status === 200 ? undefined : new Response('{}', { status })) },
  );
  await charged(shop.payments).catch(() => {});
  expect(clock.now).toBeGreaterThanOrEqual(SECOND);
  expect(await journal.read(KEY)).toMatchObject({ state });
});

test.for<[string, () => Promise<never>]>([
  ['always fails', failWrite],
  ['never responds', never],
  [
    'throws at once',
    () => {
      throw new Error('no such method');
    },
  ],
])('a result is returned and reported if recording it %s', async ([, end]) => {
  const { shop, other, posts, clock, listReports, errors } = openBroken((store) =>
    interceptWrites(store, 'completed', end),
  );
  const { reference } = await charged(shop.payments);
  expect(clock.now).toBeLessThanOrEqual(16 * SECOND);
  expect(listReports()).toMatchObject([{ result: 'not_recorded', reference }]);
  expect(errors).toEqual([`payments: chargeMobileMoney ${reference}, journal: not recorded, key "${KEY}"`]);
  expect(await catchError(charged(other.payments))).toBeInstanceOf(OutcomeUnknownError);
  expect(posts).toHaveLength(1);
});

test('the error of a call is thrown although its outcome cannot be recorded', async () => {
  const { shop, listReports, errors } = openBroken((store) => interceptWrites(store, 'rejected', failWrite), {
    respond: () => new Response('{}', { status: 422 }),
  });
  expect(await catchError(charged(shop.payments))).toMatchObject({ outcome: 'rejected', status: 422 });
  expect(listReports()).toMatchObject([{ result: 'not_recorded' }]);
  expect(errors).toHaveLength(1);
});

test.for([1, 5])('an outcome is recorded after %i failed writes, and not reported', async (times) => {
  let writes = 0;
  const { shop, journal, clock, listReports, errors } = openBroken((store) =>
    interceptWrites(store, 'completed', (write) => (++writes <= times ? failWrite() : write())),
  );
  const { reference } = await charged(shop.payments);
  expect(clock.now).toBeLessThan(5 * SECOND);
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference });
  expect([...listReports(), ...errors]).toEqual([]);
});

test.for([0, HOUR])(
  'an outcome is recorded once the journal is back, with a clock set ahead by %i ms',
  async (jump) => {
    let isDown = true;
    const { shop, other, posts, clock, listReports, errors } = openBroken((store) =>
      interceptWrites(store, 'completed', (write) => (isDown ? failWrite() : write())),
    );
    const { reference } = await charged(shop.payments);
    await clock.pass(MINUTE);
    clock.jump(jump);
    await clock.pass(8 * MINUTE);
    isDown = false;
    await clock.pass(5 * SECOND);
    expect(await charged(other.payments)).toMatchObject({ reference, replayed: true });
    expect(
      listReports().filter((event) => 'result' in event && event.result === 'not_recorded'),
    ).toHaveLength(1);
    expect(errors).toHaveLength(1);
    expect(posts).toHaveLength(1);
  },
);

test('an outcome is not tried again on a record that cannot be read', async () => {
  let reads = 0;
  let isUnreadable = false;
  const { shop, clock, listReports, errors } = openBroken(
    (store) => ({
      ...store,
      // A newer version of the package has written it.
      read: async (name) => {
        reads++;
        const read = await store.read(name);
        const record = { version: 'newer', text: '{"format":99}' };
        return isUnreadable && name.startsWith('key ') ? { ...read, record } : read;
      },
      write: async (...step) =>
        isUnreadable && step[0].startsWith('key ') ? false : await store.write(...step),
    }),
    {
      respond: () => {
        isUnreadable = true;
        return undefined;
      },
    },
  );
  expect(await charged(shop.payments)).toMatchObject({ replayed: false });
  expect(clock.now).toBeLessThan(SECOND);
  const before = reads;
  await clock.pass(MINUTE);
  expect(reads).toBe(before);
  expect(listReports()).toMatchObject([{ result: 'not_recorded' }]);
  expect(errors).toHaveLength(1);
});

/** Fails what is done while the database is away. Its writes are made, and their responses are lost. */
const loseResponses =
  (isAway: () => boolean) =>
  (store: JournalStore): JournalStore => ({
    ...store,
    read: (name) => (isAway() ? failWrite() : store.read(name)),
    write: async (...step) => {
      const isWritten = await store.write(...step);
      return isAway() ? await failWrite() : isWritten;
    },
  });

test('recognises its own outcome if the response to its write was lost', async () => {
  let steps = 0;
  let hasSent = false;
  const isAway = () => hasSent && ++steps <= 3;
  const { shop, journal, listReports } = openBroken(loseResponses(isAway), {
    respond: () => {
      hasSent = true;
      return undefined;
    },
  });
  const { reference } = await charged(shop.payments);
  expect(steps).toBeGreaterThan(3);
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference });
  expect(listReports()).toEqual([]);
});

test('a result is recorded after renewals whose responses were lost', async () => {
  let isAway = false;
  const { shop, journal, clock } = openBroken(
    loseResponses(() => isAway),
    {
      respond: slow('POST', 9 * SECOND),
    },
  );
  const call = charged(shop.payments);
  await clock.pass(SECOND);
  isAway = true;
  await clock.pass(7 * SECOND);
  isAway = false;
  const { reference } = await call;
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference });
});

test('a result is recorded after a renewal in flight', async () => {
  const { shop, journal, clock } = openBroken(
    (store) =>
      interceptWrites(store, 'begun', async (write, { expected }) => {
        const isWritten = await write();
        if (expected !== null) await sleep(SECOND / 2);
        return isWritten;
      }),
    { respond: slow('POST', 3_500) },
  );
  const { reference } = await charged(shop.payments);
  // The renewal was written after 3.3 s, and its response came after 3.8 s.
  expect(clock.now).toBeGreaterThan(3_800);
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference });
});
