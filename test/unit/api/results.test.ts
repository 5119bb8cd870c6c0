import { expect, test } from 'vitest';
import { type Transaction, transactionSchema, transactionStatuses } from '../../../src/index.ts';
import { expectFields } from '../../helpers/fields.ts';
import { charge, payment, sendJson, startService, successBodies } from '../../helpers/service.ts';

const REFERENCE = 'TXN-8f2c61d0';

/** Creates a client whose service responds to everything with the same body. */
async function createClientWith(body: unknown) {
  const service = await startService((response) => sendJson(response, 200, body));
  return service.client();
}

/** As text, because JavaScript drops some keys that JSON can hold. */
async function createClientWithText(text: string) {
  const service = await startService((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(text);
  });
  return service.client();
}

const verifyWith = async (data: object): Promise<Transaction> =>
  (await createClientWith(successBodies.verify(data))).verify(REFERENCE);

test('initialize returns the data, and nothing of the envelope', async () => {
  const client = await createClientWith({
    ...successBodies.initialize(),
    message: 'Created',
    meta: { version: 1 },
  });
  const started = await client.initialize(payment);
  expect(started).toStrictEqual({ ...successBodies.initialize().data, replayed: false });
  expect('status' in started).toBe(false);
});

test('verify returns the status of the payment, not of the envelope', async () => {
  const client = await createClientWith({
    ...successBodies.verify({ status: 'failed' }),
    message: 'Retrieved',
  });
  const transaction = await client.verify(REFERENCE);
  expect(transaction).toStrictEqual(successBodies.verify({ status: 'failed' }).data);
});

test("chargeMobileMoney returns the data and the envelope's message", async () => {
  const client = await createClientWith(successBodies.chargeMobileMoney());
  const { data, message } = successBodies.chargeMobileMoney();
  await expect(client.chargeMobileMoney(charge)).resolves.toStrictEqual({
    ...data,
    message,
    replayed: false,
  });
});

test.each([[{}], [{ message: null }], [{ message: 5 }], [{ message: { text: 'sent' } }]])(
  'returns an accepted charge whatever its message is: %j',
  async (message) => {
    const { status, data } = successBodies.chargeMobileMoney();
    const client = await createClientWith({ status, data, ...message });
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
    constructor: 'y',
  };
  const started = await (await createClientWith(successBodies.initialize(extra))).initialize(payment);
  expect(started).toEqual({ ...successBodies.initialize().data, ...extra, replayed: false });
  const charged = await (await createClientWith(successBodies.chargeMobileMoney(extra))).chargeMobileMoney(
    charge,
  );
  expect(charged).toMatchObject({ ...successBodies.chargeMobileMoney().data, ...extra });
  expect(await verifyWith(extra)).toEqual({ ...successBodies.verify().data, ...extra });
});

test.each(transactionStatuses)('reads a transaction that is %s', async (status) => {
  const transaction = await verifyWith({ status });
  expect(transaction.status).toBe(status);
  expect(transaction).not.toHaveProperty('raw_status');
});

test.each([
  'reversed',
  'SUCCESS',
  'Success',
  ' success',
  'paid',
  '',
  'unrecognised',
  'true',
  'toString',
  '__proto__',
])('reads the undocumented status %j as unrecognised, and keeps it', async (status) => {
  expect(await verifyWith({ status })).toMatchObject({ status: 'unrecognised', raw_status: status });
  const client = await createClientWith(successBodies.chargeMobileMoney({ status }));
  const charged = await client.chargeMobileMoney(charge);
  expect(charged).toMatchObject({ status: 'unrecognised', raw_status: status, reference: REFERENCE });
});

const withoutTime = successBodies.verify().data as Record<string, unknown>;

test.each([undefined, null, '', 0, 1795256100, true, [], {}, ['2026-11-21T10:15:00+00:00']])(
  'reads a success whose paid_at is %j with a paid_at of null',
  async (paid_at) => {
    const { paid_at: _, ...data } = withoutTime;
    const client = await createClientWith({
      status: true,
      data: paid_at === undefined ? data : { ...data, paid_at },
    });
    const transaction = await client.verify(REFERENCE);
    expect(transaction).toMatchObject({ status: 'success', paid_at: null });
  },
);

test('keeps the paid_at of the service, whatever the status', async () => {
  for (const status of [...transactionStatuses, 'reversed']) {
    for (const paid_at of ['2026-11-21T10:15:00+00:00', '21 Nov']) {
      expect(await verifyWith({ status, paid_at })).toHaveProperty('paid_at', paid_at);
    }
    expect(await verifyWith({ status, paid_at: null })).toHaveProperty('paid_at', null);
  }
});

test('keeps amount and currency of a response as they were written', async () => {
  const client = await createClientWith(successBodies.initialize({ amount: '25.5', currency: 'ghs' }));
  await expect(client.initialize(payment)).resolves.toMatchObject({ amount: '25.5', currency: 'ghs' });
});

test('reads __proto__ in a response as a field, and pollutes nothing', async () => {
  const proto = '"__proto__":{"status":"success","paid":true,"toString":"x"}';
  const envelope = (data: string) => `{${proto},"status":true,"data":{${proto},${data}}}`;
  const inner = (data: object) => JSON.stringify(data).slice(1, -1);
  const results = [
    await (await createClientWithText(envelope(inner(successBodies.initialize().data)))).initialize(payment),
    await (
      await createClientWithText(envelope(inner(successBodies.chargeMobileMoney().data)))
    ).chargeMobileMoney(charge),
    await (await createClientWithText(envelope(inner(successBodies.verify().data)))).verify(REFERENCE),
    await (
      await createClientWithText(envelope(inner(successBodies.verify({ status: 'reversed' }).data)))
    ).verify(REFERENCE),
  ];
  for (const result of results) {
    expectFields(result, JSON.parse(`{${proto}}`));
    expect(result).not.toHaveProperty('paid');
    expect(String(result)).toBe('[object Object]');
  }
  expect({}).not.toHaveProperty('paid');
});

test('reads the last of two JSON keys, in the result and its check', async () => {
  const data = JSON.stringify(successBodies.verify().data).replace(
    '{',
    '{"status":"failed","amount":"1.00",',
  );
  const client = await createClientWithText(`{"status":false,"status":true,"data":${data}}`);
  const expected = { amount: '25.50', currency: 'GHS' };
  await expect(client.verify(REFERENCE, { expect: expected })).resolves.toMatchObject({
    status: 'success',
    ...expected,
  });
});

test('returns a result that the exported schema parses again', async () => {
  for (const status of [...transactionStatuses, 'reversed']) {
    const transaction = await verifyWith({ status, fee: '0.25' });
    expect(transactionSchema.parse(JSON.parse(JSON.stringify(transaction)))).toEqual(transaction);
  }
});
