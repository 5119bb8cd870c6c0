import { describe, expect, test } from 'vitest';
import { ConfigurationError, JournalError } from '../../../../src/index.ts';
import type { JournalEntry } from '../../../../src/stores/index.ts';
import { fullEntry, holdEntries, runCommand, startShop } from './run-command.ts';

/** A key of a form that nobody can recognise, and a password. */
const API_KEY = 'Zx9-correct-horse-battery';
const PASSWORD = 'p@ss/word:77';
const URL_PASSWORD = encodeURIComponent(PASSWORD);
const env = {
  PAYMENTS_API_KEY: API_KEY,
  DATABASE_URL: `postgres://merchant:${URL_PASSWORD}@db.internal:5432/shop`,
  REDIS_PASSWORD: 'redis-secret-0815',
};
const SECRETS = [
  API_KEY,
  PASSWORD,
  URL_PASSWORD,
  'redis-secret-0815',
  'sk_live_',
  '4vK9qLm2Xw7RtZ',
  'hunter',
];

const leaksIn = (text: string) => SECRETS.filter((secret) => text.includes(secret));

const messages = [
  `the key ${API_KEY} is not valid`,
  `the key ${encodeURIComponent(API_KEY)} is not valid`,
  `the key sk_live_4vK9qLm2Xw7RtZ is not valid`,
  `connect to postgres://merchant:${URL_PASSWORD}@db.internal:5432/shop failed`,
  `connect to postgres://merchant:${PASSWORD}@db.internal:5432/shop failed`,
  `connect to redis://:redis-secret-0815@cache.internal failed`,
  `host=db.internal user=merchant password=${URL_PASSWORD}`,
  `the login of merchant failed with ${URL_PASSWORD}, and with ${PASSWORD}`,
  `{"password": "redis-secret-0815"}`,
  'connect to redis://:hunter@cache failed',
  'fatal: password=hunter for merchant',
  `{"password":"hunter","user":"merchant"}`,
  `line one\n    at connect (redis-secret-0815)\nline two ${API_KEY}`,
];

/** Runs each command with a journal that fails so. */
async function runWithFailure(error: () => unknown) {
  const { payments, journal } = await startShop();
  const fail = async (): Promise<never> => {
    throw error();
  };
  const list = async function* (): AsyncGenerator<never, void, void> {
    yield await fail();
  };
  Object.assign(journal, { read: fail, listAttention: list, count: fail });
  const exports = { payments, journal, close: fail };
  const commands = [
    ['list'],
    ['count'],
    ['show', 'order-17'],
    ['resolve', 'order-17', '--not-charged', '--by', 'ama', '--reason', 'found', '--yes'],
  ];
  return Promise.all(commands.map((command) => runCommand(command, { exports, env })));
}

test.each(messages)('prints no secret of an error that the journal throws: %j', async (message) => {
  for (const make of [
    () => new Error(message),
    () => message,
    () => Object.assign(new Error(''), { code: message }),
    () => new TypeError('failed', { cause: new Error(message) }),
    () => new JournalError(`The journal could not be read (${message}).`, { retryable: true }),
    () => new ConfigurationError(message),
  ]) {
    for (const { code, out, err } of await runWithFailure(make)) {
      expect([code, out]).toEqual([1, '']);
      expect(leaksIn(err)).toEqual([]);
      expect(err).toMatch(/^payment-journal: ./);
      expect(err).not.toMatch(/^\s+at /m);
      expect(err.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    }
  }
});

test('leaves what tells what happened', async () => {
  const failed = () =>
    Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });
  for (const { err } of await runWithFailure(failed))
    expect(err).toContain('connect ECONNREFUSED 127.0.0.1:5432');
});

describe('a UUID', () => {
  const id = '1f0c2b77-5a3e-4d61-9a0c-8d2b7e4f1c55';

  test.each([`no reply to request ${id}`, `Key (key)=(order-${id}/1) exists`, `requestId=${id}, ${id}`])(
    'is shown in an error of others: %s',
    async (message) => {
      for (const { err } of await runWithFailure(() => new Error(message))) expect(err).toContain(message);
    },
  );

  test.each([
    `Authorization: Bearer ${id}`,
    `redis://:${id}@cache`,
    `token=${id}`,
    `Zx9-9a0c-8d2b7e4f1c55-${id}`,
  ])('is redacted where it is a secret: %s', async (message) => {
    for (const { err } of await runWithFailure(() => new Error(message))) expect(err).not.toContain(id);
  });

  test('is redacted where a variable has it as a secret', async () => {
    const { payments, journal } = await startShop();
    const exports = { payments, journal: holdEntries(journal, [{ ...fullEntry, requestIds: [id] }]) };
    const shown = await runCommand(['show', fullEntry.key], { exports, env: { PAYMENTS_API_KEY: id } });
    expect(shown.out).not.toContain(id);
  });

  test('is shown in the reason that a person gave', async () => {
    const shop = await startShop();
    await shop.leaveUnresolved('order-17/1');
    const reason = `no charge has the request id ${id}, ticket 4711`;
    await shop.payments.resolve('order-17/1', 'not_charged', { by: 'ama', reason });
    const { out } = await runCommand(['show', 'order-17/1', '--json'], { exports: shop, env });
    expect(JSON.parse(out)).toMatchObject({ resolutions: [{ reason }] });
  });
});

describe('an entry', () => {
  const secretive = 'order sk_live_4vK9qLm2Xw7RtZ 17';
  const entry: JournalEntry = {
    ...fullEntry,
    key: secretive,
    reference: `TXN-${API_KEY}`,
    requestIds: ['sk_test_4vK9qLm2Xw7RtZ', API_KEY],
    network: API_KEY,
    service: API_KEY,
    error: { code: API_KEY, status: null },
    resolutions: [
      { at: 0, by: API_KEY, reason: 'sk_live_4vK9qLm2Xw7RtZ', resolution: { reference: API_KEY } },
    ],
  };

  test.each([['list'], ['list', '--json'], ['show', secretive], ['show', secretive, '--json']])(
    'is printed without API keys by %s %s',
    async (...args) => {
      const { payments, journal } = await startShop();
      const exports = { payments, journal: holdEntries(journal, [entry]) };
      const { out } = await runCommand(args, { exports, env });
      expect(out).toContain('[REDACTED]');
      expect(leaksIn(out)).toEqual([]);
    },
  );

  test.each([[], ['--json']])('is printed without API keys by resolve %s', async (...args) => {
    const { payments, journal } = await startShop();
    const exports = { payments, journal: holdEntries(journal, [entry]) };
    const resolutions = [...entry.resolutions, ...entry.resolutions];
    Object.assign(payments, { resolve: async () => ({ ...entry, resolutions }) });
    const command = ['resolve', secretive, '--closed', '--by', 'ama', '--reason', 'paid back', ...args];
    const { out } = await runCommand(command, { exports, env });
    expect(out).toContain('[REDACTED]');
    expect(leaksIn(out)).toEqual([]);
  });

  test('is printed with keys that only look like a secret, exactly', async () => {
    const key = 'order-5d2f3c1e-1111-4222-8333-123456789abc/ama@shop.example/0244123456';
    const { payments, journal } = await startShop();
    const exports = { payments, journal: holdEntries(journal, [{ ...fullEntry, key }]) };
    expect((await runCommand(['show', key], { exports, env })).out).toContain(`Key          ${key}\n`);
    const { out } = await runCommand(['list', '--json'], { exports, env });
    expect(JSON.parse(out)).toMatchObject({ key });
  });
});

test('does not print what a command line holds of a key', async () => {
  const { err } = await runCommand(['show', 'sk_live_4vK9qLm2Xw7RtZ', API_KEY], { env });
  const unknown = await runCommand([API_KEY], { env });
  expect(leaksIn(err + unknown.err)).toEqual([]);
});
