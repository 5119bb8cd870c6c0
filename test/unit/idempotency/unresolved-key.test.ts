import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsClientOptions, PaymentsEvent } from '../../../src/index.ts';
import { OutcomeUnknownError } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { kinds } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import {
  API_KEY,
  catchError,
  charge,
  EMAIL,
  PHONE,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

type Fault = (response: ServerResponse) => unknown;

/** What leaves an outcome unknown, and the reference that its response still named. */
const unknownOutcomes: [string, Fault, reference?: string | undefined, options?: PaymentsClientOptions][] = [
  ['a reset', (response) => response.destroy()],
  // It passes on a fake clock, and only once the request has arrived.
  ['no response in time', () => vi.advanceTimersByTime(10_000), undefined, { timeout: 10_000 }],
  ['a 500', (response) => sendJson(response, 500, {})],
  ['a 503 with Retry-After', (response) => sendJson(response, 503, {}, { 'retry-after': '0' })],
  ['a 408', (response) => sendJson(response, 408, {})],
  ['a redirect', (response) => sendJson(response, 307, {}, { location: '/api/v1/elsewhere' })],
  ['truncated JSON', (response) => response.end('{"status":true,"data":{"refer')],
  ['a page of HTML', (response) => response.end('<h1>paid</h1>')],
  [
    'a response without a status, with a reference',
    (response) => sendJson(response, 200, { status: true, data: { reference: 'TXN-seen' } }),
    'TXN-seen',
  ],
  [
    'a rejection that names a transaction',
    (response) => sendJson(response, 200, { status: false, data: { reference: 'TXN-made' } }),
    'TXN-made',
  ],
];

/** The first response is the fault, and the later ones are valid. */
const startFaulty = (fault: Fault) =>
  startService((response, { path }, count) => {
    if (count === 1) return fault(response);
    const made = path.endsWith('initialize') ? successBodies.initialize : successBodies.chargeMobileMoney;
    return sendJson(response, 200, made({ reference: `TXN-${count}` }));
  });

describe.each(unknownOutcomes)('after %s', (_what, fault, reference, options) => {
  test.each(kinds)('leaves the key unresolved and sends nothing again (%s)', async (_kind, handles) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const service = await startFaulty(fault);
    const handle = handles();
    const first = await catchError(charged(service.client({ journal: handle(), maxRetries: 3, ...options })));
    expect(first).toMatchObject({ outcome: 'unknown' });
    expect(await handle().read(KEY)).toMatchObject({ state: 'unknown', ...(reference && { reference }) });
    const again = await catchError(charged(service.client({ journal: handle(), maxRetries: 3 })));
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

test.each(kinds)('records another amount as made, and fails at each replay (%s)', async (_kind, handles) => {
  const service = await startFaulty((response) =>
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference: 'TXN-other', amount: '255.00' })),
  );
  const handle = handles();
  for (let call = 0; call < 2; call++) {
    const failure = await catchError(charged(service.client({ journal: handle() })));
    expect(failure).toMatchObject({
      code: 'transaction_mismatch',
      outcome: 'unknown',
      nextStep: 'review',
      transaction: { reference: 'TXN-other', amount: '255.00' },
      mismatches: [{ field: 'amount' }],
    });
  }
  expect(await handle().read(KEY)).toMatchObject({
    state: 'completed',
    reference: 'TXN-other',
    attention: 'mismatch',
  });
  expect(service.requests).toHaveLength(1);
});

test.each([
  ['its own amount', {}],
  ['another amount', { amount: '255.00' }],
])('leaves a payment unresolved whose page is another one, with %s', async (_, data) => {
  const checkout_url = 'https://pay.example/checkout/TXN-other';
  const service = await startService(200, successBodies.initialize({ ...data, checkout_url }));
  const journal = memoryJournal();
  const failure = await catchError(keyed.initialize(service.client({ journal })));
  expect(failure).toMatchObject({ code: 'transaction_mismatch', outcome: 'unknown' });
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', attention: 'unresolved' });
  const again = await catchError(keyed.initialize(service.client({ journal })));
  expect(again).toBeInstanceOf(OutcomeUnknownError);
  expect(service.requests).toHaveLength(1);
});

test.each(posts)('leaves the key unresolved after an abort of %s in flight', async (operation) => {
  const abort = new AbortController();
  const service = await startService(() => abort.abort());
  const client = service.client({ journal: memoryJournal() });
  const first = await catchError(keyed[operation](client, { signal: abort.signal }));
  expect(first).toBeInstanceOf(OutcomeUnknownError);
  expect(first).toHaveProperty('cause', abort.signal.reason);
  expect(await catchError(keyed[operation](client))).toBeInstanceOf(OutcomeUnknownError);
  expect(service.requests).toHaveLength(1);
});

describe.each(kinds)('an unresolved key in a %s journal', (_kind, handles) => {
  async function leaveUnresolved() {
    const service = await startFaulty((response) => response.destroy());
    const handle = handles();
    const journal = handle();
    await catchError(charged(service.client({ journal: handle() })));
    return { service, journal, client: service.client({ journal: handle() }) };
  }

  test('replays the charge as processing once resolved by its reference', async () => {
    const { service, journal, client } = await leaveUnresolved();
    await journal.resolve(KEY, { reference: 'TXN-found' }, note);
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
});

test('replays a resolved checkout payment with its checkout_url', async () => {
  const service = await startFaulty((response) => response.destroy());
  const journal = memoryJournal();
  const client = service.client({ journal });
  await catchError(keyed.initialize(client));
  const checkout_url = 'https://pay.example/checkout/TXN-found';
  await journal.resolve(KEY, { reference: 'TXN-found', checkout_url }, note);
  expect(await keyed.initialize(client)).toEqual({
    reference: 'TXN-found',
    checkout_url,
    amount: '25.50',
    currency: 'GHS',
    replayed: true,
  });
  expect(service.requests).toHaveLength(1);
});

describe('the errors and events of an unresolved key', () => {
  /** Creates a client with an unresolved key, and its events and log lines. */
  async function reportUnresolved(operation: 'initialize' | 'chargeMobileMoney', reference?: string) {
    const events: PaymentsEvent[] = [];
    const lines: string[] = [];
    const note = (level: string) => (line: string) => lines.push(`${level} ${line}`);
    const logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
    const service = await startFaulty((response) =>
      sendJson(response, 200, { status: true, data: { reference } }),
    );
    const journal = memoryJournal();
    await catchError(keyed[operation](service.client({ journal })));
    const client = service.client({ journal, logger, onEvent: (event) => events.push(event) });
    return { failure: await catchError(keyed[operation](client)), events, lines };
  }

  test('name the key, the reference to verify, and how to resolve it', async () => {
    const { failure } = await reportUnresolved('chargeMobileMoney', 'TXN-seen');
    for (const part of [
      'might have charged',
      'Nothing was sent',
      'Verify TXN-seen',
      'payments.resolve("order-17", { reference } or \'not_charged\', …)',
    ])
      expect(failure).toHaveProperty('message', expect.stringContaining(part));
    expect(failure).toHaveProperty('idempotencyKey', KEY);
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  });

  test.each(posts)('explain how to resolve %s, in the error of the first call', async (operation) => {
    const service = await startService((response) => response.destroy());
    const journal = memoryJournal();
    const idempotencyKey = `order 17 of ${EMAIL}, ${PHONE}`;
    const failure = await catchError(keyed[operation](service.client({ journal }), { idempotencyKey }));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    const shown =
      operation === 'initialize' ? /^order 17 of \[REDACTED\]/ : /^order 17 of \[REDACTED\], \[REDACTED\]$/;
    expect(failure).toHaveProperty('idempotencyKey', expect.stringMatching(shown));
    expect(failure).toHaveProperty(
      'message',
      expect.stringContaining('payments.resolve("order 17 of [REDACTED]'),
    );
    expectNoSecrets(failure, { key: API_KEY, email: EMAIL });
    expect(JSON.parse(JSON.stringify(failure))).toHaveProperty('idempotencyKey');
  });

  test('name the reference of the unusable response in the first call', async () => {
    const data = { reference: 'TXN-seen' };
    const service = await startService(200, { status: true, data });
    const failure = await catchError(charged(service.client({ journal: memoryJournal() })));
    expect(failure).toMatchObject({ reference: 'TXN-seen', idempotencyKey: KEY });
    expect(String(failure)).toContain('Verify TXN-seen, then payments.resolve("order-17", { reference }');
  });

  test('have no key if the call had none', async () => {
    const service = await startService((response) => response.destroy());
    const client = service.client({ journal: memoryJournal() });
    const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: null }));
    expect(failure).toMatchObject({ outcome: 'unknown', idempotencyKey: undefined });
    expect(String(failure)).not.toContain('journal');
  });

  test('ask for the checkout_url of a checkout payment', async () => {
    const { failure } = await reportUnresolved('initialize');
    for (const part of ['Find it, then', '{ reference, checkout_url }'])
      expect(failure).toHaveProperty('message', expect.stringContaining(part));
  });

  test('are an event and a warning, each with key and reference', async () => {
    const { events, lines } = await reportUnresolved('chargeMobileMoney', 'TXN-seen');
    const about = { operation: 'chargeMobileMoney', idempotencyKey: KEY, reference: 'TXN-seen' };
    expect(events).toEqual([{ type: 'journal', result: 'unresolved', ...about }]);
    expect(lines).toEqual(['warn payments: chargeMobileMoney TXN-seen, journal: unresolved, key "order-17"']);
  });
});
