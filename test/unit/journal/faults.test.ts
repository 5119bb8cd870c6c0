import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import { memoryStore } from '../../../src/journal/memory.ts';
import { postgresJournal } from '../../../src/journal/postgres.ts';
import { redisJournal } from '../../../src/journal/redis.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { change, claimKey, completeClaim, completeKey, made } from '../../helpers/claims.ts';
import { momo } from '../../helpers/order-shop.ts';
import { CLOSED_PORT } from '../../helpers/raw-service.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

const counting = () => startService((response) => sendJson(response, 200, successBodies.chargeMobileMoney()));

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
      const failures = [
        await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' })),
        await catchError(claimKey(journal, 'order-17')),
        await catchError(journal.count()),
        await catchError(journal.listAttention().next()),
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
      await catchError(claimKey(journal, 'order-17')),
    ]) {
      expect(`${failure} ${JSON.stringify(failure)} ${Object(failure).cause}`).not.toContain(password);
    }
  });

  test('fails with a retryable JournalError if a store throws', async () => {
    const thrown = () => {
      throw new Error('broken');
    };
    const journal = createJournal({ read: thrown, write: thrown });
    for (const failure of [await catchError(journal.read('a')), await catchError(claimKey(journal, 'a'))])
      expect(failure).toMatchObject({ name: 'JournalError', retryable: true });
  });
});

test('records an outcome once although its write was done without a response', async () => {
  const store = memoryStore();
  let isDown = false;
  const down = () => Promise.reject(new Error('the connection is gone'));
  const faulty: JournalStore = {
    // It comes back once the outcome has been tried, and nobody can tell whether it was recorded.
    async read(key) {
      if (!isDown) return store.read(key);
      isDown = false;
      return down();
    },
    async write(key, given) {
      const isWritten = await store.write(key, given);
      return isDown ? down() : isWritten;
    },
  };
  const journal = createJournal(faulty);
  const claimed = await claimKey(journal, 'order-17');
  isDown = true;
  const record = await completeClaim(journal, claimed, made('TXN-made'));
  expect(record?.payments).toMatchObject([{ charge: { is: 'made', result: { reference: 'TXN-made' } } }]);
  expect(await journal.read('order-17')).toMatchObject({ state: 'completed', attempts: 1 });
});

describe('a record that cannot be read', () => {
  /** Returns the text of a whole record of a key that was rejected. */
  async function createWhole(): Promise<{ text: string; record: object }> {
    const store = memoryStore();
    const rejected = { is: 'none', why: 'rejected' } as const;
    await completeKey(createJournal(store), 'order-17', rejected);
    const text = (await store.read('key order-17')).record?.text ?? '';
    return { text, record: JSON.parse(text) };
  }

  test('is none if it is whole', async () => {
    const store = memoryStore();
    await store.write('key order-17', { ...change, text: (await createWhole()).text });
    expect(await createJournal(store).read('order-17')).toMatchObject({ state: 'rejected' });
  });

  test.each<[string, object]>([
    ['of a newer format', { format: 2 }],
    ['of a newer kind', { kind: 'subscription' }],
    ['without a service', { service: undefined }],
    ['with a payment that it does not know', { payments: [{ charge: { is: 'refunded' } }] }],
    ['without payments', { payments: undefined }],
  ])('leaves a charge unresolved, and sends nothing: %s', async (_what, wrong) => {
    await refuses(JSON.stringify({ ...(await createWhole()).record, ...wrong }));
  });

  test.each(['', 'begun', '{"format":1', 'null', '17'])(
    'fails with unknown for text that is not a record: %j',
    refuses,
  );

  test('fails with unknown if it has lost its version', async () => {
    await refuses((await createWhole()).text, '');
  });

  async function refuses(text: string, version = 'one') {
    const service = await counting();
    const store = memoryStore();
    // It is due, as one is whose payment is followed.
    for (const kind of ['key', 'order'] as const) {
      const index = { kind, createdAt: 1, attentionAt: null, dueAt: 1 };
      await store.write(`${kind} order-17`, { ...change, version, text, index });
    }
    const events: PaymentsEvent[] = [];
    const journal = createJournal(store);
    const payments = service.client({ journal, onEvent: (event) => events.push(event) });
    const failure = await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
    const idempotencyKey = 'order-17';
    expect(failure).toMatchObject({ name: 'OutcomeUnknownError', retryable: false, idempotencyKey });
    expect(String(failure)).toContain('Nothing was sent. An earlier call might have charged');
    expect(events).toMatchObject([{ type: 'journal', result: 'unresolved', idempotencyKey }]);
    const orders = createOrderPayments({ payments, journal, onPaid: fail, onAttention: fail });
    for (const failure of [
      await catchError(orders.charge('order-17', momo)),
      await catchError(orders.read('order-17')),
      await catchError(claimKey(journal, 'order-17')),
      await catchError(journal.read('order-17')),
      await catchError(journal.resolve('order-17', 'not_charged', note)),
    ])
      expect(failure).toMatchObject({ name: 'JournalError', outcome: 'unknown', retryable: false });
    expect(await journal.prune({ before: Date.now(), unfollowed: true })).toBe(0);
    await orders.sweep();
    expect(service.requests).toEqual([]);
    // The process reckons the time on, so the store might get there a moment later.
    await expect.poll(() => journal.count()).toEqual({ records: 2, attention: 1 });
    for (const kind of ['key', 'order'])
      expect((await store.read(`${kind} order-17`)).record).toMatchObject({ text });
  }

  const fail = () => {
    throw new Error('no handler is called');
  };
});
