import { expect, test } from 'vitest';
import { ClosedError, ConfigurationError, InvalidInputError, PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { API_KEY, catchError, startService } from '../../helpers/service.ts';

/** Every way to read, as a promise that fails as its first step does. */
const reads: [string, (client: PaymentsClient, reference: string, options: object) => Promise<unknown>][] = [
  ['verify', (client, reference, options) => client.verify(reference, options)],
  ['check', (client, reference, options) => client.check(reference, options)],
  ['waitForFinalStatus', (client, reference, options) => client.waitForFinalStatus(reference, options)],
  ['watch', async (client, reference, options) => client.watch(reference, options).next()],
  ['reconcile', (client, reference, options) => reconcileOne(client, reference, options)],
];

async function reconcileOne(client: PaymentsClient, reference: string, options: object) {
  const { value } = await client.reconcile([reference], options).next();
  if (value?.error) throw value.error;
}

const odd: object[] = [
  { timeout: -1 },
  { timeout: '5' },
  { headers: { authorization: 'x' } },
  { headers: 'x' },
  { signal: 5 },
  { misspelt: 1 },
  new (class Options {})(),
];

test.each(reads)('%s has no outcome for a wrong option, input or closed client', async (_, read) => {
  const service = await startService();
  const client = service.client();
  for (const options of odd) {
    const failure = await catchError(read(client, REFERENCE, options));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation: 'verify', outcome: null });
  }
  for (const reference of ['', 'TXN-a/b', 'order-17']) {
    const failure = await catchError(read(client, reference, {}));
    expect(failure).toBeInstanceOf(InvalidInputError);
    expect(failure).toMatchObject({ operation: 'verify', outcome: null });
  }
  client.close();
  const failure = await catchError(read(client, REFERENCE, {}));
  expect(failure).toBeInstanceOf(ClosedError);
  expect(failure).toMatchObject({ operation: 'verify', outcome: null });
  expect(service.requests).toEqual([]);
});

test.each(reads.slice(0, 2))('%s has no outcome if the apiKey function fails', async (_, read) => {
  const service = await startService();
  const client = service.client({ apiKey: () => '' });
  const failure = await catchError(read(client, REFERENCE, {}));
  expect(failure).toMatchObject({ name: 'ConfigurationError', outcome: null });
  expect(service.requests).toEqual([]);
});

test.each([5, 'text', null])('reconcile has no outcome for references that are %j', (references) => {
  const client = new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example' });
  const call = () => Reflect.apply(client.reconcile, client, [references]);
  expect(call).toThrow(expect.objectContaining({ operation: 'verify', outcome: null }));
});

test('has the outcome not_sent if the client cannot be made', () => {
  const made = () => new PaymentsClient({ apiKey: API_KEY, baseUrl: 'http://payments.example' });
  expect(made).toThrow(expect.objectContaining({ outcome: 'not_sent' }));
});
