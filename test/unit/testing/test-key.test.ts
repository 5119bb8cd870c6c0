import { describe, expect, test } from 'vitest';
import { PermissionError } from '../../../src/index.ts';
import { failureOf } from '../../helpers/service.ts';
import { charge, payment, startMock } from './start-mock.ts';

describe('charging with a test key', () => {
  test('works, so that no test needs a live key', async () => {
    const { payments } = startMock();
    expect(payments.mode).toBe('test');
    expect((await payments.chargeMobileMoney(charge)).status).toBe('processing');
  });

  test('is refused where refuseTestCharges is set; initialize is not', async () => {
    const { mock, payments } = startMock({ refuseTestCharges: true });
    const error = await failureOf(payments.chargeMobileMoney(charge));
    expect(error).toBeInstanceOf(PermissionError);
    expect(error).toMatchObject({ outcome: 'rejected', message: expect.stringContaining('live mode only') });
    expect(mock.charges).toEqual([]);
    await payments.initialize(payment);
  });

  test('another key charges also where refuseTestCharges is set', async () => {
    const { payments } = startMock({ refuseTestCharges: true, apiKey: 'sk_live_mock' });
    expect((await payments.chargeMobileMoney(charge)).status).toBe('processing');
  });
});
