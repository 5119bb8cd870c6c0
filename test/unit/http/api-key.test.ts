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

const authorizations = ({ requests }: Awaited<ReturnType<typeof startService>>) =>
  requests.map(({ headers }) => headers.authorization);

test.each([
  ['sync', (key: string) => key],
  ['async', async (key: string) => key],
])('calls a %s apiKey function for each request', async (_kind, give) => {
  const service = await startService();
  let keyCalls = 0;
  const client = service.client({ apiKey: () => give(`sk_live_rotated${++keyCalls}`) });
  expect(keyCalls).toBe(0);
  await client.initialize(payment);
  await client.verify('TXN-8f2c61d0');
  expect(authorizations(service)).toEqual(['Bearer sk_live_rotated1', 'Bearer sk_live_rotated2']);
});

test('calls the apiKey function again for each retry', async () => {
  const service = await startService(respondFirst(429));
  vi.spyOn(Math, 'random').mockReturnValue(0);
  let keyCalls = 0;
  const client = service.client({ apiKey: () => `sk_live_rotated${++keyCalls}`, maxRetries: 1 });
  await client.initialize(payment);
  expect(authorizations(service)).toEqual(['Bearer sk_live_rotated1', 'Bearer sk_live_rotated2']);
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

test.each<[string, () => string | Promise<string>]>([
  [
    'throws',
    () => {
      throw new Error('the vault is sealed');
    },
  ],
  ['rejects', () => Promise.reject(new Error('the vault is sealed'))],
])('throws ConfigurationError and sends nothing if the apiKey function %s', async (_how, apiKey) => {
  const service = await startService();
  const failure = await catchError(service.client({ apiKey }).verify('TXN-8f2c61d0'));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(failure).toMatchObject({
    operation: 'verify',
    outcome: null,
    retryable: true,
    cause: { name: 'Error', message: 'the vault is sealed' },
  });
  expect(service.requests).toEqual([]);
});

test.each([
  ['undefined', undefined],
  ['null', null],
  ['text', 'sealed'],
  ['a symbol', Symbol('sealed')],
  ['an object that cannot be made text', Object.create(null)],
])('throws ConfigurationError if the apiKey function throws %s', async (_what, thrown) => {
  const service = await startService();
  const apiKey = () => {
    throw thrown;
  };
  const failure = await catchError(service.client({ apiKey }).initialize(payment));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(service.requests).toEqual([]);
});

test('throws ConfigurationError if the apiKey function hangs', async () => {
  const service = await startService();
  const client = service.client({ apiKey: () => new Promise(() => {}), timeout: 30 });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(failure).toMatchObject({ operation: 'chargeMobileMoney', outcome: 'not_sent' });
  expect(String(failure)).toContain('no key within 30 ms');
  expect(service.requests).toEqual([]);
});

test('does not use a key that arrives after the timeout', async () => {
  const service = await startService();
  let give: (key: string) => void = () => {};
  const late = new Promise<string>((resolve) => {
    give = resolve;
  });
  await catchError(service.client({ apiKey: () => late, timeout: 30 }).initialize(payment));
  give('sk_live_late');
  await late;
  await new Promise((resolve) => setImmediate(resolve));
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

test("throws the apiKey function's own ConfigurationError", async () => {
  const service = await startService();
  const apiKey = () => {
    throw new ConfigurationError('No key for this shop.');
  };
  const failure = await catchError(service.client({ apiKey }).initialize(payment));
  expect(failure).toMatchObject({ message: 'No key for this shop.', operation: 'initialize' });
});
