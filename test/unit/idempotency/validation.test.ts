import { expect, test } from 'vitest';
import { ConfigurationError, type CreateOptions, InvalidInputError } from '../../../src/index.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts, replayOf } from '../../helpers/keyed-calls.ts';
import { catchError, charge, startService } from '../../helpers/service.ts';

/** Options as JavaScript can pass them. */
const untyped = (options: Record<string, unknown>): CreateOptions => ({ ...options });

const badKeys: [string, unknown][] = [
  ['empty', ''],
  ['of 256 characters', 'k'.repeat(256)],
  ['with a line break', 'order\n17'],
  ['with a NUL', 'order\u0000'],
  ['with half a character', 'order-\ud83d'],
  ['a number', 17],
  ['an object', { key: KEY }],
];

test.each(badKeys)('refuses a key that is %s, and records nothing', async (_what, key) => {
  for (const operation of posts) {
    const service = await startService();
    const shared = sharedStore();
    const client = service.client({ journal: shared.journal() });
    const failure = await catchError(keyed[operation](client, untyped({ idempotencyKey: key })));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation, outcome: 'not_sent', retryable: false });
    expect([...shared.writes, ...service.requests]).toEqual([]);
  }
});

test.each(['o', 'order 17/β-✓ 😀', 'k'.repeat(255), '__proto__', '{"$":1}', "'; DROP TABLE orders --"])(
  'accepts the key %s',
  async (idempotencyKey) => {
    const service = await startService();
    const shared = sharedStore();
    const client = service.client({ journal: shared.journal() });
    const first = await charged(client, { idempotencyKey });
    expect(await charged(client, { idempotencyKey })).toEqual(replayOf(first));
    expect(service.requests).toHaveLength(1);
    expect([...shared.records.keys()]).toEqual([`key ${idempotencyKey}`, 'reference txn-8f2c61d0']);
  },
);

test('refuses invalid input before anything is recorded', async () => {
  const service = await startService();
  const shared = sharedStore();
  const client = service.client({ journal: shared.journal() });
  const bad = client.chargeMobileMoney({ ...charge, amount: 0 }, { idempotencyKey: KEY });
  expect(await catchError(bad)).toBeInstanceOf(InvalidInputError);
  const extra = charged(client, { extraBody: { amount: 3 } });
  expect(await catchError(extra)).toBeInstanceOf(InvalidInputError);
  const timeout = charged(client, { timeout: -1 });
  expect(await catchError(timeout)).toBeInstanceOf(ConfigurationError);
  expect([...shared.writes, ...service.requests]).toEqual([]);
});

test('refuses a key without a journal', async () => {
  const service = await startService();
  for (const operation of posts) {
    const failure = await catchError(keyed[operation](service.client()));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation, outcome: 'not_sent', retryable: false });
    expect(String(failure)).toContain('journal');
  }
  expect(service.requests).toEqual([]);
});

test('refuses a key for a read', async () => {
  const service = await startService();
  const shared = sharedStore();
  const client = service.client({ journal: shared.journal() });
  const options = untyped({ idempotencyKey: KEY });
  const reads = [
    () => client.verify('TXN-1', options),
    () => client.check('TXN-1', options),
    async () => client.waitForFinalStatus('TXN-1', options),
  ];
  for (const read of reads) expect(await catchError(read())).toBeInstanceOf(ConfigurationError);
  expect([...shared.writes, ...service.requests]).toEqual([]);
});

test('records nothing for an aborted signal, and rejects with its reason', async () => {
  const service = await startService();
  const shared = sharedStore();
  const signal = AbortSignal.abort(new Error('the customer left'));
  const client = service.client({ journal: shared.journal() });
  expect(await catchError(charged(client, { signal }))).toBe(signal.reason);
  expect([...shared.writes, ...service.requests]).toEqual([]);
});

test('records nothing in a closed client', async () => {
  const service = await startService();
  const shared = sharedStore();
  const client = service.client({ journal: shared.journal() });
  client.close();
  expect(await catchError(charged(client))).toMatchObject({ code: 'closed', outcome: 'not_sent' });
  const closing = service.client({ journal: shared.journal() });
  const call = catchError(charged(closing));
  closing.close();
  expect(await call).toMatchObject({ code: 'closed', outcome: 'not_sent', operation: 'chargeMobileMoney' });
  expect([...shared.writes, ...service.requests]).toEqual([]);
});
