import { expect, test } from 'vitest';
import {
  type OperationName,
  type PaymentsClient,
  type Transaction,
  transactionSchema,
  transactionStatuses,
} from '../../../src/index.ts';
import { calls, operationNames, REFERENCE } from '../../helpers/calls.ts';
import { catchError, charge, payment, successBodies } from '../../helpers/service.ts';
import { world } from '../../helpers/world.ts';

/** Creates a client whose service responds to everything with the same body. */
function createClientWith(body: unknown): PaymentsClient {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return world({ respond: () => new Response(text), client: { journal: undefined } }).shop.payments;
}

const verifyWith = async (data: object): Promise<Transaction> =>
  createClientWith(successBodies.verify(data)).verify(REFERENCE);

test('returns the data, and of the envelope only the message of a charge', async () => {
  const extra = { message: 'Sent', meta: { version: 1 } };
  const whole = (operation: OperationName, data = {}) =>
    createClientWith({ ...successBodies[operation](data), ...extra });
  const started = await whole('initialize').initialize(payment);
  expect(started).toStrictEqual({ ...successBodies.initialize().data, replayed: false });
  const charged = await whole('chargeMobileMoney').chargeMobileMoney(charge);
  const { data } = successBodies.chargeMobileMoney();
  expect(charged).toStrictEqual({ ...data, message: 'Sent', replayed: false });
  const failed = await whole('verify', { status: 'failed' }).verify(REFERENCE);
  expect(failed).toStrictEqual(successBodies.verify({ status: 'failed' }).data);
});

test.each([
  ['25.5', '25.50'],
  ['0.29', '0.29'],
  ['2.55e1', '25.50'],
  ['70368744177664', '70368744177664.00'],
  ['"25.5"', '25.50'],
  ['"25.5000"', '25.50'],
  ['"025.5"', '25.50'],
  ['"00"', '0.00'],
])('reads the amount %s of JSON as %s', async (written, amount) => {
  const body = JSON.stringify(successBodies.verify()).replace('"25.50"', written);
  await expect(createClientWith(body).verify(REFERENCE)).resolves.toMatchObject({ amount });
  const charged = JSON.stringify(successBodies.chargeMobileMoney()).replace('"25.50"', written);
  const result = createClientWith(charged).chargeMobileMoney({ ...charge, amount });
  if (Number(amount) >= 1) await expect(result).resolves.toMatchObject({ amount });
  else await catchError(result);
});

test.each([[{}], [{ message: null }], [{ message: 5 }], [{ message: { text: 'sent' } }]])(
  'returns an accepted charge whatever its message is: %j',
  async (message) => {
    const { status, data } = successBodies.chargeMobileMoney();
    const client = createClientWith({ status, data, ...message });
    await expect(client.chargeMobileMoney(charge)).resolves.toStrictEqual({
      ...data,
      message: '',
      replayed: false,
    });
  },
);

test('keeps undocumented fields on every result', async () => {
  const extra = {
    fee: '0.25',
    channel: null,
    customer: { name: 'Ama', tags: [1, [2]] },
    raw_status: 'x',
    replayed: true,
    constructor: 'y',
  };
  const started = await createClientWith(successBodies.initialize(extra)).initialize(payment);
  expect(started).toEqual({ ...successBodies.initialize().data, ...extra, replayed: false });
  const charged = await createClientWith(successBodies.chargeMobileMoney(extra)).chargeMobileMoney(charge);
  expect(charged).toMatchObject({ ...successBodies.chargeMobileMoney().data, ...extra, replayed: false });
  expect(await verifyWith(extra)).toEqual({ ...successBodies.verify().data, ...extra });
});

test.each(['reversed', 'SUCCESS', ' success', '', 'unrecognised', 'toString', '__proto__'])(
  'reads the undocumented status %j as unrecognised, and keeps it',
  async (status) => {
    expect(await verifyWith({ status })).toMatchObject({ status: 'unrecognised', raw_status: status });
    const client = createClientWith(successBodies.chargeMobileMoney({ status }));
    const charged = await client.chargeMobileMoney(charge);
    expect(charged).toMatchObject({ status: 'unrecognised', raw_status: status, reference: REFERENCE });
  },
);

const withoutTime = successBodies.verify().data as Record<string, unknown>;

test.each([undefined, null, '', 0, 1795256100, true, [], {}, ['2026-11-21T10:15:00+00:00']])(
  'reads a success whose paid_at is %j with a paid_at of null',
  async (paid_at) => {
    const { paid_at: _, ...data } = withoutTime;
    const client = createClientWith({
      status: true,
      data: paid_at === undefined ? data : { ...data, paid_at },
    });
    const transaction = await client.verify(REFERENCE);
    expect(transaction).toMatchObject({ status: 'success', paid_at: null });
  },
);

test.each([
  '2026-11-21T10:15:00+00:00',
  '2026-11-21T10:15:00Z',
  '2026-11-21T10:15Z',
  '2026-11-21T10:15:00.123456-05:30',
  '2028-02-29T23:59:59+0100',
  '2026-11-21T10:15:00+01',
])('keeps the paid_at %s, whatever the status', async (paid_at) => {
  for (const status of [...transactionStatuses, 'reversed'])
    expect(await verifyWith({ status, paid_at })).toHaveProperty('paid_at', paid_at);
});

test.each([
  'yesterday',
  '21 Nov',
  '2026-11-21',
  '2026-11-21T10:15:00',
  '2026-11-21 10:15:00+00:00',
  '2026-02-30T10:15:00Z',
  '2026-11-21T25:15:00Z',
  ' 2026-11-21T10:15:00Z',
])('reads the paid_at %s, which is no ISO 8601 time, as null', async (paid_at) => {
  expect(await verifyWith({ paid_at })).toMatchObject({ status: 'success', paid_at: null });
});

test.each(['25.505', '25.001', '25.', '.5', '-25.50', '25,50', '2e1', ''])(
  'reads no response with the amount %j: a digit would be lost',
  async (amount) => {
    const failure = await catchError(verifyWith({ amount }));
    expect(failure).toMatchObject({ code: 'unexpected_response' });
    const client = createClientWith(successBodies.chargeMobileMoney({ amount }));
    expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({ outcome: 'unknown' });
  },
);

const page = `https://pay.example/checkout/${REFERENCE}`;

test.each([page, `${page}/`, `${page}?lang=en`, `${page}#top`, `http://127.0.0.1:4010/${REFERENCE}?a=/b`])(
  'sends the customer to %s',
  async (checkout_url) => {
    const client = createClientWith(successBodies.initialize({ checkout_url }));
    expect(await client.initialize(payment)).toMatchObject({ checkout_url });
  },
);

test.each([
  'https://pay.example',
  'https://pay.example/checkout',
  `https://${REFERENCE}`,
  'https://pay.example/checkout/TXN-other',
  `${page}1`,
  page.toUpperCase(),
  `${page}/pay`,
  `${page}/..`,
  `https://pay.example/other?${REFERENCE}`,
  `https://pay.example/other?to=/${REFERENCE}`,
  `https://pay.example/other\\${REFERENCE}`,
  `https:/${REFERENCE}`,
  ` ${page}`,
  page.replace('TXN-', 'TXN%2D'),
])('never sends the customer to %s', async (checkout_url) => {
  const client = createClientWith(successBodies.initialize({ checkout_url }));
  const failure = await catchError(client.initialize(payment));
  expect(failure).toMatchObject({
    code: 'transaction_mismatch',
    outcome: 'unknown',
    nextStep: 'review',
    reference: REFERENCE,
    mismatches: [{ field: 'checkout_url', expected: REFERENCE }],
  });
});

test('shows no email of a checkout address in a mismatch', async () => {
  const checkout_url = `https://pay.example/${encodeURIComponent(payment.customer_email)}`;
  const client = createClientWith(successBodies.initialize({ checkout_url }));
  const failure = await catchError(client.initialize(payment));
  expect(failure).toMatchObject({ mismatches: [{ field: 'checkout_url', actual: '[REDACTED]' }] });
  expect(JSON.stringify(failure)).not.toContain('ama');
});

test('drops __proto__ from each result', async () => {
  for (const operation of operationNames) {
    const body = JSON.stringify(successBodies[operation]());
    const text = body.replace('"data":{', '"data":{"__proto__":{"paid":true},"toString":1,');
    const result = await calls[operation](createClientWith(text));
    expect(Object.keys(Object(result))).not.toContain('__proto__');
    expect(result).toMatchObject({ reference: REFERENCE, toString: 1 });
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(result).not.toHaveProperty('paid');
  }
});

test('reads the last of two JSON keys, in the result and its check', async () => {
  const data = JSON.stringify(successBodies.verify().data).replace(
    '{',
    '{"status":"failed","amount":"1.00",',
  );
  const client = createClientWith(`{"status":false,"status":true,"data":${data}}`);
  const expected = { amount: '25.50', currency: 'GHS' };
  await expect(client.verify(REFERENCE, { expect: expected })).resolves.toMatchObject({
    status: 'success',
    ...expected,
  });
});

test.each(transactionStatuses)('reads no documented status %s out of another field', async (status) => {
  const transaction = await verifyWith({ status: 'unrecognised', raw_status: status });
  expect(transaction).toMatchObject({ status: 'unrecognised', raw_status: 'unrecognised' });
});

test('returns a result that the exported schema parses again', async () => {
  for (const status of [...transactionStatuses, 'reversed']) {
    const transaction = await verifyWith({ status, fee: '0.25' });
    expect(transactionSchema.parse(JSON.parse(JSON.stringify(transaction)))).toEqual(transaction);
    const known = status === 'reversed' ? { status: 'unrecognised', raw_status: status } : { status };
    expect(transaction).toEqual({ ...successBodies.verify({ fee: '0.25' }).data, ...known });
  }
});

const { customer_email: _, ...others } = successBodies.verify().data;

test.each([
  ['no customer_email', {}],
  ['null', { customer_email: null }],
  ['an empty one', { customer_email: '' }],
  ['a number', { customer_email: 5 }],
])('reads %s as a customer_email of null', async (_, field) => {
  const data = { ...others, ...field };
  const client = createClientWith({ status: true, data });
  const paid = { reference: REFERENCE, status: 'success', customer_email: null };
  expect(await client.verify(REFERENCE)).toMatchObject(paid);
  expect(await client.check(REFERENCE)).toMatchObject({ final: true, transaction: paid });
  expect(await client.waitForFinalStatus(REFERENCE)).toMatchObject(paid);
});
