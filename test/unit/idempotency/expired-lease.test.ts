import { describe, expect, test, vi } from 'vitest';
import { JournalError, OutcomeUnknownError, type PaymentsClientOptions } from '../../../src/index.ts';
import type { Resolution } from '../../../src/journal/index.ts';
import { clockJumps } from '../../helpers/fake-clock.ts';
import { answers, failureOf, json, startService } from '../../helpers/service.ts';
import { fakeClocks, pass, turns, until } from './clocks.ts';
import { heldService } from './held-service.ts';
import { changed, sharedStore } from './journals.ts';
import { charged, KEY, refusedConnection } from './keyed-calls.ts';

const LEASE = 10_000;

const jumps: [string, (by: number) => void][] = [
  ['the monotonic clock', clockJumps],
  [
    'the wall clock',
    (by) => {
      const now = Date.now.bind(Date);
      vi.spyOn(Date, 'now').mockImplementation(() => now() + by);
    },
  ],
];

const serve = () => startService((response) => json(response, 200, answers.chargeMobileMoney()));

/** Runs `work` between claim and request: the first attempt gets no connection, and the retry asks for the key. */
function betweenClaimAndRequest(work: () => unknown): PaymentsClientOptions {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  let keys = 0;
  let attempts = 0;
  return {
    apiKey: async () => {
      if (++keys === 2) await work();
      return 'sk_live_4vK9qLm2Xw7RtZ';
    },
    fetch: (url, init) => (++attempts === 1 ? refusedConnection(url) : fetch(url, init)),
    maxRetries: 1,
  };
}

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
  test('while the journal answered: it sends nothing', async () => {
    const shared = sharedStore();
    const journal = shared.journal();
    const service = await serve();
    const frozen = changed(journal, {
      claim: async (...step) => {
        const standing = await journal.claim(...step);
        jump(LEASE);
        return standing;
      },
    });
    const failure = await failureOf(charged(service.client({ journal: frozen, maxRetries: 5 })));
    expect(failure).toBeInstanceOf(JournalError);
    expect(failure).toMatchObject({ operation: 'chargeMobileMoney', outcome: 'not_sent', retryable: true });
    expect(service.requests).toEqual([]);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
    await charged(service.client({ journal }));
    expect(service.requests).toHaveLength(1);
  });

  test('while it got its API key: it sends nothing', async () => {
    const shared = sharedStore();
    const service = await serve();
    const options = betweenClaimAndRequest(() => jump(LEASE));
    const failure = await failureOf(charged(service.client({ journal: shared.journal(), ...options })));
    expect(failure).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: true });
    expect(service.requests).toEqual([]);
  });

  test('between two tries: it does not send the second', async () => {
    const shared = sharedStore();
    const service = await startService((response) => {
      jump(LEASE);
      json(response, 429, {});
    });
    const failure = await failureOf(charged(service.client({ journal: shared.journal(), maxRetries: 5 })));
    expect(failure).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
    expect(service.requests).toHaveLength(1);
  });

  test('for less than a lease: it sends', async () => {
    const shared = sharedStore();
    const service = await serve();
    const options = betweenClaimAndRequest(() => jump(LEASE - 5_000));
    await charged(service.client({ journal: shared.journal(), ...options }));
    expect(service.requests).toHaveLength(1);
  });
});

test('a claim that cannot be renewed for a lease, or that was settled, sends nothing more', async () => {
  fakeClocks();
  const shared = sharedStore();
  const service = await serve();
  const { options, reach, release } = holdBeforeRequest();
  const call = failureOf(charged(service.client({ journal: shared.journal(), ...options })));
  await reach();
  // Somebody settles it by a clock that runs ahead, and its next renewal learns of that.
  shared.setClock(() => Date.now() + LEASE);
  await shared.journal().resolve(KEY, 'not_charged');
  vi.advanceTimersByTime(4_000);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  release();
  expect(await call).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
  expect(service.requests).toEqual([]);
  expect(shared.states(KEY)).toEqual(['begun', 'not_charged']);
});

test('counts the lease from when a renewal was requested, not from its response', async () => {
  fakeClocks();
  const shared = sharedStore();
  const journal = shared.journal();
  const service = await serve();
  const written = Promise.withResolvers<void>();
  const response = Promise.withResolvers<void>();
  let renewals = 0;
  const slow = changed(journal, {
    // The database writes the first renewal at once, and responds late. It never gets another one.
    renew: async (claim) => {
      if (++renewals > 1) return new Promise(() => {});
      const renewed = await journal.renew(claim);
      written.resolve();
      await response.promise;
      return renewed;
    },
  });
  const { options, reach, release } = holdBeforeRequest();
  const call = failureOf(charged(service.client({ journal: slow, ...options })));
  await reach();
  await pass(4_000);
  await written.promise;
  await pass(5_000);
  response.resolve();
  await pass(5_000);
  // 14 s after the claim and 10.7 s after the one renewal, the lease has expired: a person resolves the key.
  await shared.journal().resolve(KEY, 'not_charged');
  await charged(service.client({ journal: shared.journal(), apiKey: 'sk_live_4vK9qLm2Xw7RtZ' }));
  release();
  await turns();
  await pass(6_000);
  expect(await call).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
  expect(renewals).toBe(2);
  expect(service.requests).toHaveLength(1);
});

describe('a charge that was settled by somebody before its answer came', () => {
  async function settledMeanwhile(resolution: Resolution, status = 200) {
    const shared = sharedStore();
    const service = await startService(async (response) => {
      shared.setClock(() => Date.now() + LEASE);
      await shared.journal().resolve(KEY, resolution);
      json(response, status, status === 200 ? answers.chargeMobileMoney({ reference: 'TXN-mine' }) : {});
    });
    const call = charged(service.client({ journal: shared.journal() }));
    return { call, shared, service };
  }

  const contradictions: Resolution[] = ['not_charged', { reference: 'TXN-another' }];

  test.each(contradictions)(
    'as %j, which it was not, is in doubt and names its reference',
    async (resolution) => {
      const { call, shared, service } = await settledMeanwhile(resolution);
      const failure = await failureOf(call);
      expect(failure).toBeInstanceOf(OutcomeUnknownError);
      expect(failure).toMatchObject({ reference: 'TXN-mine', outcome: 'unknown', retryable: false });
      expect(failure).toHaveProperty('message', expect.stringContaining('resolved otherwise'));
      expect(service.requests).toHaveLength(1);
      expect(shared.states(KEY)).toEqual([
        'begun',
        resolution === 'not_charged' ? 'not_charged' : 'completed',
      ]);
    },
  );

  test('as what it was, is given', async () => {
    const { call } = await settledMeanwhile({ reference: 'TXN-mine' });
    expect(await call).toMatchObject({ reference: 'TXN-mine', message: expect.stringContaining('prompt') });
  });

  test('and then fails: the caller learns how its own call ended', async () => {
    const { call } = await settledMeanwhile('not_charged', 422);
    expect(await failureOf(call)).toMatchObject({ outcome: 'rejected', status: 422 });
    const doubt = await settledMeanwhile({ reference: 'TXN-another' }, 500);
    expect(await failureOf(doubt.call)).toBeInstanceOf(OutcomeUnknownError);
  });
});

test('a renewal under way when the answer comes does not lose the result', async () => {
  fakeClocks();
  const shared = sharedStore();
  const journal = shared.journal();
  const renewing = Promise.withResolvers<void>();
  const renewed = Promise.withResolvers<void>();
  const slow = changed(journal, {
    renew: async (claim) => {
      const result = await journal.renew(claim);
      renewing.resolve();
      await renewed.promise;
      return result;
    },
  });
  const { service, arrived, answer } = await heldService();
  let answered = false;
  const onEvent = ({ type }: { type: string }) => {
    if (type === 'response') answered = true;
  };
  const call = charged(service.client({ journal: slow, onEvent }));
  await arrived;
  vi.advanceTimersByTime(4_000);
  await renewing.promise;
  answer();
  await until(() => answered);
  renewed.resolve();
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
  expect(shared.states(KEY)).toEqual(['begun', 'begun', 'completed']);
});
