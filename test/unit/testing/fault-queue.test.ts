import { describe, expect, test } from 'vitest';
import { createMockPayments } from '../../../src/testing/index.ts';
import { catchError } from '../../helpers/service.ts';
import { charge, payment, startMock } from './start-mock.ts';

describe('faults', () => {
  test('break one request by default', async () => {
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 500 });
    await catchError(payments.initialize(payment));
    await payments.initialize(payment);
  });

  test('break `times` requests, in order, for each operation', async () => {
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 500 }, { times: 2 });
    mock.fault('chargeMobileMoney', { kind: 'status', status: 403 });
    mock.fault('initialize', { kind: 'status', status: 404 });
    const unknown = { outcome: 'unknown' };
    expect(await catchError(payments.initialize(payment))).toMatchObject(unknown);
    expect(await catchError(payments.initialize(payment))).toMatchObject(unknown);
    expect(await catchError(payments.initialize(payment))).toMatchObject({ status: 404 });
    await payments.initialize(payment);
    expect(await catchError(payments.chargeMobileMoney(charge))).toMatchObject({ status: 403 });
  });

  test('break every request until reset, with Infinity', async () => {
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 404 }, { times: Number.POSITIVE_INFINITY });
    for (let count = 0; count < 5; count++) await catchError(payments.initialize(payment));
    mock.reset();
    await payments.initialize(payment);
  });

  test('are deleted by clearFaults, also those of webhooks', async () => {
    const { mock, payments } = startMock();
    mock.webhooks.deliverTo(() => {});
    mock.fault('initialize', { kind: 'reset' }, { times: Number.POSITIVE_INFINITY });
    mock.webhooks.fault({ kind: 'lost' });
    await catchError(payments.initialize(payment));
    mock.clearFaults();
    const { reference } = await payments.initialize(payment);
    mock.approve(reference);
    await mock.webhooks.flush();
    expect(mock.webhooks.deliveries).toMatchObject([{ reference, fault: null, state: 'delivered' }]);
    expect(mock.requests).toHaveLength(2);
  });

  test.each([0, -1, 1.5, Number.NaN])('throw for %d times', (times) => {
    expect(() => createMockPayments().fault('verify', { kind: 'reset' }, { times })).toThrow(RangeError);
  });

  test('are not used up by an invalid request, which is rejected', async () => {
    const { mock, client, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 503 });
    expect(await catchError(client({ apiKey: 'sk_test_wrong' }).initialize(payment))).toMatchObject({
      status: 401,
    });
    expect(await catchError(payments.initialize(payment))).toMatchObject({ outcome: 'unknown' });
  });

  test('advance a script only if the service acts', async () => {
    const { mock, payments } = startMock();
    mock.script('next', ['pending', 'success']);
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', { kind: 'status', status: 503 });
    mock.fault('verify', { kind: 'responseLost' });
    await catchError(payments.verify(reference));
    await catchError(payments.verify(reference));
    expect((await payments.verify(reference)).status).toBe('success');
  });

  test("break the client's own retries too", async () => {
    const { mock, client } = startMock();
    const payments = client({ maxRetries: 2 });
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', { kind: 'status', status: 502, body: 'html' });
    mock.fault('verify', { kind: 'reset' });
    expect((await payments.verify(reference)).status).toBe('pending');
    expect(mock.requests).toHaveLength(4);
  });
});
