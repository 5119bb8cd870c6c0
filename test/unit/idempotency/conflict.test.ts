import { describe, expect, test } from 'vitest';
import type { ChargeMobileMoneyInput, CreateOptions } from '../../../src/index.ts';
import { IdempotencyConflictError } from '../../../src/index.ts';
import { type Journal, memoryJournal } from '../../../src/stores/index.ts';
import { kinds } from '../../helpers/journals.ts';
import { KEY, refusedConnection, replayOf } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import {
  API_KEY,
  catchError,
  charge,
  EMAIL,
  PHONE,
  payment,
  respondFirst,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

type Given = [input: Partial<ChargeMobileMoneyInput>, options?: CreateOptions];

const others: [string, Given, first?: Given][] = [
  ['another amount', [{ amount: '25.51' }]],
  ['another phone', [{ phone: '024 412 3457' }]],
  ['another email', [{ customer_email: 'kofi@example.com' }]],
  ['another network', [{ network: 'telecel' }]],
  ['another currency', [{ currency: 'NGN' }]],
  ['an extra field', [{}, { extraBody: { callback_url: 'https://shop.example' } }]],
  [
    'another value in an extra field',
    [{}, { extraBody: { meta: { order: 18 } } }],
    [{}, { extraBody: { meta: { order: 17 } } }],
  ],
  [
    'a list instead of an object',
    [{}, { extraBody: { meta: [['order', 17]] } }],
    [{}, { extraBody: { meta: { order: 17 } } }],
  ],
  ['a list in another order', [{}, { extraBody: { to: [2, 1] } }], [{}, { extraBody: { to: [1, 2] } }]],
  ['text instead of a number', [{}, { extraBody: { to: '1' } }], [{}, { extraBody: { to: 1 } }]],
];

test.each(others)('refuses %s under a used key, and sends nothing', async (_what, other, first) => {
  const service = await startService();
  const client = service.client({ journal: memoryJournal() });
  const send = ([input, options]: Given) =>
    client.chargeMobileMoney({ ...charge, ...input }, { idempotencyKey: KEY, ...options });
  await send(first ?? [{}]);
  const failure = await catchError(send(other));
  expect(failure).toBeInstanceOf(IdempotencyConflictError);
  expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  expect(failure).toMatchObject({
    operation: 'chargeMobileMoney',
    outcome: 'unknown',
    idempotencyKey: KEY,
    retryable: false,
  });
  expect(service.requests).toHaveLength(1);
});

test('refuses the other operation under a used key', async () => {
  const service = await startService();
  const client = service.client({ journal: memoryJournal() });
  await client.initialize(payment, { idempotencyKey: KEY });
  const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: KEY }));
  expect(failure).toBeInstanceOf(IdempotencyConflictError);
  expect(service.requests).toHaveLength(1);
});

const reordered = Object.fromEntries(Object.entries(charge).reverse());

const same: [string, Given, first?: Given][] = [
  ['fields in another order', [reordered]],
  ['the amount as a number', [{ amount: 25.5 }]],
  ['an explicit default currency', [{ currency: 'GHS' }]],
  ['the currency in lower case', [{ currency: 'ghs' }]],
  ['a currency of undefined', [{ currency: undefined }]],
  [
    'extra fields in another order',
    [{}, { extraBody: { b: { d: 2, c: [1, { f: 1, e: 2 }] }, a: 1 } }],
    [{}, { extraBody: { a: 1, b: { c: [1, { e: 2, f: 1 }], d: 2 } } }],
  ],
  ['an explicit empty extraBody', [{}, { extraBody: {} }]],
  [
    'another timeout, other headers and retries',
    [{}, { timeout: 999, headers: { 'x-trace': '7' }, maxRetries: 4 }],
  ],
];

test.each(same)('replays the result for %s', async (_what, again, first) => {
  const service = await startService();
  const client = service.client({ journal: memoryJournal() });
  const send = ([input, options]: Given) =>
    client.chargeMobileMoney({ ...charge, ...input }, { idempotencyKey: KEY, ...options });
  const result = await send(first ?? [{}]);
  expect(await send(again)).toEqual(replayOf(result));
  expect(service.requests).toHaveLength(1);
});

test.each(['unknown', 'begun'])('refuses other input while the record is %s', async (state) => {
  const other = { ...charge, amount: 30 };
  const journal = memoryJournal();
  const responded = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const service = await startService(async (response) => {
    arrived.resolve();
    if (state === 'begun') await responded.promise;
    sendJson(response, 500, {});
  });
  const client = service.client({ journal });
  const first = catchError(client.chargeMobileMoney(charge, { idempotencyKey: KEY }));
  await (state === 'begun' ? arrived.promise : first);
  expect(await journal.read(KEY)).toMatchObject({ state });
  const failure = await catchError(client.chargeMobileMoney(other, { idempotencyKey: KEY }));
  expect(failure).toBeInstanceOf(IdempotencyConflictError);
  responded.resolve();
  await first;
  expect(service.requests).toHaveLength(1);
});

test.each(kinds)(
  'sends the corrected input of a rejected call under its key (%s)',
  async (_kind, handles) => {
    const service = await startService(respondFirst(422));
    const handle = handles();
    const client = service.client({ journal: handle() });
    await catchError(client.chargeMobileMoney({ ...charge, phone: '0244123' }, { idempotencyKey: KEY }));
    const results = await Promise.all(
      Array.from({ length: 5 }, () =>
        service.client({ journal: handle() }).chargeMobileMoney(charge, { idempotencyKey: KEY }),
      ),
    );
    expect(results.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(service.requests.map(({ body }) => JSON.parse(body).phone)).toEqual(['0244123', PHONE]);
    // Now a charge exists, and the first input is other input.
    const conflict = client.chargeMobileMoney({ ...charge, phone: '0244123' }, { idempotencyKey: KEY });
    expect(await catchError(conflict)).toBeInstanceOf(IdempotencyConflictError);
    expect(service.requests).toHaveLength(2);
  },
);

test('sends other input under a key whose call found no connection', async () => {
  const service = await startService();
  let reachable = false;
  const client = service.client({
    journal: memoryJournal(),
    fetch: (url, init) => (reachable ? fetch(url, init) : refusedConnection(url)),
  });
  const other = { ...charge, phone: '0244123' };
  const failure = await catchError(client.chargeMobileMoney(other, { idempotencyKey: KEY }));
  expect(failure).toMatchObject({ outcome: 'not_sent' });
  reachable = true;
  expect(await client.chargeMobileMoney(charge, { idempotencyKey: KEY })).toMatchObject({ replayed: false });
});

test.each(kinds)('sends other input after not_charged (%s)', async (_kind, handles) => {
  const service = await startService((response, _request, count) =>
    count === 1
      ? sendJson(response, 500, {})
      : sendJson(response, 200, successBodies.chargeMobileMoney({ amount: '30.00' })),
  );
  const journal = handles()();
  const client = service.client({ journal });
  await catchError(client.chargeMobileMoney(charge, { idempotencyKey: KEY }));
  await journal.resolve(KEY, 'not_charged', note);
  const corrected = { ...charge, amount: 30 };
  const result = await client.chargeMobileMoney(corrected, { idempotencyKey: KEY });
  expect(result).toMatchObject({ amount: '30.00' });
});

/** Of an order with a UUID, as going-live recommends. */
const UUID_KEY = 'order-b0206643-61c5-4b8e-9f02-00fbd79f7a1c/1';

describe('the message', () => {
  /** Uses a key until it is in this state, and returns what the next call with other input says. */
  async function conflictWith(state: string, { key = UUID_KEY, wrap = (journal: Journal) => journal } = {}) {
    const journal = memoryJournal();
    const found = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const service = await startService(async (response) => {
      arrived.resolve();
      if (state === 'begun') await found.promise;
      if (state === 'completed') sendJson(response, 200, successBodies.chargeMobileMoney());
      else sendJson(response, 503, {});
    });
    const client = service.client({ journal: wrap(journal) });
    const options = { idempotencyKey: key };
    const first = client.chargeMobileMoney(charge, options).catch(() => {});
    await (state === 'begun' ? arrived.promise : first);
    expect(await journal.read(key)).toMatchObject({ state });
    const failure = await catchError(client.chargeMobileMoney({ ...charge, amount: 30 }, options));
    const other = await catchError(client.initialize(payment, options));
    found.resolve();
    await first;
    for (const conflict of [failure, other]) {
      expect(conflict).toBeInstanceOf(IdempotencyConflictError);
      expect(Object(conflict).message.length).toBeLessThanOrEqual(200);
    }
    expect(service.requests).toHaveLength(1);
    return String(Object(failure).message);
  }

  test('names the charge of a completed key, which nobody can resolve', async () => {
    expect(await conflictWith('completed')).toBe(
      `chargeMobileMoney: key "${UUID_KEY}" had other input, and its charge is TXN-8f2c61d0. Nothing was sent. ` +
        'Verify it. Another charge needs another key.',
    );
  });

  test('says to wait for a charge in progress', async () => {
    expect(await conflictWith('begun')).toBe(
      `chargeMobileMoney: a call with other input holds key "${UUID_KEY}" now. Nothing was sent. ` +
        'Wait until it has ended. Another charge needs another key.',
    );
  });

  test('says how to resolve an unresolved key', async () => {
    expect(await conflictWith('unknown')).toBe(
      'chargeMobileMoney: a call with other input might have charged. Nothing was sent. ' +
        `Find it, then payments.resolve("${UUID_KEY}", { reference } or 'not_charged', …).`,
    );
  });

  test('has a key of 80 characters whole, and the start of a longer one', async () => {
    const key = 'order-'.padEnd(80, '5d2f3c1e');
    const conflict = async (idempotencyKey: string) => {
      const service = await startService(503);
      const client = service.client({ journal: memoryJournal() });
      await catchError(client.chargeMobileMoney(charge, { idempotencyKey }));
      return String(
        await catchError(client.chargeMobileMoney({ ...charge, amount: 30 }, { idempotencyKey })),
      );
    };
    expect(await conflict(key)).toContain(`payments.resolve("${key}", `);
    expect(await conflict(`${key}0`)).toContain(`payments.resolve("${key.slice(0, 79)}…", `);
  });
});

test.each([
  ['a completed', 200],
  ['an unresolved', 503],
])('shows no customer data in the message about %s key', async (_what, status) => {
  const service = await startService(status, status === 200 ? successBodies.chargeMobileMoney() : {});
  const client = service.client({ journal: memoryJournal() });
  const idempotencyKey = `17 of ${EMAIL}, ${PHONE}, ${API_KEY}`;
  await client.chargeMobileMoney(charge, { idempotencyKey }).catch(() => {});
  const failure = await catchError(client.chargeMobileMoney({ ...charge, amount: 30 }, { idempotencyKey }));
  const shown = '17 of [REDACTED], [REDACTED], [REDACTED]';
  expect(failure).toHaveProperty('idempotencyKey', shown);
  expect(failure).toHaveProperty('message', expect.stringContaining(`"${shown}"`));
  expectNoSecrets(failure, { key: API_KEY, phone: PHONE, email: EMAIL });
});
