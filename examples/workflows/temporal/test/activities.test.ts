import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Activities, Charged, Look } from '../activities.ts';
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
const look = (chargedAt = Date.now()) =>
  environment.run<[string, Charged], Look, Activities['look']>(shop.activities.look, 'order-1', {
    reference: shop.reference(),
    chargedAt,
  });
const failure = async (activity: Promise<unknown>): Promise<ApplicationFailure> => {
  const error = await activity.catch((error: unknown) => error);
  if (!(error instanceof ApplicationFailure))
    throw new Error('not a failure of the application', { cause: error });
  return error;
};

describe('charge', () => {
  test('an activity that runs again charges once, and gives the same reference', async () => {
    const { reference } = await charge();
    expect((await charge()).reference).toBe(reference);
    expect(shop.sandbox.charges).toHaveLength(1);
    expect(shop.order()).toMatchObject({ state: 'waiting', reference });
  });

  test('a lost answer is in doubt: it is not retried, and nobody is charged again', async () => {
    shop.sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    expect(await failure(charge())).toMatchObject({ nonRetryable: true, type: 'InDoubt' });
    expect(await failure(charge())).toMatchObject({ nonRetryable: true, type: 'InDoubt' });
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test.each([401, 422])('a charge that is refused with %i is not retried', async (status) => {
    shop.sandbox.fault('chargeMobileMoney', { kind: 'status', status });
    expect(await failure(charge())).toMatchObject({ nonRetryable: true, type: 'Refused' });
  });

  test('a charge that the service had no time for is retried, after the pause that it asked for', async () => {
    shop.sandbox.fault('chargeMobileMoney', { kind: 'rateLimited', retryAfter: 7_000 });
    expect(await failure(charge())).toMatchObject({ nonRetryable: false, nextRetryDelay: 7_000 });
    await charge();
    expect(shop.sandbox.charges).toHaveLength(1);
  });

  test('a service that cannot be reached is tried again', async () => {
    await shop.sandbox.close();
    expect(await failure(charge())).toMatchObject({ nonRetryable: false, type: 'ConnectionError' });
  });

  test('a charge is not cut off where its activity is cancelled', async () => {
    environment.cancel('CANCELLED');
    await charge();
    expect(shop.order().state).toBe('waiting');
  });
});

describe('look', () => {
  test('a payment that is not final is a value', async () => {
    await charge();
    expect(await look()).toEqual({ state: null, retryAfter: undefined });
  });

  test('a look that runs again fulfils once', async () => {
    await charge();
    shop.sandbox.approve(shop.reference());
    expect((await look()).state).toBe('fulfilled');
    expect((await look()).state).toBe('fulfilled');
    expect(shop.orders.parcels('order-1')).toBe(1);
  });

  test('a 401 is not retried, and does not say that no charge exists', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'status', status: 401 });
    expect(await failure(look())).toMatchObject({ nonRetryable: true, type: 'InDoubt' });
  });

  test('a 503 is retried, after the pause that the service asked for', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'status', status: 503, headers: { 'retry-after': '12' } });
    expect(await failure(look())).toMatchObject({ nonRetryable: false, nextRetryDelay: 12_000 });
  });

  test('a 503 that names no pause is retried after the policy of the activity', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'status', status: 503 });
    const { nonRetryable, nextRetryDelay } = await failure(look());
    expect({ nonRetryable, nextRetryDelay }).toEqual({ nonRetryable: false, nextRetryDelay: undefined });
  });

  test('a payment that is not known is looked for again at first, and is for a person later', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'status', status: 404 }, { times: 2 });
    expect(await failure(look(Date.now()))).toMatchObject({ nonRetryable: false });
    expect(await failure(look(Date.now() - 60_000))).toMatchObject({ nonRetryable: true, type: 'InDoubt' });
  });

  test('a cancellation ends the check that is under way', async () => {
    await charge();
    shop.sandbox.fault('verify', { kind: 'hang' });
    const looking = look();
    await expect.poll(() => shop.sandbox.requests.length).toBe(2);
    environment.cancel('CANCELLED');
    await expect(looking).rejects.toBeInstanceOf(CancelledFailure);
  });
});

afterEach(() => {
  expect(shop.sandbox.charges.length).toBeLessThanOrEqual(1);
});
