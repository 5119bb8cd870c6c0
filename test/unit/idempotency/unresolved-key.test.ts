import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { PaymentsClientOptions, PaymentsEvent } from '../../../src/index.ts';
import { OutcomeUnknownError } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/journal/index.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import {
  API_KEY,
  answers,
  charge,
  EMAIL,
  failureOf,
  json,
  PHONE,
  startService,
} from '../../helpers/service.ts';
import { kinds } from './journals.ts';
import { charged, KEY, keyed, posts } from './keyed-calls.ts';

type Fault = (response: ServerResponse) => unknown;

/** What leaves a charge in doubt, and whether its answer still named the transaction. */
const doubts: [string, Fault, reference?: string | undefined, options?: PaymentsClientOptions][] = [
  ['a reset', (response) => response.destroy()],
  // Long enough for the request to arrive on a busy machine.
  ['no answer in time', () => {}, undefined, { timeout: 2_000 }],
  ['a 500', (response) => json(response, 500, {})],
  ['a 503 that asks to come back', (response) => json(response, 503, {}, { 'retry-after': '0' })],
  ['a 408', (response) => json(response, 408, {})],
  ['a redirect', (response) => json(response, 307, {}, { location: '/api/v1/elsewhere' })],
  ['JSON that is cut short', (response) => response.end('{"status":true,"data":{"refer')],
  ['a page of HTML', (response) => response.end('<h1>paid</h1>')],
  [
    'an answer without a status, which names it',
    (response) => json(response, 200, { status: true, data: { reference: 'TXN-seen' } }),
    'TXN-seen',
  ],
  [
    'another amount',
    (response) =>
      json(response, 200, answers.chargeMobileMoney({ reference: 'TXN-other', amount: '255.00' })),
    'TXN-other',
  ],
  [
    'a refusal that names a transaction',
    (response) => json(response, 200, { status: false, data: { reference: 'TXN-made' } }),
    'TXN-made',
  ],
];

/** The first answer is the fault, and those after it are as they should be. */
const startFaulty = (fault: Fault) =>
  startService((response, { path }, count) => {
    if (count === 1) return fault(response);
    const made = path.endsWith('initialize') ? answers.initialize : answers.chargeMobileMoney;
    return json(response, 200, made({ reference: `TXN-${count}` }));
  });

describe.each(doubts)('after %s', (_what, fault, reference, options) => {
  test.each(kinds)('the charge is in doubt and is not sent again (%s)', async (_kind, handles) => {
    const service = await startFaulty(fault);
    const handle = handles();
    const first = await failureOf(charged(service.client({ journal: handle(), maxRetries: 3, ...options })));
    expect(first).toMatchObject({ outcome: 'unknown' });
    expect(await handle().read(KEY)).toMatchObject({ state: 'unknown', ...(reference && { reference }) });
    const again = await failureOf(charged(service.client({ journal: handle(), maxRetries: 3 })));
    expect(again).toBeInstanceOf(OutcomeUnknownError);
    expect(again).toMatchObject({
      operation: 'chargeMobileMoney',
      outcome: 'unknown',
      retryable: false,
      reference,
    });
    expect(service.requests).toHaveLength(1);
  });
});

test.each(posts)(
  'an abort of %s in flight leaves it in doubt, for the caller and for later ones',
  async (operation) => {
    const abort = new AbortController();
    const service = await startService(() => abort.abort());
    const client = service.client({ journal: memoryJournal() });
    const first = await failureOf(keyed[operation](client, { signal: abort.signal }));
    expect(first).toBeInstanceOf(OutcomeUnknownError);
    expect(first).toHaveProperty('cause', abort.signal.reason);
    expect(await failureOf(keyed[operation](client))).toBeInstanceOf(OutcomeUnknownError);
    expect(service.requests).toHaveLength(1);
  },
);

describe.each(kinds)('with a journal in %s, a charge in doubt', (_kind, handles) => {
  async function doubtful() {
    const service = await startFaulty((response) => response.destroy());
    const handle = handles();
    const journal = handle();
    await failureOf(charged(service.client({ journal: handle() })));
    return { service, journal, client: service.client({ journal: handle() }) };
  }

  test('that is settled by its reference is given as processing, and nothing is sent', async () => {
    const { service, journal, client } = await doubtful();
    await journal.resolve(KEY, { reference: 'TXN-found' });
    expect(await charged(client)).toEqual({
      reference: 'TXN-found',
      status: 'processing',
      amount: '25.50',
      currency: 'GHS',
      message: '',
      replayed: true,
    });
    expect(service.requests).toHaveLength(1);
  });

  test('that is settled as not charged is sent again, once', async () => {
    const { service, journal, client } = await doubtful();
    await journal.resolve(KEY, 'not_charged');
    const results = await Promise.all([charged(client), charged(client), charged(client)]);
    expect(results.map(({ reference }) => reference)).toEqual(['TXN-2', 'TXN-2', 'TXN-2']);
    expect(service.requests).toHaveLength(2);
  });
});

test('a payment by checkout page that is settled is given with its page', async () => {
  const service = await startFaulty((response) => response.destroy());
  const journal = memoryJournal();
  const client = service.client({ journal });
  await failureOf(keyed.initialize(client));
  const checkout_url = 'https://pay.example/checkout/TXN-found';
  await journal.resolve(KEY, { reference: 'TXN-found', checkout_url });
  expect(await keyed.initialize(client)).toEqual({
    reference: 'TXN-found',
    checkout_url,
    amount: '25.50',
    currency: 'GHS',
    replayed: true,
  });
  expect(service.requests).toHaveLength(1);
});

describe('what is said of a charge in doubt', () => {
  /** A client of a key that is in doubt, and all that it tells. */
  async function telling(operation: 'initialize' | 'chargeMobileMoney', reference?: string) {
    const events: PaymentsEvent[] = [];
    const lines: string[] = [];
    const note = (level: string) => (line: string) => lines.push(`${level} ${line}`);
    const logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
    const service = await startFaulty((response) =>
      json(response, 200, { status: true, data: { reference } }),
    );
    const journal = memoryJournal();
    await failureOf(keyed[operation](service.client({ journal })));
    const client = service.client({ journal, logger, onEvent: (event) => events.push(event) });
    return { failure: await failureOf(keyed[operation](client)), events, lines };
  }

  test('names the key, the reference to verify, and how to settle it', async () => {
    const { failure } = await telling('chargeMobileMoney', 'TXN-seen');
    for (const part of [
      'idempotencyKey "order-17"',
      'might have charged',
      'Nothing was sent',
      'Verify TXN-seen',
      'journal.resolve("order-17", { reference } or \'not_charged\')',
    ])
      expect(failure).toHaveProperty('message', expect.stringContaining(part));
    expect(failure).toHaveProperty('idempotencyKey', KEY);
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  });

  test.each(posts)('tells how to resolve %s at once, in the error of the call itself', async (operation) => {
    const service = await startService((response) => response.destroy());
    const journal = memoryJournal();
    const idempotencyKey = `order 17 of ${EMAIL}, ${PHONE}`;
    const failure = await failureOf(keyed[operation](service.client({ journal }), { idempotencyKey }));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    const shown =
      operation === 'initialize' ? /^order 17 of \[REDACTED\]/ : /^order 17 of \[REDACTED\], \[REDACTED\]$/;
    expect(failure).toHaveProperty('idempotencyKey', expect.stringMatching(shown));
    expect(failure).toHaveProperty(
      'message',
      expect.stringContaining('journal.resolve("order 17 of [REDACTED]'),
    );
    expectNoSecrets(failure, { key: API_KEY, email: EMAIL });
    expect(JSON.parse(JSON.stringify(failure))).toHaveProperty('idempotencyKey');
  });

  test('names the reference that the unusable response named, at once', async () => {
    const data = { reference: 'TXN-seen' };
    const service = await startService((response) => json(response, 200, { status: true, data }));
    const failure = await failureOf(charged(service.client({ journal: memoryJournal() })));
    expect(failure).toMatchObject({ reference: 'TXN-seen', idempotencyKey: KEY });
    expect(String(failure)).toContain('Verify TXN-seen, then journal.resolve("order-17", { reference }');
  });

  test('has no key where the call had none', async () => {
    const service = await startService((response) => response.destroy());
    const client = service.client({ journal: memoryJournal() });
    const failure = await failureOf(client.chargeMobileMoney(charge, { idempotencyKey: null }));
    expect(failure).toMatchObject({ outcome: 'unknown', idempotencyKey: undefined });
    expect(String(failure)).not.toContain('journal');
  });

  test('says of a payment by checkout page that its page is needed too', async () => {
    const { failure } = await telling('initialize');
    for (const part of ['Look it up, then', '{ reference, checkout_url }'])
      expect(failure).toHaveProperty('message', expect.stringContaining(part));
  });

  test('is an event, and a warning in the log, each with key and reference', async () => {
    const { events, lines } = await telling('chargeMobileMoney', 'TXN-seen');
    const about = { operation: 'chargeMobileMoney', idempotencyKey: KEY, reference: 'TXN-seen' };
    expect(events).toEqual([{ type: 'journal', result: 'unresolved', ...about }]);
    expect(lines).toEqual(['warn payments: chargeMobileMoney TXN-seen, journal: unresolved, key "order-17"']);
  });
});
