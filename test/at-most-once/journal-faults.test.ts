import { describe, expect, test, vi } from 'vitest';
import { JournalError, OutcomeUnknownError, type PaymentsEvent } from '../../src/index.ts';
import { createJournal, type JournalStore } from '../../src/journal/index.ts';
import { answers, failureOf, json, startService } from '../support/service.ts';
import { fakeClocks, pass, turns, until } from './clocks.ts';
import { changed, sharedStore } from './journals.ts';
import { charged, KEY } from './keyed-calls.ts';

const down = () => Promise.reject(Object.assign(new Error('terminating connection'), { code: '57P01' }));
const never = () => new Promise<never>(() => {});
const serve = () => startService((response) => json(response, 200, answers.chargeMobileMoney()));

/** Events and log lines of a client. */
function listening() {
  const events: PaymentsEvent[] = [];
  const errors: string[] = [];
  const nothing = () => {};
  const logger = { debug: nothing, info: nothing, warn: nothing, error: (line: string) => errors.push(line) };
  const journalled = () => events.filter(({ type }) => type === 'journal');
  return { onEvent: (event: PaymentsEvent) => events.push(event), logger, errors, journalled };
}

describe('where the intent cannot be recorded', () => {
  test('nothing is sent, and the same call may be made again', async () => {
    const service = await serve();
    const shared = sharedStore();
    const store: JournalStore = { read: down, write: down };
    const failure = await failureOf(
      charged(service.client({ journal: createJournal(store), maxRetries: 3 })),
    );
    expect(failure).toBeInstanceOf(JournalError);
    expect(failure).toMatchObject({
      operation: 'chargeMobileMoney',
      outcome: 'not_sent',
      retryable: true,
      cause: { message: 'terminating connection', code: '57P01' },
    });
    expect(service.requests).toEqual([]);
    await charged(service.client({ journal: shared.journal() }));
    expect(service.requests).toHaveLength(1);
  });

  test('and only its answer was lost, the record is found and the charge made', async () => {
    const service = await serve();
    const shared = sharedStore();
    const write = vi.fn<JournalStore['write']>(async (...step) => {
      await shared.store.write(...step);
      if (write.mock.calls.length === 1) await down();
      return true;
    });
    const journal = createJournal({ ...shared.store, write });
    await charged(service.client({ journal }));
    expect(shared.states(KEY)).toEqual(['begun', 'completed']);
    expect(service.requests).toHaveLength(1);
  });

  test('and nobody can tell whether it was, nothing is sent, now or later, until it is settled', async () => {
    fakeClocks();
    const service = await serve();
    const shared = sharedStore();
    const write: JournalStore['write'] = async (...step) => {
      await shared.store.write(...step);
      return down();
    };
    const failure = await failureOf(
      charged(service.client({ journal: createJournal({ read: down, write }) })),
    );
    expect(failure).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: true });
    const again = failureOf(charged(service.client({ journal: shared.journal() })));
    await turns();
    await pass(12_000);
    expect(await again).toBeInstanceOf(OutcomeUnknownError);
    expect(service.requests).toEqual([]);
    await shared.journal().resolve(KEY, 'not_charged');
    await charged(service.client({ journal: shared.journal() }));
    expect(service.requests).toHaveLength(1);
  });
});

describe('a journal that does not answer', () => {
  test('is not waited for without end: nothing is sent, and a claim that comes late is given back', async () => {
    fakeClocks();
    const service = await serve();
    const shared = sharedStore();
    const journal = shared.journal();
    const asked = Promise.withResolvers<void>();
    const wakes = Promise.withResolvers<void>();
    const hung = changed(journal, {
      begin: async (...step) => {
        asked.resolve();
        await wakes.promise;
        return journal.begin(...step);
      },
    });
    const call = failureOf(charged(service.client({ journal: hung })));
    await asked.promise;
    await turns();
    await pass(16_000);
    expect(await call).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: true });
    wakes.resolve();
    await until(() => shared.writes.length === 2);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
    expect(service.requests).toEqual([]);
  });

  test.each(['abort', 'close'])(
    'gives way to an %s, and a claim that comes late is given back',
    async (by) => {
      fakeClocks();
      const service = await serve();
      const shared = sharedStore();
      const journal = shared.journal();
      const asked = Promise.withResolvers<void>();
      const wakes = Promise.withResolvers<void>();
      const hung = changed(journal, {
        begin: async (...step) => {
          asked.resolve();
          await wakes.promise;
          return journal.begin(...step);
        },
      });
      const abort = new AbortController();
      const client = service.client({ journal: hung });
      const call = failureOf(charged(client, { signal: abort.signal }));
      await asked.promise;
      await turns();
      if (by === 'abort') abort.abort();
      else client.close();
      await turns();
      await pass(1_000);
      if (by === 'abort') expect(await call).toBe(abort.signal.reason);
      else expect(await call).toMatchObject({ code: 'closed', outcome: 'not_sent' });
      wakes.resolve();
      await until(() => shared.writes.length === 2);
      expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
      expect(service.requests).toEqual([]);
    },
  );

  test('but is about to: after an abort the key is left free before the caller goes on', async () => {
    const service = await serve();
    const shared = sharedStore();
    const journal = shared.journal();
    const abort = new AbortController();
    const aborting = changed(journal, {
      begin: async (...step) => {
        abort.abort();
        await turns(3);
        return journal.begin(...step);
      },
    });
    const call = charged(service.client({ journal: aborting }), { signal: abort.signal });
    expect(await failureOf(call)).toBe(abort.signal.reason);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
    expect(service.requests).toEqual([]);
  });
});

const ends: [string, () => Promise<never>][] = [
  ['fails for good', down],
  ['never answers', never],
  [
    'throws at once',
    () => {
      throw new Error('no such method');
    },
  ],
];

describe.each(ends)('where recording the end %s', (_what, end) => {
  test('the caller still gets the result, hears of it, and the key never charges again', async () => {
    fakeClocks();
    const service = await serve();
    const shared = sharedStore();
    const { journalled, errors, ...options } = listening();
    const journal = changed(shared.journal(), { end });
    const call = charged(service.client({ journal, ...options }));
    await until(() => service.requests.length === 1);
    await turns();
    await pass(16_000);
    expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
    expect(journalled()).toMatchObject([{ result: 'not_recorded', reference: 'TXN-8f2c61d0' }]);
    expect(errors).toEqual([
      'payments: chargeMobileMoney TXN-8f2c61d0, journal: not recorded, key "order-17"',
    ]);
    const again = failureOf(charged(service.client({ journal: shared.journal() })));
    await turns();
    await pass(12_000);
    expect(await again).toBeInstanceOf(OutcomeUnknownError);
    expect(service.requests).toHaveLength(1);
  });
});

test('where the end of a failure cannot be recorded, the failure is told as it was', async () => {
  fakeClocks();
  const service = await startService((response) => json(response, 422, {}));
  const { journalled, errors, ...options } = listening();
  const journal = changed(sharedStore().journal(), { end: down });
  const call = failureOf(charged(service.client({ journal, ...options })));
  await until(() => service.requests.length === 1);
  await turns();
  await pass(16_000);
  expect(await call).toMatchObject({ outcome: 'rejected', status: 422 });
  expect(journalled()).toMatchObject([{ result: 'not_recorded' }]);
  expect(errors).toHaveLength(1);
});

test.each([1, 3, 5])(
  'an end that fails %i times and then works is recorded, and nobody is alarmed',
  async (times) => {
    fakeClocks();
    const service = await serve();
    const shared = sharedStore();
    const journal = shared.journal();
    const { journalled, errors, ...options } = listening();
    let tries = 0;
    const failing = changed(journal, {
      end: (...step) => (++tries <= times ? down() : journal.end(...step)),
    });
    const call = charged(service.client({ journal: failing, ...options }));
    await until(() => tries === 1);
    await pass(4_000, 100);
    expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
    expect(shared.states(KEY)).toEqual(['begun', 'completed']);
    expect([...journalled(), ...errors]).toEqual([]);
  },
);

test('an end whose answer is lost is known again, and the result given', async () => {
  fakeClocks();
  const service = await serve();
  const shared = sharedStore();
  const journal = shared.journal();
  let tries = 0;
  const losing = changed(journal, {
    end: async (...step) => {
      const ended = await journal.end(...step);
      return ++tries === 1 ? down() : ended;
    },
  });
  const call = charged(service.client({ journal: losing }));
  await until(() => tries === 1);
  await pass(1_000, 100);
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
  expect(shared.states(KEY)).toEqual(['begun', 'completed']);
});

test('renewals that fail while a charge is under way do not lose its result', async () => {
  fakeClocks();
  const shared = sharedStore();
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const service = await startService(async (response) => {
    arrived.resolve();
    await answer.promise;
    json(response, 200, answers.chargeMobileMoney());
  });
  let out = false;
  const store: JournalStore = {
    read: (key) => (out ? down() : shared.store.read(key)),
    // What is written while the database is out of reach is done, and nobody hears of it.
    write: async (...step) => {
      const written = await shared.store.write(...step);
      return out ? down() : written;
    },
  };
  const call = charged(service.client({ journal: createJournal(store), timeout: 600_000 }));
  await arrived.promise;
  out = true;
  await pass(12_000);
  out = false;
  answer.resolve();
  await until(() => shared.states(KEY).includes('completed'));
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
});
