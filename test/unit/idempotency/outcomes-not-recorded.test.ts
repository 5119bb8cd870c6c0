/** An outcome that the journal does not take: the caller gets it, it is tried on, and nothing is sent again. */

import { expect, test } from 'vitest';
import { OutcomeUnknownError, type PaymentsEvent } from '../../../src/index.ts';
import { type JournalStore, memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { catchError } from '../../helpers/service.ts';
import { HOUR, MINUTE, type ProcessOptions, type Respond, SECOND, world } from '../../helpers/world.ts';
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

test('an outcome is tried again after pauses of up to 3 s', async () => {
  const tries: number[] = [];
  const { shop, clock } = openBroken((store) =>
    interceptWrites(store, 'completed', (write) => (tries.push(clock.now) <= 9 ? failWrite() : write())),
  );
  await charged(shop.payments);
  await clock.pass(20 * SECOND);
  const pauses = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_000, 3_000, 3_000, 3_000]);
});

test('a made charge is recorded before its call ends, also after an abort', async () => {
  const stop = new AbortController();
  const { shop, journal, clock } = openBroken((store) =>
    interceptWrites(store, 'completed', async (write) => {
      stop.abort();
      await sleep(5 * SECOND);
      return await write();
    }),
  );
  const { reference } = await charged(shop.payments, { signal: stop.signal });
  expect(clock.now).toBe(5 * SECOND);
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference });
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
