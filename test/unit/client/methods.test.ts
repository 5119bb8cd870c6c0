import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ClosedError, ConfigurationError, PaymentsClient } from '../../../src/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import {
  API_KEY,
  catchError,
  charge,
  payment,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const operations = [...posts, 'verify'] as const;

const startServiceWith = (body: unknown) => startService((response) => sendJson(response, 200, body));

const verifying = async (data: object) => {
  const service = await startServiceWith(successBodies.verify(data));
  return service.client().verify(REFERENCE);
};

test('returns the data under the names of the wire', async () => {
  const initialized = await (await startServiceWith(successBodies.initialize())).client().initialize(payment);
  expect(initialized).toEqual({
    reference: REFERENCE,
    checkout_url: `https://pay.example/checkout/${REFERENCE}`,
    amount: '25.50',
    currency: 'GHS',
    replayed: false,
  });
  expect(await verifying({})).toEqual(successBodies.verify().data);
});

test('chargeMobileMoney returns the message, or an empty one', async () => {
  const { message, data } = successBodies.chargeMobileMoney();
  const charged = await (await startServiceWith({ status: true, message, data }))
    .client()
    .chargeMobileMoney(charge);
  expect(charged).toEqual({ ...data, message, replayed: false });
  const silent = await (await startServiceWith({ status: true, data })).client().chargeMobileMoney(charge);
  expect(silent).toEqual({ ...data, message: '', replayed: false });
});

test.each(posts)('%s ignores a field replayed of the service', async (operation) => {
  const service = await startServiceWith(successBodies[operation]({ replayed: true }));
  expect(await calls[operation](service.client())).toMatchObject({ replayed: false });
});

describe('a transaction', () => {
  test.each(['pending', 'processing', 'success', 'failed', 'abandoned'])('can be %s', async (status) => {
    expect(await verifying({ status })).toMatchObject({ status });
    expect(await verifying({ status })).not.toHaveProperty('raw_status');
  });

  test.each(['reversed', 'SUCCESS', '', ' success', 'unrecognised'])(
    'with the status %j is unrecognised, and keeps the raw value',
    async (status) => {
      expect(await verifying({ status })).toMatchObject({ status: 'unrecognised', raw_status: status });
    },
  );

  test.each([
    ['absent', undefined],
    ['null', null],
    ['empty', ''],
  ])('reads a paid_at that is %s as null, also on a success', async (_what, paid_at) => {
    for (const status of ['pending', 'success', 'reversed']) {
      expect(await verifying({ status, paid_at })).toMatchObject({ paid_at: null });
    }
    expect(await verifying({ status: 'success', paid_at })).toMatchObject({ status: 'success' });
  });

  test('keeps unknown extra fields', async () => {
    const extra = { channel: 'momo', fees: { amount: '0.25' }, tags: [null] };
    expect(await verifying(extra)).toEqual({ ...successBodies.verify().data, ...extra });
    const service = await startServiceWith(successBodies.initialize(extra));
    expect(await service.client().initialize(payment)).toMatchObject(extra);
  });
});

test.each([
  ['sk_test_4vK9qLm2Xw7RtZ', 'test'],
  ['sk_live_4vK9qLm2Xw7RtZ', 'unknown'],
  ['sk_test_', 'unknown'],
  ['whatever', 'unknown'],
  [() => 'sk_test_4vK9qLm2Xw7RtZ', 'unknown'],
])('detects for the key %s the mode %s', (apiKey, mode) => {
  expect(new PaymentsClient({ apiKey, baseUrl: 'https://payments.example' }).mode).toBe(mode);
});

test('reads PAYMENTS_API_KEY and PAYMENTS_BASE_URL by default', async () => {
  const service = await startServiceWith(successBodies.initialize());
  vi.stubEnv('PAYMENTS_API_KEY', 'sk_test_environment');
  vi.stubEnv('PAYMENTS_BASE_URL', service.baseUrl);
  onTestFinished(() => void vi.unstubAllEnvs());
  await new PaymentsClient().initialize(payment);
  await new PaymentsClient({ apiKey: API_KEY }).initialize(payment);
  expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer sk_test_environment',
    `Bearer ${API_KEY}`,
  ]);
});

test.each(operations)('%s accepts signal, timeout, maxRetries and headers', async (operation) => {
  const service = await startService((response, _request, count) =>
    sendJson(response, count === 1 ? 429 : 200, count === 1 ? {} : successBodies[operation]()),
  );
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const { signal } = new AbortController();
  const options = { signal, timeout: 5_000, maxRetries: 1, headers: { 'x-order': '17' } };
  expect(await calls[operation](service.client(), options)).toMatchObject({ reference: REFERENCE });
  expect(service.requests).toMatchObject([
    { headers: { 'x-order': '17' } },
    { headers: { 'x-order': '17' } },
  ]);
});

test.each(operations)('%s refuses an unknown option, and sends nothing', async (operation) => {
  const service = await startServiceWith(successBodies[operation]());
  const options = { retries: 3 } as object;
  const failure = await catchError(calls[operation](service.client(), options));
  expect(failure).toBeInstanceOf(ConfigurationError);
  const outcome = operation === 'verify' ? null : 'not_sent';
  expect(failure).toMatchObject({
    operation,
    outcome,
    message: expect.stringMatching(/^Unknown option "retries"\. There are: .*maxRetries/),
  });
  expect(service.requests).toEqual([]);
});

test('refuses an idempotencyKey without a journal', async () => {
  const service = await startServiceWith(successBodies.chargeMobileMoney());
  for (const operation of posts) {
    const options = { idempotencyKey: 'order-17' } as object;
    const failure = await catchError(calls[operation](service.client(), options));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation, outcome: 'not_sent', retryable: false });
  }
  expect(service.requests).toEqual([]);
});

test.each(operations)('after close(), %s throws ClosedError and sends nothing', async (operation) => {
  const service = await startServiceWith(successBodies[operation]());
  const client = service.client();
  client.close();
  const failure = await catchError(calls[operation](client));
  expect(failure).toBeInstanceOf(ClosedError);
  expect(failure).toMatchObject({
    name: 'ClosedError',
    code: 'closed',
    operation,
    outcome: operation === 'verify' ? null : 'not_sent',
    retryable: false,
  });
  expect(service.requests).toEqual([]);
});

test('closes a client that is disposed of', async () => {
  const service = await startServiceWith(successBodies.verify());
  let kept: PaymentsClient;
  {
    using client = service.client();
    kept = client;
    await client.verify(REFERENCE);
  }
  expect(await catchError(kept.verify(REFERENCE))).toBeInstanceOf(ClosedError);
});
