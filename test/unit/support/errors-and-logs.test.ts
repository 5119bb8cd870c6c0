import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { CLOSED_PORT, createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import {
  API_KEY,
  catchError,
  charge,
  EMAIL,
  PHONE,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const secrets = { key: API_KEY, phone: PHONE, email: EMAIL };
const baseUrl = 'https://payments.example/api/v1';

describe('the client shows no key', () => {
  test.each<[string, PaymentsClientOptions]>([
    ['given as text', { apiKey: API_KEY }],
    ['given by a function', { apiKey: () => API_KEY }],
    [
      'with every option',
      { apiKey: API_KEY, headers: { 'x-shop': 'accra' }, logger: console, onEvent: () => {} },
    ],
  ])('%s', (_how, options) => {
    const client = new PaymentsClient({ baseUrl, ...options });
    expectNoSecrets(client, secrets);
    expectNoSecrets({ nested: [client] }, secrets);
    expect(inspect(client)).toContain('PaymentsClient');
  });

  test('before, during and after calls and waits', async () => {
    const arrived = Promise.withResolvers<void>();
    const service = await startRawService((_socket, count) => {
      if (count === 2) arrived.resolve();
    });
    const client = service.client();
    const call = catchError(client.chargeMobileMoney(charge));
    const wait = catchError(client.waitForFinalStatus(REFERENCE, { headers: { 'x-phone': PHONE } }));
    await arrived.promise;
    expectNoSecrets(client, secrets);
    client.close();
    await wait;
    expectNoSecrets(client, secrets);
    service.end();
    expectNoSecrets([client, await call, await wait], secrets);
  });

  test('in a promise of it or in a generator', async () => {
    const client = createClientFor(`http://127.0.0.1:${CLOSED_PORT}`)();
    const call = client.chargeMobileMoney(charge);
    expectNoSecrets(call, secrets);
    expectNoSecrets(client.watch(REFERENCE), secrets);
    expectNoSecrets(await catchError(call), secrets);
  });
});

test.each<[string, unknown]>([
  ['in its message', new Error(`The key ${API_KEY} has expired.`)],
  ['that is not of a known shape', new Error('No access with "9f86d081884c7d659a2feaa0c55ad015".')],
  ['in a cause', new Error('failed', { cause: new Error('inner', { cause: new Error(API_KEY) }) })],
  ['in its code and its name', Object.assign(new Error('x'), { code: API_KEY, name: API_KEY })],
  ['in a property', Object.assign(new Error('x'), { request: { headers: { authorization: API_KEY } } })],
  ['as text', `Bearer ${API_KEY}`],
  ['as an object', { key: API_KEY }],
])('redacts an error of apiKey with the key %s', async (_where, thrown) => {
  const reported: unknown[] = [];
  const apiKey = () => Promise.reject(thrown);
  const client = createClientFor(baseUrl)({ apiKey, onEvent: (event) => reported.push(event) });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'ConfigurationError', outcome: 'not_sent' });
  expectNoSecrets([failure, reported], secrets);
  expectNoSecrets(failure, { key: '9f86d081884c7d659a2feaa0c55ad015' });
});

test.each<[string, unknown]>([
  ['in its message', new TypeError(`Headers.append: "Bearer ${API_KEY}" for ${PHONE}, ${EMAIL}`)],
  ['in a cause', new TypeError('fetch failed', { cause: new Error(`${API_KEY} ${PHONE} ${EMAIL}`) })],
  ['in its code', Object.assign(new Error('x'), { code: API_KEY, errno: PHONE })],
  [
    'in a property',
    Object.assign(new Error('x'), { request: { headers: { authorization: API_KEY }, phone: PHONE } }),
  ],
  ['in its members', new AggregateError([new Error(API_KEY), new Error(`${PHONE} ${EMAIL}`)])],
  ['as text', `${API_KEY} ${PHONE} ${EMAIL}`],
  ['as an object', { key: API_KEY, phone: PHONE }],
])('redacts an error of fetch that holds the request %s', async (_where, thrown) => {
  const reported: unknown[] = [];
  const client = createClientFor(baseUrl)({
    fetch: () => Promise.reject(thrown),
    onEvent: (event) => reported.push(event),
    logger: {
      debug: (line) => reported.push(line),
      info: () => {},
      warn: (line) => reported.push(line),
      error: () => {},
    },
  });
  const onCharge = await catchError(client.chargeMobileMoney(charge));
  const onVerify = await catchError(client.verify(REFERENCE));
  expect(onCharge).toMatchObject({ name: 'OutcomeUnknownError', cause: { name: 'ConnectionError' } });
  expectNoSecrets([onCharge, reported], secrets);
  expectNoSecrets(onVerify, { key: API_KEY, email: EMAIL });
});

test('shows no beginning of a number in the middle of a long error', async () => {
  for (const before of [1_992, 3_992]) {
    const thrown = new Error(`${'x '.repeat(before / 2)}${PHONE} and more`);
    const client = createClientFor(baseUrl)({ fetch: () => Promise.reject(thrown) });
    const failure = await catchError(client.chargeMobileMoney(charge));
    expect(inspect(failure, { depth: 9, maxStringLength: null })).not.toContain(PHONE.slice(0, 5));
  }
});

test('shows nothing after a refusal, a reset, a timeout or an abort', async () => {
  const refused = createClientFor(`http://127.0.0.1:${CLOSED_PORT}`)();
  const reset = await startRawService((socket) => socket.resetAndDestroy());
  const silent = await startRawService(() => {});
  const clients = [refused, reset.client(), silent.client({ timeout: 20 }), silent.client()];
  for (const client of clients) {
    const signal = AbortSignal.timeout(client === clients[3] ? 20 : 20_000);
    expectNoSecrets(await catchError(client.chargeMobileMoney(charge, { signal })), secrets);
  }
});

test('InvalidInputError does not repeat the input', async () => {
  const client = createClientFor(baseUrl)();
  for (const wrong of [
    { phone: `${PHONE}\n` },
    { phone: { number: PHONE } },
    { customer_email: `${EMAIL} ` },
    { customer_email: [EMAIL] },
    { amount: Number(PHONE.replaceAll(' ', '')) * 1e9 },
    { network: API_KEY },
    { currency: API_KEY },
  ]) {
    const failure = await catchError(client.chargeMobileMoney({ ...charge, ...(wrong as object) }));
    expect(failure).toMatchObject({ name: 'InvalidInputError' });
    expectNoSecrets(failure, secrets);
  }
  expectNoSecrets(await catchError(client.verify(`TXN-${API_KEY}/`)), secrets);
});

test('leaves a result as the service returned it', async () => {
  const service = await startService(200, successBodies.verify({ phone: PHONE }));
  expect(await service.client().verify(REFERENCE)).toMatchObject({ customer_email: EMAIL, phone: PHONE });
});
