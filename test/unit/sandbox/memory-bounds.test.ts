import { expect, test } from 'vitest';
import { ActivityLog } from '../../../src/sandbox/activity-log.ts';
import { Ledger } from '../../../src/testing/ledger.ts';
import { type Exchange, PaymentService } from '../../../src/testing/service.ts';
import { getRepeatedly, payment, startTestSandbox } from './start-sandbox.ts';

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
  const { sandbox } = await startTestSandbox();
  const responses = await getRepeatedly(sandbox, '/transactions/verify/TXN-unknown', 2_100);
  expect(responses.match(/HTTP\/1\.1 404 /g)).toHaveLength(2_100);
  expect(sandbox.requests.length).toBeGreaterThanOrEqual(1000);
  expect(sandbox.requests.length).toBeLessThanOrEqual(2000);
});

const exchange: Exchange = {
  request: { operation: null, method: 'GET', path: '/', headers: {}, body: null },
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

test('bounds what the pages show', () => {
  const activity = new ActivityLog();
  const ledger = new Ledger({ observers: [activity] });
  for (let count = 0; count < 2000; count++) {
    const { reference } = ledger.create(input, { mode: 'live' });
    for (let each = 0; each < 50; each++)
      activity.exchanged({ ...exchange, reference, found: 'pending', status: 200 }, ledger);
    activity.exchanged(exchange, ledger);
  }
  const histories = ledger.list().map(({ reference }) => activity.findHistory(reference));
  expect(histories.findIndex((history) => history !== undefined)).toBe(1500);
  expect(
    new Set(histories.slice(1500).map((history) => `${history?.groups.length} and ${history?.hidden}`)),
  ).toEqual(new Set(['20 and 30']));
  expect(activity.unmatched.groups).toHaveLength(20);
});

test('keeps the requests of the transactions that had the latest ones', () => {
  const activity = new ActivityLog();
  const ledger = new Ledger({ observers: [activity] });
  for (let count = 0; count < 1000; count++) ledger.create(input, { mode: 'live' });
  const request = { ...exchange.request, operation: 'verify' as const };
  const verify = (reference: string) =>
    activity.exchanged({ ...exchange, request, reference, found: 'pending', status: 200 }, ledger);
  for (let round = 0; round < 3; round++) {
    verify('TXN-000001');
    for (let count = 2; count < 500; count++) verify(`TXN-${String(count + 100 * round).padStart(6, '0')}`);
  }
  expect(activity.findHistory('TXN-000001')?.groups).toMatchObject([{ count: 3 }]);
  expect(activity.findHistory('TXN-000002')).toBeUndefined();
  ledger.clear();
  expect(activity.findHistory('TXN-000001')).toBeUndefined();
});

test('shortens the bodies of large requests and responses', async () => {
  const { sandbox } = await startTestSandbox();
  const message = 'y'.repeat(1_000_000);
  sandbox.fault('initialize', { kind: 'status', status: 422, body: { message } });
  const body = JSON.stringify({ ...input, note: 'x'.repeat(1_000_000) });
  const headers = { authorization: `Bearer ${sandbox.testKey}`, 'content-type': 'application/json' };
  await fetch(`${sandbox.baseUrl}/transactions/initialize`, { method: 'POST', headers, body });
  const kept = await (await fetch(`${sandbox.url}/sandbox/requests`)).json();
  expect(kept).toMatchObject({ requests: [{ status: 422 }] });
  expect(JSON.stringify(kept).length).toBeLessThan(40_000);
  expect(JSON.stringify(sandbox.requests).length).toBeLessThan(20_000);
});
