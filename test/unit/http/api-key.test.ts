import { expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { skipRetryDelays } from '../../helpers/retry-delays.ts';
import {
  catchError,
  charge,
  payment,
  respondFirst,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';
import { flushEventLoop } from '../../helpers/tcp-service.ts';

const authorizations = ({ requests }: Awaited<ReturnType<typeof startService>>) =>
  requests.map(({ headers }) => headers.authorization);

test('calls the apiKey function for each request, and again for a retry', async () => {
  const service = await startService(respondFirst(429));
  vi.spyOn(Math, 'random').mockReturnValue(0);
  let keyCalls = 0;
  const give = (key: string) => (keyCalls % 2 ? key : Promise.resolve(key));
  const client = service.client({ apiKey: () => give(`sk_live_rotated${++keyCalls}`), maxRetries: 1 });
  expect(keyCalls).toBe(0);
  await client.initialize(payment);
  await client.verify('TXN-8f2c61d0');
  expect(authorizations(service)).toEqual([1, 2, 3].map((count) => `Bearer sk_live_rotated${count}`));
});

test('redacts the key before the present one after many rotations', async () => {
  const service = await startService((response, { headers }) => {
    const latest = Number(headers.authorization?.at(-1));
    sendJson(response, 500, { message: `used until now: vault-key-${latest - 1}` });
  });
  let keyCalls = 0;
  const client = service.client({ apiKey: () => `vault-key-${++keyCalls}` });
  const messages: string[] = [];
  for (let call = 0; call < 6; call++) messages.push(`${await catchError(client.verify('TXN-8f2c61d0'))}`);
  expect(messages[5]).toContain('used until now: [REDACTED]');
});

test.each<[string, () => unknown]>([
  ['undefined', () => undefined],
  ['null', () => null],
  ['an empty string', () => ''],
  ['the text undefined', () => 'undefined'],
  ['a number', async () => 42],
  ['an object', () => ({ key: 'sk_test_4vK9qLm2Xw7RtZ' })],
  ['a key with a line break', async () => 'sk_test_4vK9qLm2Xw7RtZ\n'],
  ['a key with a space', () => 'Bearer sk_test_4vK9qLm2Xw7RtZ'],
  ['a key that is not ASCII', () => 'sk_test_4vK9qLm2Xw7RtŽ'],
])('throws ConfigurationError and sends nothing if apiKey returns %s', async (_what, give) => {
  const service = await startService();
  const client = service.client({ apiKey: give as () => string });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(failure).toMatchObject({
    code: 'configuration_error',
    operation: 'chargeMobileMoney',
    outcome: 'not_sent',
    retryable: false,
  });
  expect(service.requests).toEqual([]);
});

test.each<[string, unknown, object | undefined]>([
  ['an error', new Error('the vault is sealed'), { name: 'Error', message: 'the vault is sealed' }],
  ['undefined', undefined, undefined],
  ['null', null, undefined],
  ['text', 'sealed', {}],
  ['a symbol', Symbol('sealed'), {}],
  ['an object that cannot be made text', Object.create(null), {}],
])('sends nothing if the apiKey function throws or rejects with %s', async (_, thrown, cause) => {
  const service = await startService();
  const throws = () => {
    throw thrown;
  };
  for (const apiKey of [throws, () => Promise.reject(thrown)]) {
    const failure = await catchError(service.client({ apiKey }).verify('TXN-8f2c61d0'));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation: 'verify', outcome: null, retryable: true });
    if (cause) expect(failure).toMatchObject({ cause });
  }
  expect(service.requests).toEqual([]);
});

test('uses no key that arrives after the timeout', async () => {
  const service = await startService();
  const late = Promise.withResolvers<string>();
  const client = service.client({ apiKey: () => late.promise, timeout: 30 });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(failure).toMatchObject({ operation: 'chargeMobileMoney', outcome: 'not_sent' });
  expect(String(failure)).toContain('no key within 30 ms');
  late.resolve('sk_live_late');
  await flushEventLoop();
  expect(service.requests).toEqual([]);
});

test('gives the request its whole timeout after a slow key', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const service = await startService((response) => {
    vi.advanceTimersByTime(20_000);
    sendJson(response, 200, successBodies.initialize());
  });
  const apiKey = async () => {
    vi.advanceTimersByTime(20_000);
    return 'sk_live_slow';
  };
  const client = service.client({ apiKey, timeout: 30_000 });
  expect(await client.initialize(payment)).toMatchObject({ reference: 'TXN-8f2c61d0' });
});

test('retries an apiKey function that fails, up to maxRetries', async () => {
  const { delays, onEvent } = skipRetryDelays();
  const service = await startService();
  let keyCalls = 0;
  const apiKey = () => {
    if (++keyCalls < 3) throw new Error('the vault is sealed');
    return 'sk_live_unsealed';
  };
  const client = service.client({ apiKey, onEvent, maxRetries: 2 });
  expect(await client.initialize(payment)).toMatchObject({ reference: 'TXN-8f2c61d0' });
  expect(delays).toHaveLength(2);
  expect(authorizations(service)).toEqual(['Bearer sk_live_unsealed']);
});

test("throws the apiKey function's own ConfigurationError, without the key", async () => {
  const service = await startService();
  const apiKey = () => {
    throw new ConfigurationError('No shop has the key sk_live_4vK9qLm2Xw7RtZ.');
  };
  const failure = await catchError(service.client({ apiKey }).initialize(payment));
  expect(failure).toMatchObject({ code: 'configuration_error', operation: 'initialize' });
  expect(String(failure)).toContain('No shop has the key ');
  expect(String(failure)).not.toContain('4vK9');
});
