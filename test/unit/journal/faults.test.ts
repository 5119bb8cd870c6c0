import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { createJournal, type Journal, type JournalStore, memoryStore } from '../../../src/stores/index.ts';
import { postgresJournal } from '../../../src/stores/postgres/index.ts';
import { redisJournal } from '../../../src/stores/redis/index.ts';
import { claimKey, completeClaim, completeKey, made } from '../../helpers/claims.ts';
import { CLOSED_PORT } from '../../helpers/raw-service.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { firstWrite } from '../../helpers/store-writes.ts';

const KEY = 'order-17';
const startCharging = () =>
  startService((response) => sendJson(response, 200, successBodies.chargeMobileMoney()));

describe('a database that fails', () => {
  const address = `:hunter2@127.0.0.1:${CLOSED_PORT}`;
  const words = 'cannot parse postgres://shop:hunter2@db.example/shop, nor redis://:hunter2@cache';
  const fail = () => Promise.reject(new Error(words));
  const throwAtOnce = () => {
    throw new Error(words);
  };

  test.each<[string, () => Promise<Journal>]>([
    [
      'pg',
      async () => {
        const pool = new Pool({ connectionString: `postgres://shop${address}/shop` });
        onTestFinished(() => pool.end());
        return postgresJournal(pool);
      },
    ],
    [
      'ioredis',
      async () => {
        const client = new Redis(`redis://${address}`, { enableOfflineQueue: false });
        client.on('error', () => {});
        onTestFinished(() => client.disconnect());
        return redisJournal(client);
      },
    ],
    [
      'redis',
      async () => {
        const client = createClient({ url: `redis://${address}`, socket: { reconnectStrategy: false } });
        client.on('error', () => {});
        await catchError(client.connect());
        return redisJournal(client);
      },
    ],
    ['a store that rejects', async () => createJournal({ ...memoryStore(), read: fail, write: fail })],
    ['a store that throws', async () => createJournal({ read: throwAtOnce, write: throwAtOnce })],
  ])('fails each call with a retryable JournalError without its password: %s', async (what, open) => {
    const service = await startCharging();
    const journal = await open();
    const calls = [
      service.client({ journal }).chargeMobileMoney(charge, { idempotencyKey: KEY }),
      claimKey(journal, KEY),
      journal.read(KEY),
      journal.resolve(KEY, 'not_charged', note),
      ...(what.startsWith('a store') ? [] : [journal.count(), journal.listAttention().next()]),
    ];
    for (const failure of await Promise.all(calls.map(catchError))) {
      expect(failure).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
      const { message, cause } = Object(failure);
      expect(`${message} ${JSON.stringify(failure)} ${cause} ${Object(cause).stack}`).not.toContain(
        'hunter2',
      );
      expect(message).not.toMatch(/\(\)|\(Error\)/);
    }
    expect(service.requests).toEqual([]);
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
  const claimed = await claimKey(journal, KEY);
  isDown = true;
  const record = await completeClaim(journal, claimed, made('TXN-made'));
  expect(record?.payments).toMatchObject([{ charge: { is: 'made', result: { reference: 'TXN-made' } } }]);
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', attempts: 1 });
});

/** Returns the text of a record of a key that was rejected, which is whole but for these fields. */
async function createText(wrong: object = {}): Promise<string> {
  const store = memoryStore();
  await completeKey(createJournal(store), KEY, { is: 'none', why: 'rejected' });
  const { record } = await store.read(`key ${KEY}`);
  return JSON.stringify({ ...JSON.parse(record?.text ?? ''), ...wrong });
}

test.each<[string, object | string, version?: string]>([
  ['of a newer format', { format: 2 }],
  ['of a newer kind', { kind: 'subscription' }],
  ['without a service', { service: undefined }],
  ['with a payment that it does not know', { payments: [{ charge: { is: 'refunded' } }] }],
  ['without payments', { payments: undefined }],
  ['that has lost its version', {}, ''],
  ...['', 'begun', '{"format":1', 'null', '17'].map((text): [string, string] => [
    `of the text "${text}"`,
    text,
  ]),
])(
  'leaves a charge unresolved, and sends nothing, for a record %s',
  async (_what, wrong, version = 'one') => {
    const service = await startCharging();
    const store = memoryStore();
    const text = typeof wrong === 'string' ? wrong : await createText(wrong);
    // It is due, as one is whose payment is followed.
    for (const kind of ['key', 'order'] as const)
      await store.write(`${kind} ${KEY}`, firstWrite({ kind, dueAt: 1 }, { version, text }));
    const events: PaymentsEvent[] = [];
    const journal = createJournal(store);
    const payments = service.client({ journal, onEvent: (event) => events.push(event) });
    const failure = await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: KEY }));
    expect(failure).toMatchObject({ name: 'OutcomeUnknownError', retryable: false, idempotencyKey: KEY });
    expect(String(failure)).toContain('Nothing was sent. An earlier call might have charged');
    expect(events).toMatchObject([{ type: 'journal', result: 'unresolved', idempotencyKey: KEY }]);
    const callNone = () => expect.unreachable('No handler is called.');
    const orders = createOrderPayments({ payments, journal, onPaid: callNone, onAttention: callNone });
    const calls = [
      orders.charge(KEY, charge),
      orders.read(KEY),
      claimKey(journal, KEY),
      journal.read(KEY),
      journal.resolve(KEY, 'not_charged', note),
    ];
    const unknown = { name: 'JournalError', outcome: 'unknown', retryable: false };
    expect(await Promise.all(calls.map(catchError))).toMatchObject(calls.map(() => unknown));
    expect(await journal.prune({ before: Date.now(), unfollowed: true })).toBe(0);
    await orders.sweep();
    expect(service.requests).toEqual([]);
    // The process reckons the time on, so the store might get there a moment later.
    await expect.poll(() => journal.count()).toEqual({ records: 2, attention: 1 });
    for (const kind of ['key', 'order'])
      expect((await store.read(`${kind} ${KEY}`)).record).toMatchObject({ text });
  },
);
