import { describe, expect, test, vi } from 'vitest';
import { createMockPayments, type MockPayments } from '../../../../src/developers/mock/index.ts';
import { ConfigurationError } from '../../../../src/index.ts';
import { version } from '../../../../src/support/version.ts';
import { charge, payment, settle, startReceiver, useFakeClock } from './start-mock.ts';

const sleep = (delay: number) => new Promise((resolve) => setTimeout(resolve, delay));

/** The same on a fake clock. */
function startOnFakeClock(...args: Parameters<typeof startReceiver>) {
  useFakeClock('2026-11-21T10:15:00Z');
  return startReceiver(...args);
}

describe('a webhook', () => {
  test.each([
    ['approve', 'success', '2026-11-21T10:15:00+00:00'],
    ['decline', 'failed', null],
    ['abandon', 'abandoned', null],
  ] as const)('is sent in a later turn than %s, and has no signature', async (control, status, paid_at) => {
    const { mock, received, listStates, createPayment } = startOnFakeClock();
    const reference = await createPayment(charge);
    expect(mock[control](reference).status).toBe(status);
    expect([listStates(), received]).toEqual([['waiting'], []]);
    await settle();
    const { amount, customer_email } = payment;
    const data = { reference, status, amount, currency: 'GHS', customer_email, paid_at };
    const event = `transaction.${status}`;
    const headers = {
      'content-type': 'application/json',
      'user-agent': `payment-collection-client-mock/${version}`,
      'x-sandbox-delivery': 'whd_1',
      'x-sandbox-event': 'whe_1',
    };
    expect(received).toEqual([{ event, data, headers }]);
    expect(mock.webhooks.deliveries).toEqual([
      {
        id: 'whd_1',
        reference,
        url: 'handler',
        headers,
        body: { event, data },
        fault: null,
        state: 'delivered',
        dueAt: null,
        createdAt: Date.now(),
        attempts: [{ at: Date.now(), duration: 0, status: null, body: null, error: null }],
      },
    ]);
  });

  test('is sent once for each change to a final status, also of a script', async () => {
    const { mock, list, payments, createPayment } = startReceiver();
    const reference = await createPayment();
    for (const act of [mock.abandon, mock.abandon, mock.approve, mock.approve]) act(reference);
    mock.script('next', ['pending', 'processing', 'success', 'success']);
    const scripted = await createPayment();
    for (let count = 0; count < 4; count++) await payments.verify(scripted);
    await mock.webhooks.flush();
    expect(list()).toEqual([`abandoned ${reference}`, `success ${reference}`, `success ${scripted}`]);
  });

  test('contains neither the phone nor a key', async () => {
    const { mock, received, createPayment } = startReceiver();
    mock.webhooks.fault({ kind: 'forged' });
    mock.approve(await createPayment(charge));
    await mock.webhooks.flush();
    expect(received).toHaveLength(2);
    const text = JSON.stringify([received, mock.webhooks.deliveries]);
    for (const secret of [charge.phone, mock.apiKey, mock.testKey]) expect(text).not.toContain(secret);
  });
});

describe('what waits or is in flight', () => {
  test.each<[string, (mock: MockPayments) => void, states: string[]]>([
    ['no receiver', ({ webhooks }) => webhooks.deliverTo(null), ['failed', 'failed', 'delivered', 'failed']],
    ['close', (mock) => mock.close(), ['failed', 'failed', 'failed', 'failed']],
    ['a reset', (mock) => mock.reset(), []],
  ])('ends by %s', async (_, end, states) => {
    const statuses = [500, 204, 500];
    const { mock, received, listStates, createPayment } = startOnFakeClock(async () => {
      const status = statuses.shift() ?? 500;
      // The first is refused at once, and waits to be sent again. Two are in flight.
      if (received.length > 1) await sleep(1_000);
      return new Response(null, { status });
    });
    mock.approve(await createPayment());
    await settle();
    mock.webhooks.fault({ kind: 'late' });
    for (const _payment of [2, 3, 4]) mock.approve(await createPayment());
    await settle();
    expect(listStates()).toEqual(['waiting', 'waiting', 'sending', 'sending']);
    const [, , inFlight] = mock.webhooks.deliveries;
    const flushed = mock.webhooks.flush();
    mock.webhooks.fault({ kind: 'lost' });
    end(mock);
    await vi.advanceTimersByTimeAsync(200_000);
    await flushed;
    expect([listStates(), received.length, vi.getTimerCount()]).toEqual([states, 3, 0]);
    const status = states.includes('delivered') ? 204 : null;
    expect(inFlight?.attempts).toMatchObject([{ status, error: null }]);
    // Only a reset keeps the receiver. It forgets the faults, and counts from one again.
    mock.approve(await createPayment());
    expect(mock.webhooks.deliveries).toHaveLength(states.length || 1);
    const first = { id: 'whd_1', headers: { 'x-sandbox-event': 'whe_1' }, fault: null };
    expect(mock.webhooks.deliveries[0]).toMatchObject(first);
  });

  test('is kept, and of what is final the latest 1000 or more, at most 2000', async () => {
    const { mock, list, createPayment } = startOnFakeClock();
    const reference = await createPayment();
    mock.webhooks.fault({ kind: 'late' });
    mock.approve(reference);
    const [waiting] = mock.webhooks.deliveries;
    mock.webhooks.fault({ kind: 'lost' }, { times: Number.POSITIVE_INFINITY });
    let fewest = Number.POSITIVE_INFINITY;
    for (let count = 1; count <= 3_000; count++) {
      mock[count % 2 === 0 ? 'approve' : 'decline'](reference);
      const { length } = mock.webhooks.deliveries;
      expect(length).toBeLessThanOrEqual(2_001);
      if (count >= 1_000) fewest = Math.min(fewest, length);
    }
    expect(fewest).toBeGreaterThanOrEqual(1_001);
    const [first, ...rest] = mock.webhooks.deliveries;
    expect(first).toBe(waiting);
    expect(rest.map(({ id }) => id)).toEqual(rest.map((_, at) => `whd_${3_002 - rest.length + at}`));
    await mock.webhooks.flush();
    expect(list()).toEqual([`success ${reference}`]);
  });
});

describe('the fault', () => {
  test.each([
    [{ kind: 'late' }, 10_000],
    [{ kind: 'late', delay: 90_000 }, 90_000],
  ] as const)('%j delivers the status of then after %d ms', async (fault, delay) => {
    const { mock, list, createPayment } = startOnFakeClock();
    mock.webhooks.fault(fault);
    const reference = await createPayment();
    mock.abandon(reference);
    const dueAt = Date.now() + delay;
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'waiting', fault: 'late', dueAt }]);
    mock.approve(reference);
    await vi.advanceTimersByTimeAsync(delay - 1);
    expect(list()).toEqual([`success ${reference}`]);
    await vi.advanceTimersByTimeAsync(1);
    expect(list()).toEqual([`success ${reference}`, `abandoned ${reference}`]);
  });

  test('twice delivers one event two times, one after the other', async () => {
    const { mock, received, createPayment } = startOnFakeClock(() => sleep(100));
    mock.webhooks.fault({ kind: 'twice' });
    mock.approve(await createPayment());
    const ids = () =>
      received.map(({ headers }) => [headers['x-sandbox-event'], headers['x-sandbox-delivery']]);
    await vi.advanceTimersByTimeAsync(99);
    expect(ids()).toEqual([['whe_1', 'whd_1']]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ids()).toEqual([
      ['whe_1', 'whd_1'],
      ['whe_1', 'whd_2'],
    ]);
    expect(mock.webhooks.deliveries).toMatchObject([{ fault: 'twice' }, { fault: 'twice' }]);
  });

  test('lost never delivers, and is recorded', async () => {
    const { mock, list, createPayment } = startOnFakeClock();
    mock.webhooks.fault({ kind: 'lost' });
    mock.approve(await createPayment());
    await mock.webhooks.flush();
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(list()).toEqual([]);
    const lost = { state: 'lost', fault: 'lost', dueAt: null, attempts: [], url: 'handler' };
    expect(mock.webhooks.deliveries).toMatchObject([lost]);
  });

  test.each([
    [{}, { status: 'success', amount: '25.50' }],
    [{ status: 'abandoned' }, { status: 'abandoned', amount: '25.50', paid_at: null }],
    [{ amount: '0.01' }, { status: 'failed', amount: '0.01' }],
    [{ reference: 'TXN-999999' }, { status: 'failed', reference: 'TXN-999999' }],
  ])('forged with %j sends that first, and then the real webhook', async (fields, data) => {
    const { mock, received, createPayment } = startOnFakeClock(() => sleep(100));
    mock.webhooks.fault({ kind: 'forged', ...fields });
    const reference = await createPayment();
    mock.decline(reference);
    const forged = { event: `transaction.${data.status}`, data, headers: { 'x-sandbox-event': 'whe_2' } };
    await vi.advanceTimersByTimeAsync(99);
    expect(received).toMatchObject([forged]);
    await vi.advanceTimersByTimeAsync(101);
    const real = { reference, status: 'failed', amount: '25.50', paid_at: null };
    expect(received).toMatchObject([
      forged,
      { event: 'transaction.failed', data: real, headers: { 'x-sandbox-event': 'whe_1' } },
    ]);
    expect(mock.webhooks.deliveries).toMatchObject([
      { reference, fault: 'forged', state: 'delivered' },
      { reference, fault: null, state: 'delivered' },
    ]);
  });

  test.each([
    [{ kind: 'early' }, 3_000],
    [{ kind: 'early', delay: 20_000 }, 20_000],
  ] as const)('%j delivers what verify reports %d ms later', async (fault, delay) => {
    const seen: string[] = [];
    const { mock, payments, createPayment } = startOnFakeClock(async ({ data: { reference, status } }) => {
      seen.push(status, (await payments.verify(reference)).status);
    });
    mock.webhooks.fault(fault);
    // Also what a plan brings.
    mock.settleAfter('next', 5_000, 'success');
    const reference = await createPayment();
    await vi.advanceTimersByTimeAsync(5_000 + delay - 1);
    expect(seen).toEqual(['success', 'pending']);
    expect(mock.webhooks.deliveries).toMatchObject([{ fault: 'early', state: 'delivered' }]);
    expect((await payments.verify(reference)).status).toBe('pending');
    await vi.advanceTimersByTimeAsync(1);
    const paid = { status: 'success', paid_at: '2026-11-21T10:15:05+00:00' };
    expect(await payments.verify(reference)).toMatchObject(paid);
  });
});

describe('send', () => {
  test('sends one more webhook with the present status, or forged', async () => {
    const { mock, list, received, createPayment } = startReceiver();
    const reference = await createPayment();
    expect(mock.webhooks.send(reference)).toMatchObject({ state: 'waiting', fault: null });
    const forged = { reference: 'TXN-OTHER', amount: '9999.00', status: 'success' };
    expect(mock.webhooks.send(reference, forged)).toMatchObject({ reference, fault: 'forged' });
    expect(mock.transactions).toMatchObject([{ reference, status: 'pending' }]);
    mock.approve(reference);
    mock.webhooks.send(reference);
    await mock.webhooks.flush();
    const paid = `success ${reference}`;
    expect(list()).toEqual([`pending ${reference}`, 'success TXN-OTHER', paid, paid]);
    const { event, data } = received[1] ?? {};
    expect({ event, data }).toMatchObject({
      event: 'transaction.success',
      data: { ...forged, paid_at: expect.any(String) },
    });
  });

  test('throws for an unknown transaction, which it does not name, or without a receiver', async () => {
    const { mock, payments } = startReceiver();
    const { reference } = await payments.initialize(payment);
    const { send } = mock.webhooks;
    const sendOne = (about: string) => () => Reflect.apply(send, mock.webhooks, [about]);
    expect(sendOne('TXN-9')).toThrow('There is no transaction TXN-9. No webhook was sent.');
    expect(sendOne(mock.testKey)).toThrow('There is no transaction [REDACTED].');
    mock.webhooks.deliverTo(null);
    expect(sendOne(reference)).toThrow('Nothing was sent. Call deliverTo first.');
    expect(mock.webhooks.deliveries).toEqual([]);
  });
});

test.each(['', 'localhost:3000', 'ftp://user:secret@shop.test/', 17, {}, undefined])(
  'deliverTo throws for the receiver %j, and does not show it',
  (receiver) => {
    const { webhooks } = createMockPayments();
    expect(() => Reflect.apply(webhooks.deliverTo, webhooks, [receiver])).toThrow(
      new TypeError('A receiver of webhooks must be an http or https address, a function, or null.'),
    );
  },
);

test.each([
  [{ timeout: 0 }, 'timeout must be milliseconds from 1 to 2147483647, not 0.'],
  [{ timeout: Number.NaN }, 'timeout must be milliseconds from 1 to 2147483647, not NaN.'],
  [{ timeout: 2 ** 31 }, 'timeout must be milliseconds from 1 to 2147483647, not 2147483648.'],
  [{ retryDelays: [1, -1] }, 'retryDelays.1 must be milliseconds from 0 to 1000000000000, not -1.'],
  [{ retryDelays: [undefined] }, 'retryDelays.0 must be milliseconds from 0 to 1000000000000, not'],
  [{ retryDelays: 5 }, 'retryDelays must be a list of milliseconds, not number.'],
  [{ retryDelays: Array(101).fill(1) }, 'retryDelays must have at most 100 items.'],
  [{ timeout: 1, retries: 3 }, 'Unknown option "retries".'],
  [null, 'The options of a receiver must be an object'],
])('deliverTo throws for the options %o', (options, message) => {
  const { webhooks } = createMockPayments();
  const deliver = () => Reflect.apply(webhooks.deliverTo, webhooks, [() => {}, options]);
  expect(deliver).toThrow(ConfigurationError);
  expect(deliver).toThrow(message);
});
