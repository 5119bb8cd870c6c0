import { describe, expect, test, vi } from 'vitest';
import { OutcomeUnknownError, type PaymentsEvent } from '../../../src/index.ts';
import { createJournal, type JournalStore } from '../../../src/stores/index.ts';
import { fakeClocks, pass, turns, until } from '../../helpers/fake-timers.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { catchError, startService } from '../../helpers/service.ts';
import { heldService } from './held-service.ts';

/** On a fake clock. */
const LEASE = 10_000;

const down = () => Promise.reject(Object.assign(new Error('terminating connection'), { code: '57P01' }));
const never = () => new Promise<never>(() => {});

/** Events and log lines of a client. */
function listening() {
  const events: PaymentsEvent[] = [];
  const errors: string[] = [];
  const nothing = () => {};
  const logger = { debug: nothing, info: nothing, warn: nothing, error: (line: string) => errors.push(line) };
  const journalled = () => events.filter(({ type }) => type === 'journal');
  return { onEvent: (event: PaymentsEvent) => events.push(event), logger, errors, journalled };
}

const ends: [string, () => Promise<never>][] = [
  ['always fails', down],
  ['never responds', never],
  [
    'throws at once',
    () => {
      throw new Error('no such method');
    },
  ],
];

describe.each(ends)('if recording the outcome %s', (_what, end) => {
  test('returns the result, reports not_recorded, and never charges again', async () => {
    fakeClocks();
    const service = await startService();
    const shared = sharedStore(LEASE);
    const { journalled, errors, ...options } = listening();
    const journal = shared.intercepted(['completed'], end);
    const call = charged(service.client({ journal, ...options }));
    await until(() => service.requests.length === 1);
    await turns();
    await pass(16_000);
    expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
    expect(journalled()).toMatchObject([{ result: 'not_recorded', reference: 'TXN-8f2c61d0' }]);
    expect(errors).toEqual([
      'payments: chargeMobileMoney TXN-8f2c61d0, journal: not recorded, key "order-17"',
    ]);
    const again = catchError(charged(service.client({ journal: shared.journal() })));
    await turns();
    await pass(12_000);
    expect(await again).toBeInstanceOf(OutcomeUnknownError);
    expect(service.requests).toHaveLength(1);
  });
});

test('rethrows the error of the call if its outcome cannot be recorded', async () => {
  fakeClocks();
  const service = await startService(422);
  const { journalled, errors, ...options } = listening();
  const journal = sharedStore(LEASE).intercepted(['rejected'], down);
  const call = catchError(charged(service.client({ journal, ...options })));
  await until(() => service.requests.length === 1);
  await turns();
  await pass(16_000);
  expect(await call).toMatchObject({ outcome: 'rejected', status: 422 });
  expect(journalled()).toMatchObject([{ result: 'not_recorded' }]);
  expect(errors).toHaveLength(1);
});

test.each([1, 3, 5])('records an outcome after %i failed writes, without an event', async (times) => {
  fakeClocks();
  const service = await startService();
  const shared = sharedStore(LEASE);
  const { journalled, errors, ...options } = listening();
  let attempts = 0;
  const journal = shared.intercepted(['completed'], (...write) =>
    ++attempts <= times ? down() : shared.store.write(...write),
  );
  const call = charged(service.client({ journal, ...options }));
  await until(() => attempts === 1);
  await pass(4_000, 100);
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
  expect(shared.states(KEY)).toEqual(['begun', 'completed']);
  expect([...journalled(), ...errors]).toEqual([]);
});

test.each([
  ['', 0],
  [', and the clock was set an hour ahead', 3_600_000],
])('records an outcome once the journal is back, although the caller went on%s', async (_what, jump) => {
  fakeClocks();
  const service = await startService();
  const shared = sharedStore(LEASE);
  const { journalled, errors, ...options } = listening();
  let isDown = true;
  const journal = shared.intercepted(['completed'], (...write) =>
    isDown ? down() : shared.store.write(...write),
  );
  const call = charged(service.client({ journal, ...options }));
  await until(() => service.requests.length === 1);
  await turns();
  await pass(60_000, 5_000);
  vi.setSystemTime(Date.now() + jump);
  await pass(8 * 60_000, 5_000);
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
  expect(journalled()).toMatchObject([{ result: 'not_recorded', reference: 'TXN-8f2c61d0' }]);
  expect(errors).toHaveLength(1);
  isDown = false;
  await pass(5_000);
  expect(shared.states(KEY)).toEqual(['begun', 'completed']);
  expect(await charged(service.client({ journal: shared.journal() }))).toMatchObject({ replayed: true });
  expect(service.requests).toHaveLength(1);
});

test('does not try on to record an outcome on a record that cannot be read', async () => {
  fakeClocks();
  const shared = sharedStore(LEASE);
  let reads = 0;
  const store: JournalStore = {
    ...shared.store,
    read: (key) => {
      reads += 1;
      return shared.store.read(key);
    },
  };
  const { service, arrived, respond } = await heldService();
  const { journalled, errors, ...options } = listening();
  let isEnded = false;
  const call = charged(service.client({ journal: createJournal(store), ...options })).finally(() => {
    isEnded = true;
  });
  await arrived;
  // A newer version of the package has written it.
  shared.records.set(`key ${KEY}`, { version: 'newer', text: '{"format":99}' });
  respond();
  await until(() => isEnded || reads > 5);
  await turns();
  expect(isEnded).toBe(true);
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
  const before = reads;
  await pass(60_000);
  expect(reads).toBe(before);
  expect(journalled()).toMatchObject([{ result: 'not_recorded' }]);
  expect(errors).toHaveLength(1);
});

test('recognises its own completion after its response was lost', async () => {
  fakeClocks();
  const service = await startService();
  const shared = sharedStore(LEASE);
  let lost = 0;
  const isLost = () => shared.states(KEY).length === 2 && ++lost <= 2;
  const store: JournalStore = {
    read: (key) => (isLost() ? down() : shared.store.read(key)),
    async write(...step) {
      const written = await shared.store.write(...step);
      return isLost() ? down() : written;
    },
  };
  const call = charged(service.client({ journal: createJournal(store) }));
  await until(() => lost === 2);
  await pass(1_000, 100);
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
  expect(shared.states(KEY)).toEqual(['begun', 'completed']);
});

test('records the result after failed renewals', async () => {
  fakeClocks();
  const shared = sharedStore(LEASE);
  const { service, arrived, respond } = await heldService();
  let out = false;
  const store: JournalStore = {
    read: (key) => (out ? down() : shared.store.read(key)),
    // A write while the database is unreachable is done, and its response is lost.
    write: async (...step) => {
      const written = await shared.store.write(...step);
      return out ? down() : written;
    },
  };
  const call = charged(service.client({ journal: createJournal(store), timeout: 600_000 }));
  await arrived;
  out = true;
  await pass(12_000);
  out = false;
  respond();
  await until(() => shared.states(KEY).includes('completed'));
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
});
