/** Waiting for the final status: `waitForFinalStatus`, `watch`, `reconcile`, `check` and `./schedule`. */

import { expect, test } from 'vitest';
import { ClosedError, TransactionMismatchError, WaitTimeoutError } from '../../src/index.ts';
import { isFinal, nextDelay } from '../../src/schedule.ts';
import { collect } from '../helpers/collect.ts';
import { catchError } from '../helpers/service.ts';
import { MINUTE, momo, SECOND, world } from '../helpers/world.ts';

const unkeyed = { idempotencyKey: null };

async function charged(options: Parameters<typeof world>[0] = {}) {
  const begun = world(options);
  const { reference } = await begun.shop.payments.chargeMobileMoney(momo, unkeyed);
  return { ...begun, ...begun.shop, reference };
}

test('a wait returns the final transaction, and failed is a result', async () => {
  const { payments, service, reference } = await charged();
  service.settleAfter(reference, 40 * SECOND, 'failed');
  expect(await payments.waitForFinalStatus(reference)).toMatchObject({ reference, status: 'failed' });
});

test('polls are 3 to 15 seconds apart', async () => {
  const { payments, service, reference, checks } = await charged();
  service.settleAfter(reference, 9 * MINUTE, 'success');
  await payments.waitForFinalStatus(reference);
  const pauses = checks.slice(1).map(({ at }, index) => at - (checks[index]?.at ?? 0));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(2_700);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(16_500);
});

test.each([
  ['a 503', { kind: 'status', status: 503 }],
  ['a reset', { kind: 'reset' }],
  ['a 429', { kind: 'rateLimited', retryAfter: 2 }],
  ['a truncated body', { kind: 'truncated' }],
  ['an unrecognised status', { kind: 'unrecognisedStatus', status: 'on_hold' }],
  ['a 404 of a replica', { kind: 'status', status: 404 }],
] as const)('%s does not end a wait', async (_, fault) => {
  const { payments, service, reference } = await charged();
  service.fault('verify', fault, { times: 2 });
  service.settleAfter(reference, 5 * SECOND, 'success');
  expect(await payments.waitForFinalStatus(reference)).toMatchObject({ status: 'success' });
});

test('a lasting 404 ends a wait', async () => {
  const { shop, clock } = world();
  const error = await catchError(shop.payments.waitForFinalStatus('TXN-NOBODYS'));
  expect(error).toMatchObject({ code: 'not_found' });
  expect(clock.now).toBeGreaterThanOrEqual(10 * SECOND);
});

test('a deadline says nothing about the payment, and how to continue', async () => {
  const { payments, reference } = await charged();
  const error = await catchError(payments.waitForFinalStatus(reference, { timeout: MINUTE }));
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(error).toMatchObject({
    outcome: null,
    nextStep: 'check',
    reference,
    lastStatus: 'pending',
    elapsed: MINUTE,
  });
});

test('each wait that ends at a deadline has a transaction of its own', async () => {
  const { payments, reference } = await charged();
  const waits = [1, 2].map(() => catchError(payments.waitForFinalStatus(reference, { timeout: MINUTE })));
  const [one, other] = (await Promise.all(waits)).map((error) =>
    error instanceof WaitTimeoutError ? error.lastTransaction : undefined,
  );
  expect(one).toMatchObject({ reference, status: 'pending' });
  expect(other).toEqual(one);
  expect(other).not.toBe(one);
});

test('a wait whose deadline has passed still checks once', async () => {
  const { payments, service, reference } = await charged();
  service.approve(reference);
  const startedAt = Date.now() - 30 * MINUTE;
  expect(await payments.waitForFinalStatus(reference, { startedAt })).toMatchObject({ status: 'success' });
});

test('waits on one reference share their polls', async () => {
  const { payments, service, reference, checks } = await charged();
  service.settleAfter(reference, 20 * SECOND, 'success');
  await payments.waitForFinalStatus(reference);
  const alone = checks.length;
  const other = await payments.chargeMobileMoney(momo, unkeyed);
  service.settleAfter(other.reference, 20 * SECOND, 'success');
  await Promise.all([1, 2, 3].map(() => payments.waitForFinalStatus(other.reference)));
  expect(checks.length - alone).toBeLessThanOrEqual(alone);
});

test('an abort ends a wait at once, with its reason, and nothing is sent after it', async () => {
  const { payments, reference, checks, clock } = await charged();
  const reason = new Error('The customer left.');
  const ending = new AbortController();
  const waiting = catchError(payments.waitForFinalStatus(reference, { signal: ending.signal }));
  await clock.pass(10 * SECOND);
  const before = checks.length;
  ending.abort(reason);
  expect(await waiting).toBe(reason);
  await clock.pass(MINUTE);
  expect(checks).toHaveLength(before);
});

test('a signal that is aborted already lets no wait begin', async () => {
  const { payments, reference, checks } = await charged();
  const reason = new Error('The customer left.');
  const signal = AbortSignal.abort(reason);
  const waiting = catchError(payments.waitForFinalStatus(reference, { signal, timeout: MINUTE }));
  expect(await waiting).toBe(reason);
  expect(checks).toEqual([]);
});

test('a wait ends at the final statuses that it was given', async () => {
  const { payments, service, reference } = await charged();
  service.settleAfter(reference, MINUTE, 'abandoned');
  const [usual, longer] = [
    payments.waitForFinalStatus(reference),
    payments.waitForFinalStatus(reference, { finalStatuses: ['success', 'failed'] }),
  ];
  expect(await usual).toMatchObject({ status: 'abandoned' });
  service.approve(reference);
  expect(await longer).toMatchObject({ status: 'success' });
});

test('close ends every wait', async () => {
  const { payments, reference } = await charged();
  const waiting = catchError(payments.waitForFinalStatus(reference));
  await payments.close();
  expect(await waiting).toBeInstanceOf(ClosedError);
});

test('a notification brings the next poll forward', async () => {
  const { payments, service, reference, clock } = await charged();
  const waiting = payments.waitForFinalStatus(reference);
  await clock.pass(5 * MINUTE);
  service.approve(reference);
  const before = clock.now;
  payments.notify({ data: { reference } });
  await waiting;
  expect(clock.now - before).toBeLessThanOrEqual(SECOND);
});

test('expect refuses another amount', async () => {
  const { payments, service, reference } = await charged();
  service.approve(reference);
  const expected = { expect: { amount: '30.00', currency: 'GHS' } };
  expect(await catchError(payments.waitForFinalStatus(reference, expected))).toBeInstanceOf(
    TransactionMismatchError,
  );
});

test('watch yields each change of status, and ends with the final one', async () => {
  const { payments, service, reference } = await charged();
  service.script(reference, ['pending', 'pending', 'processing', 'success']);
  const seen = (await collect(payments.watch(reference))).map(({ status }) => status);
  expect(seen).toEqual(['pending', 'processing', 'success']);
});

test('reconcile checks each reference once, and one that fails ends no other', async () => {
  const { payments, reference, checks } = await charged();
  const results = await collect(payments.reconcile([reference, 'TXN-NOBODYS']));
  expect(results).toHaveLength(2);
  expect(results.find((result) => result.reference === reference)).toMatchObject({
    transaction: { status: 'pending' },
  });
  expect(results.find((result) => result.reference !== reference)?.error).toBeDefined();
  expect(checks.filter((check) => check.reference === reference)).toHaveLength(1);
});

test('a check is one request and plain JSON', async () => {
  const { payments, reference, checks } = await charged();
  const result = await payments.check(reference);
  expect(result).toMatchObject({ reference, status: 'pending', final: false });
  expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  expect(checks).toHaveLength(1);
});

test.each(['success', 'failed', 'abandoned'] as const)('a check shows that %s is final', async (status) => {
  const { payments, service, clock, reference } = await charged();
  service.settleAfter(reference, SECOND, status);
  await clock.pass(2 * SECOND);
  expect(await payments.check(reference)).toMatchObject({ status, final: true });
});

test('a check is one request, also when it fails', async () => {
  const { payments, service, reference, checks } = await charged({ client: { maxRetries: 2 } });
  service.fault('verify', { kind: 'status', status: 503 });
  expect(await catchError(payments.check(reference))).toMatchObject({
    code: 'server_error',
    retryable: true,
  });
  expect(checks).toHaveLength(1);
});

test('the schedule is a pure function, for engines of their own', () => {
  expect(nextDelay({ elapsed: 0, random: 0.5 })).toBeGreaterThanOrEqual(2_700);
  expect(nextDelay({ elapsed: 11 * MINUTE, random: 0.5 })).toBeNull();
  expect(['success', 'failed', 'abandoned', 'pending', 'on_hold'].map((status) => isFinal(status))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
