import { describe, expect, test } from 'vitest';
import { RequestHistories, RequestHistory } from '../../../../src/developers/sandbox/request-history.ts';
import { Ledger } from '../../../../src/developers/service/ledger.ts';
import type { Exchange } from '../../../../src/developers/service/service.ts';
import { getRepeatedly, payment, startTestSandbox } from './start-sandbox.ts';

const input = { ...payment, amount: 25.5 };

const verify: Exchange = {
  request: {
    operation: 'verify',
    method: 'GET',
    path: '/transactions/verify/TXN-1',
    headers: {},
    body: null,
  },
  mode: 'live',
  hasKey: true,
  reference: 'TXN-1',
  found: 'pending',
  fault: null,
  status: 200,
  errorBody: null,
  at: 0,
  duration: 1,
};

describe('of transactions', () => {
  test('the oldest final ones are deleted first', async () => {
    const { sandbox, payments } = await startTestSandbox({ keep: 3 });
    const references: string[] = [];
    for (let count = 0; count < 3; count++) references.push((await payments.initialize(payment)).reference);
    const [first, second = '', third = ''] = references;
    sandbox.abandon(third);
    sandbox.approve(second);
    const create = async () => (await payments.initialize(payment)).reference;
    const list = () => sandbox.transactions.map(({ reference }) => reference);
    const fourth = await create();
    expect(list()).toEqual([first, third, fourth]);
    const fifth = await create();
    expect(list()).toEqual([first, fourth, fifth]);
    // Then the oldest one that is open.
    const sixth = await create();
    expect(list()).toEqual([fourth, fifth, sixth]);
  });

  test('at most `keep` are kept, and not many fewer', () => {
    const ledger = new Ledger({ keep: 1000 });
    for (let count = 0; count < 5000; count++) {
      const { reference } = ledger.create(input, { mode: 'live' });
      if (count % 2) ledger.end(reference, 'success');
      if (count > 1000) expect(ledger.size).toBeGreaterThanOrEqual(990);
      expect(ledger.size).toBeLessThanOrEqual(1000);
    }
  });
});

describe('of requests', () => {
  test('a sandbox keeps the latest 1000 or more, at most 2000', async () => {
    const { sandbox } = await startTestSandbox();
    for (const [count, kept] of [
      [2_000, 2_000],
      [1, 1_000],
    ] as const) {
      const path = `/transactions/verify/TXN-${count}`;
      const responses = await getRepeatedly(sandbox, path, count);
      expect(responses.match(/HTTP\/1\.1 404 /g)).toHaveLength(count);
      expect([sandbox.requests.length, sandbox.requests.at(-1)?.path]).toEqual([kept, path]);
    }
  });

  test('large bodies are shortened', async () => {
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

  test('the pages show 20 groups for each of the 500 transactions that had the latest', () => {
    const histories = new RequestHistories();
    const ledger = new Ledger({ observers: [histories] });
    for (let count = 0; count < 1000; count++) ledger.create(input, { mode: 'live' });
    const name = (number: number) => `TXN-${String(number).padStart(6, '0')}`;
    for (let round = 0; round < 50; round++) {
      histories.add({ ...verify, reference: name(1), status: 200 + round }, ledger);
      for (let count = 2; count < 500; count++)
        histories.add({ ...verify, reference: name(count + 10 * round) }, ledger);
      histories.add({ ...verify, reference: null, status: 400 + (round % 2) }, ledger);
    }
    const shown = ledger.list().map(({ reference }) => histories.find(reference));
    expect(shown.filter((history) => history !== undefined)).toHaveLength(500);
    expect([shown[0]?.groups.length, shown[0]?.hidden, shown[1]]).toEqual([20, 30, undefined]);
    expect(histories.unmatched.groups).toHaveLength(20);
    ledger.clear();
    expect(histories.find(name(1))).toBeUndefined();
  });
});

describe('verifies are one group', () => {
  const add = (...exchanges: readonly Exchange[]) => {
    const history = new RequestHistory();
    for (const exchange of exchanges) history.add(exchange);
    return history.groups;
  };

  test('if they differ in time, duration and headers only', () => {
    const request = { ...verify.request, headers: { 'x-request-id': '2' } };
    const last = { ...verify, request, at: 9, duration: 5 };
    expect(add(verify, verify, last)).toEqual([{ key: 1, first: verify, last, count: 3 }]);
  });

  test.each<[string, Partial<Exchange>]>([
    ['key', { mode: 'test' }],
    ['presence of a key', { mode: null, hasKey: false }],
    ['status code', { status: 503 }],
    ['status of the transaction', { found: 'success' }],
    ['fault', { fault: 'wrongAmount' }],
    ['error', { errorBody: '{"message":"Another."}' }],
    ['path', { request: { ...verify.request, path: '/transactions/verify/TXN-2' } }],
    ['method', { request: { ...verify.request, method: 'DELETE' } }],
  ])('but not with another %s', (_what, difference) => {
    const other = { ...verify, ...difference };
    expect(add(verify, other, verify).map(({ count }) => count)).toEqual([1, 1, 1]);
  });

  test('but not charges', () => {
    const charge = { ...verify, request: { ...verify.request, operation: 'chargeMobileMoney' as const } };
    expect(add(charge, charge)).toHaveLength(2);
  });
});
