import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { JournalError, type PaymentsEvent } from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import { memoryStore } from '../../../src/journal/memory.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { change, chargeIntent, claimKey, tryClaim } from '../../helpers/claims.ts';
import { CLOSED_PORT } from '../../helpers/raw-service.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

const counting = () => startService((response) => sendJson(response, 200, successBodies.chargeMobileMoney()));

/** A store whose next writes end as `modes` lists. */
function faultyStore() {
  const store = memoryStore();
  const modes: ('lost' | 'response lost' | 'done twice')[] = [];
  let readable = true;
  const faulty: JournalStore = {
    async read(key) {
      if (!readable) throw new Error('the connection is gone');
      return store.read(key);
    },
    async write(key, change) {
      const mode = modes.shift();
      if (mode === 'lost') throw new Error('the connection is gone');
      const written = await store.write(key, change);
      if (mode === 'response lost') throw new Error('the connection is gone');
      return mode === 'done twice' ? store.write(key, change) : written;
    },
  };
  return {
    store: faulty,
    next: (...next: typeof modes) => modes.push(...next),
    unreadable: () => {
      readable = false;
    },
    readable: () => {
      readable = true;
    },
  };
}

describe('an unreachable database', () => {
  const password = 'hunter2';
  const reached = async () => {
    const port = CLOSED_PORT;
    const own = new Pool({ connectionString: `postgres://shop:${password}@127.0.0.1:${port}/shop` });
    const ioredis = new Redis(`redis://:${password}@127.0.0.1:${port}`, { enableOfflineQueue: false });
    ioredis.on('error', () => {});
    onTestFinished(async () => {
      await own.end();
      ioredis.disconnect();
    });
    const socket = { reconnectStrategy: false } as const;
    const nodeRedis = createClient({ url: `redis://:${password}@127.0.0.1:${port}`, socket });
    nodeRedis.on('error', () => {});
    await catchError(nodeRedis.connect());
    return [postgresJournal(own), redisJournal(ioredis), redisJournal(nodeRedis)];
  };

  test('fails each call with a retryable JournalError without a password', async () => {
    const service = await counting();
    for (const journal of await reached()) {
      const payments = service.client({ journal });
      const history = { createdAt: Date.now(), attempts: 1, requestIds: [], resolutions: [] };
      const claim = { key: 'order-17', version: 'any', intent: chargeIntent, history };
      const failures = [
        await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' })),
        await catchError(tryClaim(journal, 'order-17')),
        await catchError(getJournalCore(journal).renew(claim)),
        await catchError(getJournalCore(journal).complete(claim, { state: 'not_sent' })),
        await catchError(journal.read('order-17')),
        await catchError(journal.resolve('order-17', 'not_charged', note)),
      ];
      for (const failure of failures) {
        expect(failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent' });
        const { message, cause } = Object(failure);
        expect(`${message} ${JSON.stringify(failure)} ${cause} ${Object(cause).stack}`).not.toContain(
          password,
        );
        expect(message).not.toMatch(/\(\)|\(Error\)/);
      }
    }
    expect(service.requests).toEqual([]);
  });

  test('redacts a connection string in the message of a driver', async () => {
    const words = 'cannot parse postgres://shop:hunter2@db.example/shop, nor redis://:hunter2@cache';
    const journal = createJournal({
      read: () => Promise.reject(new Error(words)),
      write: () => Promise.reject(new Error(words)),
    });
    for (const failure of [
      await catchError(journal.read('order-17')),
      await catchError(tryClaim(journal, 'order-17')),
    ]) {
      expect(`${failure} ${JSON.stringify(failure)} ${Object(failure).cause}`).not.toContain(password);
    }
  });

  test('fails with a retryable JournalError if a store throws', async () => {
    const thrown = () => {
      throw new Error('broken');
    };
    const journal = createJournal({ read: thrown, write: thrown });
    for (const failure of [await catchError(journal.read('a')), await catchError(tryClaim(journal, 'a'))])
      expect(failure).toMatchObject({ name: 'JournalError', retryable: true });
  });
});

describe('a failed write', () => {
  test('claims nothing if it was not done', async () => {
    const { store, next } = faultyStore();
    const journal = createJournal(store);
    await claimKey(journal, 'first');
    next('lost');
    expect(await catchError(tryClaim(journal, 'order-17'))).toMatchObject({
      retryable: true,
    });
    expect(await tryClaim(journal, 'order-17')).toMatchObject({ state: 'claimed' });
  });

  test.each(['response lost', 'done twice'] as const)('counts if it was done: %s', async (mode) => {
    const { store, next } = faultyStore();
    const journal = createJournal(store);
    next(mode, mode, mode, mode, mode);
    const claim = await claimKey(journal, 'order-17');
    const renewed = await getJournalCore(journal).renew(claim);
    expect(renewed).not.toBeNull();
    expect(
      await getJournalCore(journal).complete(renewed ?? claim, {
        state: 'unknown',
        reference: 'TXN-perhaps',
      }),
    ).toBe(true);
    await journal.resolve('order-17', { reference: 'TXN-found' }, note);
    expect(await journal.read('order-17')).toMatchObject({
      state: 'completed',
      reference: 'TXN-found',
    });
  });

  test('keeps the claim after a renewal without a response', async () => {
    const { store, next, unreadable, readable } = faultyStore();
    const journal = createJournal(store);
    const claim = await claimKey(journal, 'order-17');
    next('response lost');
    unreadable();
    expect(await catchError(getJournalCore(journal).renew(claim))).toMatchObject({ name: 'JournalError' });
    readable();
    expect(await getJournalCore(journal).renew(claim)).not.toBeNull();
    expect(
      await getJournalCore(journal).complete(claim, {
        state: 'completed',
        result: { reference: 'TXN-made' },
      }),
    ).toBe(true);
    expect(await tryClaim(journal, 'order-17')).toMatchObject({
      state: 'completed',
    });
  });

  test('records a completion without a response once', async () => {
    const { store, next, unreadable, readable } = faultyStore();
    const journal = createJournal(store);
    const claim = await claimKey(journal, 'order-17');
    const ending = { state: 'completed', result: { reference: 'TXN-made' } } as const;
    next('response lost');
    unreadable();
    expect(await catchError(getJournalCore(journal).complete(claim, ending))).toMatchObject({
      name: 'JournalError',
    });
    readable();
    expect(await getJournalCore(journal).complete(claim, ending)).toBe(true);
    expect(await getJournalCore(journal).complete(claim, { state: 'not_sent' })).toBe(false);
    expect(await getJournalCore(journal).renew(claim)).toBeNull();
    expect(await journal.read('order-17')).toMatchObject({ state: 'completed' });
  });

  test('does not count if the store refuses it, even if it can be read', async () => {
    const store = memoryStore();
    const journal = createJournal({
      read: (key) => store.read(key),
      async write(key, change) {
        await store.write(key, change);
        throw new JournalError('in a transaction');
      },
    });
    expect(await catchError(tryClaim(journal, 'order-17'))).toMatchObject({
      message: 'in a transaction',
    });
  });
});

describe('a record that cannot be read', () => {
  const history = { createdAt: 1, attempts: 1, requestIds: [], resolutions: [] };
  const whole = { format: 2, ...chargeIntent, ...history, state: 'not_sent' };

  test('is none if it is whole', async () => {
    const store = memoryStore();
    await store.write('order-17', { ...change, text: JSON.stringify(whole) });
    expect(await createJournal(store).read('order-17')).toMatchObject({ state: 'not_sent' });
  });

  test.each([
    ['of a newer format', { ...whole, format: 3 }],
    ['in a newer state', { ...whole, state: 'refunded' }],
    ['without a state', { ...whole, state: undefined }],
    ['without a fingerprint', { ...whole, fingerprint: undefined }],
    ['completed without a result', { ...whole, state: 'completed' }],
    ['that is no object', 17],
  ])('leaves a charge unresolved, and sends nothing: %s', async (_what, record) => {
    await refuses(JSON.stringify(record));
  });

  test.each(['', 'begun', '{"format":1', 'null'])(
    'fails with unknown for text that is not a record: %j',
    refuses,
  );

  test('fails with unknown if it has lost its version', async () => {
    await refuses(JSON.stringify(whole), '');
  });

  async function refuses(text: string, version = 'one') {
    const service = await counting();
    const store = memoryStore();
    const written = { ...change, version, text };
    await store.write('order-17', written);
    const events: PaymentsEvent[] = [];
    const journal = createJournal(store);
    const payments = service.client({ journal, onEvent: (event) => events.push(event) });
    const failure = await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
    const idempotencyKey = 'order-17';
    expect(failure).toMatchObject({ name: 'OutcomeUnknownError', retryable: false, idempotencyKey });
    expect(String(failure)).toContain('Nothing was sent. An earlier call might have charged');
    expect(events).toMatchObject([{ type: 'journal', result: 'unresolved', idempotencyKey }]);
    const other = memoryStore();
    await other.write('order-17', written);
    const unread = createJournal(other);
    for (const failure of [
      await catchError(tryClaim(unread, 'order-17')),
      await catchError(unread.read('order-17')),
      await catchError(unread.resolve('order-17', 'not_charged', note)),
    ]) {
      expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
      expect(String(failure)).toContain('a newer version of this package might have written it');
    }
    expect(service.requests).toEqual([]);
    expect(await store.read('order-17')).toMatchObject({ text });
  }
});

test('sends nothing if the record changes at each attempt', async () => {
  let version = 0;
  const journal = createJournal({
    read: async (key) => ({
      version: `${++version}`,
      text: JSON.stringify(
        key === 'order-17'
          ? {
              format: 2,
              ...chargeIntent,
              createdAt: 0,
              attempts: 1,
              requestIds: [],
              resolutions: [],
              state: 'not_sent',
            }
          : { format: 1, service: chargeIntent.service },
      ),
      age: 0,
    }),
    write: async () => false,
  });
  expect(await catchError(tryClaim(journal, 'order-17'))).toMatchObject({
    name: 'JournalError',
    retryable: true,
  });
});
