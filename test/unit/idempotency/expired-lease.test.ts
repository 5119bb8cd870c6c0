import { describe, expect, test, vi } from 'vitest';
import { JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import { createJournal, memoryStore, type Resolution } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { jumpClock } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass, turns, until } from '../../helpers/fake-timers.ts';
import { LONG_LEASE, sharedStore } from '../../helpers/journals.ts';
import { betweenClaimAndRequest, charged, KEY } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { heldService } from './held-service.ts';

/** On a fake clock. Real time cannot pass a {@link LONG_LEASE}. */
const LEASE = 10_000;

const jumps: [string, (by: number) => void][] = [
  ['the monotonic clock', jumpClock],
  [
    'the wall clock',
    (by) => {
      const now = Date.now.bind(Date);
      vi.spyOn(Date, 'now').mockImplementation(() => now() + by);
    },
  ],
];

/** Holds a call between claim and request, from `reached` on until `release`. */
function holdBeforeRequest() {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const options = betweenClaimAndRequest(() => {
    reached.resolve();
    return released.promise;
  });
  // The retry waits for a fake timer.
  const reach = async () => {
    await Promise.all([reached.promise, pass(100, 10)]);
  };
  return { options, reach, release: released.resolve };
}

describe.each(jumps)('a process that was frozen for a lease by %s', (_clock, jump) => {
  test('sends nothing if it was frozen during the claim', async () => {
    const shared = sharedStore();
    const service = await startService();
    const frozen = shared.intercepted(['begun'], async (...write) => {
      const written = await shared.store.write(...write);
      jump(LONG_LEASE);
      return written;
    });
    const failure = await catchError(charged(service.client({ journal: frozen, maxRetries: 5 })));
    expect(failure).toBeInstanceOf(JournalError);
    expect(failure).toMatchObject({ operation: 'chargeMobileMoney', outcome: 'not_sent', retryable: true });
    expect(service.requests).toEqual([]);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
    await charged(service.client({ journal: shared.journal() }));
    expect(service.requests).toHaveLength(1);
  });

  test('sends nothing if it was frozen while it got its API key', async () => {
    const shared = sharedStore();
    const service = await startService();
    const options = betweenClaimAndRequest(() => jump(LONG_LEASE));
    const failure = await catchError(charged(service.client({ journal: shared.journal(), ...options })));
    expect(failure).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: true });
    expect(service.requests).toEqual([]);
  });

  test('sends no retry if it was frozen between two attempts', async () => {
    const shared = sharedStore();
    const service = await startService((response) => {
      jump(LONG_LEASE);
      sendJson(response, 429, {});
    });
    const failure = await catchError(charged(service.client({ journal: shared.journal(), maxRetries: 5 })));
    expect(failure).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
    expect(service.requests).toHaveLength(1);
  });

  test('sends if it was frozen for less than a lease', async () => {
    const shared = sharedStore();
    const service = await startService();
    const options = betweenClaimAndRequest(() => jump(LONG_LEASE / 2));
    await charged(service.client({ journal: shared.journal(), ...options }));
    expect(service.requests).toHaveLength(1);
  });
});

test('sends nothing after a person resolved its key', async () => {
  fakeClocks();
  const shared = sharedStore(LEASE);
  const service = await startService();
  const { options, reach, release } = holdBeforeRequest();
  const call = catchError(charged(service.client({ journal: shared.journal(), ...options })));
  await reach();
  // A person resolves it by a clock that is ahead, and the next renewal fails.
  shared.setClock(() => Date.now() + LEASE);
  await shared.journal().resolve(KEY, 'not_charged', note);
  vi.advanceTimersByTime(4_000);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  release();
  expect(await call).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
  expect(service.requests).toEqual([]);
  expect(shared.states(KEY)).toEqual(['begun', 'not_charged']);
});

test('counts the lease from the request of a renewal, not its response', async () => {
  fakeClocks();
  const shared = sharedStore(LEASE);
  const service = await startService();
  const written = Promise.withResolvers<void>();
  const response = Promise.withResolvers<void>();
  let renewals = 0;
  const slow = shared.intercepted(['begun'], async (key, change) => {
    const isClaim = change.expected === null;
    // The database writes the first renewal at once, and responds late. It never gets another one.
    if (!isClaim && ++renewals > 1) return await new Promise(() => {});
    const renewed = await shared.store.write(key, change);
    if (isClaim) return renewed;
    written.resolve();
    await response.promise;
    return renewed;
  });
  const { options, reach, release } = holdBeforeRequest();
  const call = catchError(charged(service.client({ journal: slow, ...options })));
  await reach();
  await pass(4_000);
  await written.promise;
  await pass(5_000);
  response.resolve();
  await pass(5_000);
  // 14 s after the claim and 10.7 s after the one renewal, the lease has expired: a person resolves the key.
  await shared.journal().resolve(KEY, 'not_charged', note);
  await charged(service.client({ journal: shared.journal() }));
  release();
  await turns();
  await pass(6_000);
  expect(await call).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
  expect(renewals).toBe(2);
  expect(service.requests).toHaveLength(1);
});

describe('a key that is resolved while its request is in flight', () => {
  async function resolvedMeanwhile(resolution: Resolution, status = 200) {
    const shared = sharedStore();
    const service = await startService(async (response) => {
      shared.setClock(() => Date.now() + LONG_LEASE + 1_000);
      await shared.journal().resolve(KEY, resolution, note);
      sendJson(
        response,
        status,
        status === 200 ? successBodies.chargeMobileMoney({ reference: 'TXN-mine' }) : {},
      );
    });
    const call = charged(service.client({ journal: shared.journal() }));
    return { call, shared, service };
  }

  const contradictions: Resolution[] = ['not_charged', { reference: 'TXN-another' }];

  test.each(contradictions)('fails with its reference if resolved otherwise, as %j', async (resolution) => {
    const { call, shared, service } = await resolvedMeanwhile(resolution);
    const failure = await catchError(call);
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({ reference: 'TXN-mine', outcome: 'unknown', retryable: false });
    expect(failure).toHaveProperty('message', expect.stringContaining('resolved otherwise'));
    expect(service.requests).toHaveLength(1);
    // It is a payment of its own. What the person resolved stands.
    const isFree = resolution === 'not_charged';
    expect(await shared.journal().read(KEY)).toMatchObject({ state: isFree ? 'not_charged' : 'completed' });
    expect(await shared.journal().read(`${KEY}/2`)).toMatchObject({
      state: 'completed',
      reference: 'TXN-mine',
    });
    const reference = isFree ? 'TXN-mine' : 'TXN-another';
    expect(await charged(service.client({ journal: shared.journal() }))).toMatchObject({ reference });
    expect(service.requests).toHaveLength(1);
  });

  test('returns the result if resolved as what it was', async () => {
    const { call } = await resolvedMeanwhile({ reference: 'TXN-mine' });
    expect(await call).toMatchObject({ reference: 'TXN-mine', message: expect.stringContaining('prompt') });
  });

  test('rethrows the error of a call that then fails', async () => {
    const { call } = await resolvedMeanwhile('not_charged', 422);
    expect(await catchError(call)).toMatchObject({ outcome: 'rejected', status: 422 });
    const unknown = await resolvedMeanwhile({ reference: 'TXN-another' }, 500);
    expect(await catchError(unknown.call)).toBeInstanceOf(OutcomeUnknownError);
  });
});

test('holds a key for others as long as for itself if reads take long', async () => {
  fakeClocks();
  const store = memoryStore();
  let writes = 0;
  const slow = createJournal(
    {
      ...store,
      async read(key) {
        const read = await store.read(key);
        await new Promise((resolve) => setTimeout(resolve, 4_000));
        return read;
      },
      // The claim, and one renewal.
      write: (...step) =>
        ++writes <= 2 ? store.write(...step) : Promise.reject(new Error('the database is away')),
    },
    { lease: LEASE },
  );
  const service = await startService(() => {});
  catchError(charged(service.client({ journal: slow })));
  await pass(16_000);
  expect(writes).toBeGreaterThan(2);
  // The renewal began 7.3 s after the start, and the process holds the key until 17.3 s.
  expect(await createJournal(store).read(KEY)).toMatchObject({ state: 'begun', inProgress: true });
});

test('records a charge although its heartbeat has found the claim lost', async () => {
  fakeClocks();
  const shared = sharedStore(LEASE);
  const { service, arrived, respond } = await heldService();
  const call = catchError(charged(service.client({ journal: shared.journal() })));
  await arrived;
  shared.setClock(() => Date.now() + LEASE + 1_000);
  await shared.journal().resolve(KEY, 'not_charged', note);
  await pass(4_000);
  respond();
  expect(await call).toMatchObject({ outcome: 'unknown', reference: REFERENCE });
  expect(await shared.journal().read(`${KEY}/2`)).toMatchObject({ state: 'completed', reference: REFERENCE });
});

test('ends a request that has not left once its lease is over', async () => {
  fakeClocks();
  const shared = sharedStore(LEASE);
  const claimOnly = shared.intercepted(['begun'], (key, change) =>
    change.expected === null
      ? shared.store.write(key, change)
      : Promise.reject(new Error('the database is away')),
  );
  let signal: AbortSignal | undefined;
  const service = await startService();
  const client = service.client({
    journal: claimOnly,
    // It waits for a connection.
    fetch: (_, init) => {
      signal = init.signal;
      return new Promise((_resolve, reject) =>
        init.signal.addEventListener('abort', () => reject(init.signal.reason)),
      );
    },
  });
  const call = catchError(charged(client));
  await until(() => signal !== undefined);
  await pass(9_000);
  expect(signal?.aborted).toBe(false);
  await pass(2_000);
  expect(signal?.aborted).toBe(true);
  expect(await call).toMatchObject({ outcome: 'unknown' });
});

test('records the result after a renewal in flight', async () => {
  fakeClocks();
  const shared = sharedStore(LEASE);
  const renewing = Promise.withResolvers<void>();
  const renewed = Promise.withResolvers<void>();
  const slow = shared.intercepted(['begun'], async (key, change) => {
    const written = await shared.store.write(key, change);
    if (change.expected === null) return written;
    renewing.resolve();
    await renewed.promise;
    return written;
  });
  const { service, arrived, respond } = await heldService();
  let hasResponded = false;
  const onEvent = ({ type }: { type: string }) => {
    if (type === 'response') hasResponded = true;
  };
  const call = charged(service.client({ journal: slow, onEvent }));
  await arrived;
  vi.advanceTimersByTime(4_000);
  await renewing.promise;
  respond();
  await until(() => hasResponded);
  renewed.resolve();
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
  expect(shared.states(KEY)).toEqual(['begun', 'begun', 'completed']);
});
