import { describe, expect, test } from 'vitest';
import { NotFoundError, PermissionError } from '../../../src/index.ts';
import { catchError } from '../../helpers/service.ts';
import { charge, payment, startMock } from './start-mock.ts';

/** Starts a mock with a client of each mode. */
function startModes(options?: Parameters<typeof startMock>[0]) {
  const started = startMock(options);
  const { mock, client } = started;
  return { mock, client, live: client(), test: client({ apiKey: mock.testKey }) };
}

test('the default key charges, because it belongs to live mode', async () => {
  const { mock, live } = startModes();
  expect(mock.apiKey).toBe('mock-live-key');
  await expect(live.chargeMobileMoney(charge)).resolves.toMatchObject({ status: 'processing' });
});

test('a key without sk_test_ belongs to live mode, whatever its shape', async () => {
  const { live } = startModes({ apiKey: 'merchant-17' });
  await expect(live.chargeMobileMoney(charge)).resolves.toMatchObject({ status: 'processing' });
});

describe('a transaction belongs to the mode of its key', () => {
  test.each(['live', 'test'] as const)('verify with the other key is a 404: %s', async (mode) => {
    const modes = startModes();
    const { reference } = await modes[mode].initialize(payment);
    const other = mode === 'live' ? modes.test : modes.live;
    const error = await catchError(other.verify(reference));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({
      outcome: null,
      serviceMessage: `There is no such transaction in ${mode === 'live' ? 'test' : 'live'} mode.`,
    });
    await expect(modes[mode].verify(reference)).resolves.toMatchObject({ status: 'pending' });
  });

  test('verify with the other key uses up no fault', async () => {
    const { mock, live, test } = startModes();
    const { reference } = await live.initialize(payment);
    mock.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
    await expect(test.verify(reference)).rejects.toBeInstanceOf(NotFoundError);
    await expect(live.verify(reference)).resolves.toMatchObject({ amount: '2.55' });
  });

  test('verify with the other key uses up no step of a script', async () => {
    const { mock, live, test } = startModes();
    const { reference } = await live.initialize(payment);
    mock.script(reference, ['processing', 'success']);
    await catchError(test.verify(reference));
    const statuses = [await live.verify(reference), await live.verify(reference)];
    expect(statuses.map(({ status }) => status)).toEqual(['processing', 'success']);
  });

  test('two keys of one mode see the same transactions', async () => {
    const { client, mock, test } = startModes({ apiKey: 'sk_test_one', testKey: 'sk_test_two' });
    const { reference } = await client({ apiKey: mock.apiKey }).initialize(payment);
    await expect(test.verify(reference)).resolves.toMatchObject({ reference });
  });

  test('the controls see the transactions of both modes', async () => {
    const { mock, live, test } = startModes();
    const first = await live.initialize(payment);
    const second = await test.initialize(payment);
    mock.approve(first.reference);
    mock.decline(second.reference);
    expect(mock.transactions.map(({ status }) => status)).toEqual(['success', 'failed']);
    await expect(live.verify(first.reference)).resolves.toMatchObject({ status: 'success' });
    await expect(test.verify(second.reference)).resolves.toMatchObject({ status: 'failed' });
  });
});

describe('a charge with a test key', () => {
  test('is rejected, uses up no fault and no plan, and says why', async () => {
    const { mock, live, test } = startModes();
    mock.fault('chargeMobileMoney', { kind: 'responseLost' });
    mock.settleAfter('next', 0, 'success');
    const error = await catchError(test.chargeMobileMoney(charge));
    expect(error).toBeInstanceOf(PermissionError);
    expect(error).toMatchObject({ status: 403, outcome: 'rejected' });
    expect(error).toHaveProperty('message', expect.stringMatching(/test key.*live mode only/));
    expect(mock.charges).toEqual([]);

    await expect(live.chargeMobileMoney(charge)).rejects.toMatchObject({ outcome: 'unknown' });
    expect(mock.transactions).toMatchObject([{ status: 'success' }]);
  });

  test('stays in test mode with allowTestCharges', async () => {
    const { mock, live, test } = startModes({ allowTestCharges: true });
    const { reference } = await test.chargeMobileMoney(charge);
    expect(mock.charges).toMatchObject([{ reference }]);
    await expect(live.verify(reference)).rejects.toBeInstanceOf(NotFoundError);
    await expect(test.verify(reference)).resolves.toMatchObject({ reference });
  });
});

test('expectNoDoubleCharge compares the charges of one mode', async () => {
  const { mock, live, test } = startModes({ allowTestCharges: true });
  const first = await live.chargeMobileMoney(charge);
  await test.chargeMobileMoney(charge);
  mock.expectNoDoubleCharge();
  const second = await live.chargeMobileMoney(charge);
  expect(() => mock.expectNoDoubleCharge()).toThrow(`${first.reference} and ${second.reference} (`);
});

test.each(['mock-live-key', 'sk_test_', ''])('refuses the test key "%s"', (testKey) => {
  expect(() => startMock({ testKey })).toThrow('testKey must begin with sk_test_.');
});
