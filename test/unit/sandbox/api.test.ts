import { expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  ConnectionError,
  OutcomeUnknownError,
  PermissionError,
  RequestTimeoutError,
} from '../../../src/index.ts';
import { charge, payment, startTestSandbox } from './start-sandbox.ts';

const originals = { Request: globalThis.Request, Response: globalThis.Response };

test.each([
  ['pay', 'success'],
  ['fail', 'failed'],
  ['abandon', 'abandoned'],
])('the checkout button "%s" ends a wait with "%s"', async (outcome, status) => {
  const { payments, press, sandbox } = await startTestSandbox();
  const { reference, checkout_url } = await payments.initialize(payment);
  expect(checkout_url).toBe(`${sandbox.url}/checkout/${reference}`);

  const wait = payments.waitForFinalStatus(reference);
  await press(`/checkout/${reference}`, { outcome });
  await expect(wait).resolves.toMatchObject({ status, ...payment });
});

test('accepts both of its keys for a checkout payment, and no other', async () => {
  const { sandbox, client } = await startTestSandbox();
  for (const apiKey of [sandbox.testKey, sandbox.liveKey]) {
    await expect(client({ apiKey }).initialize(payment)).resolves.toMatchObject({ currency: 'GHS' });
  }
  const stranger = client({ apiKey: 'sk_test_stranger' });
  await expect(stranger.initialize(payment)).rejects.toBeInstanceOf(AuthenticationError);
});

test('charges Mobile Money with the live key only', async () => {
  const { sandbox, client, payments } = await startTestSandbox();
  const withTestKey = client({ apiKey: sandbox.testKey });
  await expect(withTestKey.chargeMobileMoney(charge)).rejects.toBeInstanceOf(PermissionError);
  expect(sandbox.charges).toHaveLength(0);
  await expect(payments.chargeMobileMoney(charge)).resolves.toMatchObject({ status: 'processing' });
  expect(sandbox.charges).toHaveLength(1);
});

test('creates other references in each run', async () => {
  const first = await startTestSandbox();
  const second = await startTestSandbox();
  const one = await first.payments.initialize(payment);
  const other = await second.payments.initialize(payment);
  expect(one.reference).toMatch(/^TXN-[A-Z2-9]{10}$/);
  expect(one.reference).not.toBe(other.reference);
});

test('resets the socket for a broken connection', async () => {
  const { sandbox, client, payments } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  sandbox.fault('verify', { kind: 'reset' });
  const error = await fetch(`${sandbox.baseUrl}/transactions/verify/${reference}`, {
    headers: { authorization: `Bearer ${sandbox.liveKey}` },
  }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ cause: { code: 'ECONNRESET' } });

  sandbox.fault('verify', { kind: 'reset' });
  await expect(client().verify(reference)).rejects.toBeInstanceOf(ConnectionError);
  await expect(client({ maxRetries: 1 }).verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

test('charges although the response is lost', async () => {
  const { sandbox, payments } = await startTestSandbox();
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  await expect(payments.chargeMobileMoney(charge)).rejects.toBeInstanceOf(OutcomeUnknownError);
  expect(sandbox.charges).toHaveLength(1);
});

test('charges while a hanging client still waits, until close()', async () => {
  const { sandbox, payments } = await startTestSandbox();
  sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
  let ended = false;
  const call = payments
    .chargeMobileMoney(charge)
    .catch((error: unknown) => error)
    .finally(() => {
      ended = true;
    });
  await vi.waitFor(() => expect(sandbox.charges).toHaveLength(1));
  expect(ended).toBe(false);
  await sandbox.close();
  expect(await call).toMatchObject({ outcome: 'unknown', cause: expect.any(ConnectionError) });
  expect(sandbox.charges).toHaveLength(1);
});

test.each(['hang', 'slowBody'] as const)(
  'times out if a response is not complete in time: %s',
  async (kind) => {
    const { sandbox, client, payments } = await startTestSandbox();
    const { reference } = await payments.initialize(payment);
    sandbox.fault('verify', { kind });
    await expect(client({ timeout: 200 }).verify(reference)).rejects.toBeInstanceOf(RequestTimeoutError);
  },
);

test('leaves Request and Response of its process unchanged', async () => {
  await startTestSandbox();
  expect(globalThis.Request).toBe(originals.Request);
  expect(globalThis.Response).toBe(originals.Response);
});

test('has the controls of the mock', async () => {
  const { sandbox, payments } = await startTestSandbox();
  sandbox.settleAfter('next', 30, 'success');
  const first = await payments.chargeMobileMoney(charge);
  await expect(payments.waitForFinalStatus(first.reference)).resolves.toMatchObject({ status: 'success' });
  await payments.chargeMobileMoney(charge);
  expect(() => sandbox.expectNoDoubleCharge()).toThrow('charged twice');
  sandbox.reset();
  expect(sandbox.transactions).toEqual([]);
});

test('accepts bodies without a length, of the API and of pages', async () => {
  const { sandbox } = await startTestSandbox();
  // The types of a browser's fetch do not have this option.
  const streamed = { duplex: 'half' };
  const stream = (text: string) => new Blob([text]).stream();
  const headers = { authorization: `Bearer ${sandbox.testKey}`, 'content-type': 'application/json' };
  const body = stream(JSON.stringify({ amount: 25.5, customer_email: 'ama@example.com' }));
  const url = `${sandbox.baseUrl}/transactions/initialize`;
  const response = await fetch(url, { method: 'POST', headers, body, ...streamed });
  expect(response.status).toBe(200);
  const { data } = await response.json();

  const page = `${sandbox.url}/checkout/${data.reference}`;
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin: sandbox.url };
  const pressed = await fetch(page, {
    method: 'POST',
    headers: form,
    body: stream('outcome=pay'),
    ...streamed,
    redirect: 'manual',
  });
  expect(pressed.status).toBeLessThan(400);
});
