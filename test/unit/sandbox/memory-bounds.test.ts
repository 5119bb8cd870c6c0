import { expect, test } from 'vitest';
import { ActivityLog } from '../../../src/sandbox/activity-log.ts';
import { Ledger } from '../../../src/testing/ledger.ts';
import { PaymentService } from '../../../src/testing/service.ts';
import { payment, startTestSandbox } from './start-sandbox.ts';

const input = { ...payment, amount: 25.5 };

test('deletes the oldest final transaction first', async () => {
  const { sandbox, payments } = await startTestSandbox({ keep: 3 });
  const references: string[] = [];
  for (let count = 0; count < 3; count++) references.push((await payments.initialize(payment)).reference);
  const [first, second = '', third = ''] = references;
  sandbox.abandon(third);
  sandbox.approve(second);
  const { reference: fourth } = await payments.initialize(payment);
  expect(sandbox.transactions.map(({ reference }) => reference)).toEqual([first, third, fourth]);
});

test('deletes the oldest transaction if none is final', () => {
  const ledger = new Ledger({ keep: 3 });
  for (let count = 0; count < 5; count++) ledger.create(input, { mode: 'live' });
  expect(ledger.list().map(({ reference }) => reference)).toEqual(['TXN-000003', 'TXN-000004', 'TXN-000005']);
});

test('keeps at most `keep` transactions, and not many fewer', () => {
  const ledger = new Ledger({ keep: 1000 });
  for (let count = 0; count < 5000; count++) {
    const { reference } = ledger.create(input, { mode: 'live' });
    if (count % 2) ledger.settle(reference, 'success');
    if (count > 1000) expect(ledger.size).toBeGreaterThanOrEqual(990);
    expect(ledger.size).toBeLessThanOrEqual(1000);
  }
});

test('keeps between `keepRequests` and twice as many requests', async () => {
  const service = new PaymentService({
    baseUrl: 'http://localhost/api/v1',
    checkoutBase: 'http://localhost',
    apiKeys: ['key'],
    allowTestCharges: true,
    keepRequests: 10,
  });
  for (let count = 0; count < 95; count++) {
    await service.handle(new Request(`http://localhost/api/v1/${count}`));
  }
  expect(service.exchanges.length).toBeLessThanOrEqual(20);
  expect(service.exchanges.slice(-10).map(({ request }) => request.path)).toEqual(
    Array.from({ length: 10 }, (_, index) => `/${85 + index}`),
  );
});

test('keeps only the latest requests of a sandbox', async () => {
  const { sandbox, payments } = await startTestSandbox();
  for (let round = 0; round < 21; round++) {
    const verifies = Array.from({ length: 100 }, () => payments.verify('TXN-unknown'));
    await Promise.allSettled(verifies);
  }
  expect(sandbox.requests.length).toBeGreaterThanOrEqual(1000);
  expect(sandbox.requests.length).toBeLessThanOrEqual(2000);
});

test('bounds what the pages show', () => {
  const activity = new ActivityLog();
  const ledger = new Ledger({ observer: activity });
  const request = { operation: null, method: 'GET', path: '/', headers: {}, body: null };
  const exchange = {
    request,
    mode: null,
    hasKey: false,
    reference: null,
    found: null,
    fault: null,
    status: 404,
    errorBody: null,
    at: 0,
    duration: 1,
  };
  for (let count = 0; count < 2000; count++) {
    const { reference } = ledger.create(input, { mode: 'live' });
    for (let each = 0; each < 50; each++) activity.exchanged({ ...exchange, reference, status: 200 });
    activity.exchanged(exchange);
  }
  const rows = activity.rows();
  expect(rows).toHaveLength(500);
  expect(rows.at(-1)?.entry.reference).toBe('TXN-002000');
  expect(new Set(rows.map(({ exchanges, requests }) => `${exchanges.length} of ${requests}`))).toEqual(
    new Set(['20 of 50']),
  );
  expect(activity.unmatched).toHaveLength(20);
});
