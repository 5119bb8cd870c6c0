import { expect, test } from 'vitest';
import { isPaymentsError } from '../../../src/index.ts';
import { catchError } from '../../helpers/service.ts';
import {
  BASE_URL,
  connectionRefused,
  momo,
  type Process,
  page,
  type Respond,
  world,
} from '../../helpers/world.ts';

const unkeyed = { idempotencyKey: null };

const respondWith =
  (status: number, body = '{}'): Respond =>
  () =>
    new Response(body, { status });

// What a charge says to do after most statuses is in test/promises/errors.test.ts.
test.for([
  [400, 'correct', 'correct'],
  [402, 'correct', 'check'],
  [403, 'correct', 'correct'],
  [409, 'correct', 'check'],
  [422, 'correct', 'correct'],
  [425, 'correct', 'check'],
  [429, 'retry', 'check'],
  [302, 'review', 'check'],
  [499, 'review', 'check'],
] as const)('says what to do after a %i: charge %s, read %s', async ([status, afterCharge, afterRead]) => {
  const { payments } = world({ respond: respondWith(status) }).shop;
  const charging = payments.chargeMobileMoney(momo, unkeyed);
  expect(await catchError(charging)).toMatchObject({ nextStep: afterCharge });
  expect(await catchError(payments.verify('TXN-1'))).toMatchObject({ nextStep: afterRead });
});

test.for([
  ['without a connection', { respond: () => Promise.reject(connectionRefused) }],
  ['if the apiKey function fails', { client: { apiKey: () => Promise.reject(new Error('no vault')) } }],
] as const)('says to charge again, or to read later, %s', async ([, options]) => {
  await expectNotSent(world(options).shop);
});

test('says to charge again, or to read later, after close', async () => {
  const { shop } = world();
  const wait = shop.payments.waitForFinalStatus('TXN-1');
  void shop.payments.close();
  await expectNotSent(shop);
  expect(await catchError(wait)).toMatchObject({ code: 'closed', outcome: null, nextStep: 'check' });
});

async function expectNotSent({ payments }: Process): Promise<void> {
  const failure = await catchError(payments.chargeMobileMoney(momo, unkeyed));
  expect(failure).toMatchObject({ outcome: 'not_sent', nextStep: 'retry' });
  const reads = [payments.verify('TXN-1'), payments.check('TXN-1')];
  for (const reading of await Promise.all(reads.map(catchError)))
    expect(reading).toMatchObject({ outcome: null, nextStep: 'check' });
}

test('makes an error and its causes plain JSON', async () => {
  const body = { message: 'x'.repeat(600) };
  const { payments } = world({ respond: respondWith(503, JSON.stringify(body)) }).shop;
  const failure = await catchError(payments.chargeMobileMoney(momo, unkeyed));
  if (!isPaymentsError(failure)) throw failure;
  const json = failure.toJSON();
  expect(json).toStrictEqual(JSON.parse(JSON.stringify(failure)));
  expect(json).toMatchObject({
    name: 'OutcomeUnknownError',
    code: 'outcome_unknown',
    operation: 'chargeMobileMoney',
    outcome: 'unknown',
    retryable: false,
    nextStep: 'review',
    cause: { name: 'ServerError', code: 'server_error', status: 503, body },
  });
  for (const other of [new Error('x'), { code: 'closed' }, null, 'closed'])
    expect(isPaymentsError(other)).toBe(false);
});

test.for([
  ['', true],
  ['/shop', true],
  ['/api/v2', true],
  ['/api/v1/shop', true],
  ['/api/v1', false],
] as const)('names the baseUrl after a 404 if it ends with %j', async ([path, isNamed]) => {
  const baseUrl = BASE_URL.replace('/api/v1', path);
  const { payments } = world({ respond: respondWith(404), client: { baseUrl } }).shop;
  const calls = [
    payments.initialize(page),
    payments.chargeMobileMoney(momo, unkeyed),
    payments.verify('TXN-1'),
  ];
  for (const failure of await Promise.all(calls.map(catchError)))
    expect(String(failure).includes(`The baseUrl ${baseUrl} has no /api/v1 at its end`)).toBe(isNamed);
});

test('shortens a long baseUrl in the error of a 404', async () => {
  const baseUrl = `${BASE_URL}/${'shop/'.repeat(50)}end`;
  const { payments } = world({ respond: respondWith(404), client: { baseUrl } }).shop;
  const failure = String(await catchError(payments.verify('TXN-1')));
  expect(failure).toContain('shop/end has no /api/v1');
  expect(failure.length).toBeLessThan(220);
});

test('names another account or mode after a 404 of verify', async () => {
  const failure = await catchError(world().shop.payments.verify('TXN-1'));
  expect(failure).toMatchObject({
    outcome: null,
    message: expect.stringContaining('another account or mode?'),
  });
});
