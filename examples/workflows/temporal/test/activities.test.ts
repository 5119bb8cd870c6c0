import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Activities, Charged, CheckedPayment } from '../activities.ts';
import { openShop } from './shop.ts';
import { logger } from './simulated-run.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
let environment: MockActivityEnvironment;
beforeEach(async () => {
  shop = await openShop();
  environment = new MockActivityEnvironment({}, { logger });
});

const charge = () =>
  environment.run<[string], Charged, Activities['charge']>(shop.activities.charge, 'order-1');
const checkPayment = (chargedAt = Date.now()) =>
  environment.run<[string, Charged], CheckedPayment, Activities['checkPayment']>(
    shop.activities.checkPayment,
    'order-1',
    {
      reference: shop.reference(),
      chargedAt,
    },
  );
const failure = async (activity: Promise<unknown>): Promise<ApplicationFailure> => {
  const error = await activity.catch((error: unknown) => error);
  if (!(error instanceof ApplicationFailure))
    throw new Error('This is no failure of the application.', { cause: error });
  return error;
};

describe('charge', () => {
  test('charges once and returns the same reference when it runs again', async () => {
    const { reference } = await charge();
    expect((await charge()).reference).toBe(reference);
    expect(shop.sandbox.charges).toHaveLength(1);
    expect(shop.order()).toMatchObject({ state: 'waiting', reference });
  });

  test('is never retried after a lost response', async () => {
    shop.sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    expect(await failure(charge())).toMatchObject({ nonRetryable: true, type: 'Unknown' });
    expect(await failure(charge())).toMatchObject({ nonRetryable: true, type: 'Unknown' });
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test.each([401, 422])('is not retried after a %i', async (status) => {
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status });
    expect(await failure(charge())).toMatchObject({ nonRetryable: true, type: 'Rejected' });
  });

  test('is retried after a 429, after its Retry-After', async () => {
    shop.sandbox.fault('chargeMobileMoney', { kind: 'rateLimited', retryAfter: 7_000 });
    expect(await failure(charge())).toMatchObject({ nonRetryable: false, nextRetryDelay: 7_000 });
    await charge();
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('is retried if the service cannot be reached', async () => {
    await shop.sandbox.close();
    expect(await failure(charge())).toMatchObject({ nonRetryable: false, type: 'ConnectionError' });
  });

  test('ends normally when its activity is cancelled', async () => {
    environment.cancel('CANCELLED');
    await charge();
    expect(shop.order().state).toBe('waiting');
  });
});

describe('checkPayment', () => {
  test('returns a value for a payment that is not final', async () => {
    await charge();
    expect(await checkPayment()).toEqual({ state: null, retryAfter: undefined });
  });

  test('fulfils the order once when it runs again', async () => {
    await charge();
    shop.sandbox.approve(shop.reference());
    expect((await checkPayment()).state).toBe('fulfilled');
    expect((await checkPayment()).state).toBe('fulfilled');
    expect(shop.orders.countParcels('order-1')).toBe(1);
  });

  test('is not retried after a 401, and does not reject the order', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'status', status: 401 });
    expect(await failure(checkPayment())).toMatchObject({ nonRetryable: true, type: 'Unknown' });
  });

  test('is retried after a 503, after its Retry-After', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'status', status: 503, headers: { 'retry-after': '12' } });
    expect(await failure(checkPayment())).toMatchObject({ nonRetryable: false, nextRetryDelay: 12_000 });
  });

  test('is retried by the policy after a 503 without Retry-After', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'status', status: 503 });
    const { nonRetryable, nextRetryDelay } = await failure(checkPayment());
    expect({ nonRetryable, nextRetryDelay }).toEqual({ nonRetryable: false, nextRetryDelay: undefined });
  });

  test('is retried after an early 404, and not after a late one', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'status', status: 404 }, { times: 2 });
    expect(await failure(checkPayment(Date.now()))).toMatchObject({ nonRetryable: false });
    expect(await failure(checkPayment(Date.now() - 60_000))).toMatchObject({
      nonRetryable: true,
      type: 'Unknown',
    });
  });

  test('ends at once when its activity is cancelled', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'hang' });
    const checking = checkPayment();
    await expect.poll(() => shop.sandbox.requests.length).toBe(2);
    environment.cancel('CANCELLED');
    await expect(checking).rejects.toBeInstanceOf(CancelledFailure);
  });
});

afterEach(() => {
  expect(shop.sandbox.charges.length).toBeLessThanOrEqual(1);
});
