import { expect, test } from 'vitest';
import { RequestHistory } from '../../../src/sandbox/request-history.ts';
import type { Exchange } from '../../../src/testing/service.ts';

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

function add(...exchanges: readonly Exchange[]) {
  const history = new RequestHistory();
  for (const exchange of exchanges) history.add(exchange);
  return history;
}

test('groups verifies that differ in time, duration and headers only', () => {
  const request = { ...verify.request, headers: { 'x-request-id': '2' } };
  const last = { ...verify, request, at: 9, duration: 5 };
  expect(add(verify, verify, last).groups).toEqual([{ key: 1, first: verify, last, count: 3 }]);
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
])('never groups verifies with another %s', (_what, difference) => {
  const other = { ...verify, ...difference };
  expect(add(verify, other, verify).groups.map(({ count }) => count)).toEqual([1, 1, 1]);
});

test('never groups charges', () => {
  const request = { ...verify.request, operation: 'chargeMobileMoney' as const };
  expect(add({ ...verify, request }, { ...verify, request }).groups).toHaveLength(2);
});

test('counts the requests that it no longer shows', () => {
  const alternating = Array.from({ length: 50 }, (_, index) => ({ ...verify, status: 200 + (index % 2) }));
  const history = add(verify, verify, ...alternating.slice(1));
  expect(history.groups).toHaveLength(20);
  expect(history.hidden).toBe(31);
  expect(new Set(history.groups.map(({ key }) => key)).size).toBe(20);
});
