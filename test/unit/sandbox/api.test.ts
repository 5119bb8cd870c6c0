import { expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  ConnectionError,
  OutcomeUnknownError,
  PermissionError,
  RequestTimeoutError,
} from '../../../src/index.ts';
import { charge, payment, start } from './start.ts';

const own = { Request: globalThis.Request, Response: globalThis.Response };

test.each([
  ['pay', 'success'],
  ['fail', 'failed'],
  ['abandon', 'abandoned'],
])('the checkout button "%s" ends a wait with "%s"', async (outcome, status) => {
  const { payments, press, sandbox } = await start();
  const { reference, checkout_url } = await payments.initialize(payment);
  expect(checkout_url).toBe(`${sandbox.url}/checkout/${reference}`);

  const wait = payments.waitForFinalStatus(reference);
  await press(`/checkout/${reference}`, { outcome });
  await expect(wait).resolves.toMatchObject({ status, ...payment });
});

test('both keys start payments by checkout page, and no other key does', async () => {
  const { sandbox, client } = await start();
  for (const apiKey of [sandbox.testKey, sandbox.liveKey]) {
    await expect(client({ apiKey }).initialize(payment)).resolves.toMatchObject({ currency: 'GHS' });
  }
  const stranger = client({ apiKey: 'sk_test_stranger' });
  await expect(stranger.initialize(payment)).rejects.toBeInstanceOf(AuthenticationError);
});

test('the live key charges Mobile Money, and the test key does not: that works in live mode only', async () => {
  const { sandbox, client, payments } = await start();
  const withTestKey = client({ apiKey: sandbox.testKey });
  await expect(withTestKey.chargeMobileMoney(charge)).rejects.toBeInstanceOf(PermissionError);
  expect(sandbox.charges).toHaveLength(0);
  await expect(payments.chargeMobileMoney(charge)).resolves.toMatchObject({ status: 'processing' });
  expect(sandbox.charges).toHaveLength(1);
});

test('references differ from run to run, so that a shop never meets one that it knows', async () => {
  const first = await start();
  const second = await start();
  const one = await first.payments.initialize(payment);
  const other = await second.payments.initialize(payment);
  expect(one.reference).toMatch(/^TXN-[A-Z2-9]{10}$/);
  expect(one.reference).not.toBe(other.reference);
});

test('a connection that breaks is reset, at the socket', async () => {
  const { sandbox, client, payments } = await start();
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

test('an answer that is lost leaves the charge made', async () => {
  const { sandbox, payments } = await start();
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  await expect(payments.chargeMobileMoney(charge)).rejects.toBeInstanceOf(OutcomeUnknownError);
  expect(sandbox.charges).toHaveLength(1);
});

test('a charge that hangs is made while the client still waits', async () => {
  const { sandbox, payments } = await start();
  sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
  let ended = false;
  const call = payments
    .chargeMobileMoney(charge)
    .catch((error: unknown) => error)
    .finally(() => {
      ended = true;
    });
  await vi.waitFor(() => expect(sandbox.charges).toHaveLength(1), { timeout: 15_000 });
  expect(ended).toBe(false);
  await sandbox.close();
  expect(await call).toBeInstanceOf(OutcomeUnknownError);
  expect(sandbox.charges).toHaveLength(1);
});

test.each(['hang', 'slowBody'] as const)(
  'an answer that does not come whole runs into the timeout: %s',
  async (kind) => {
    const { sandbox, client, payments } = await start();
    const { reference } = await payments.initialize(payment);
    sandbox.fault('verify', { kind });
    await expect(client({ timeout: 200 }).verify(reference)).rejects.toBeInstanceOf(RequestTimeoutError);
  },
);

test('closing it ends a request that hangs', async () => {
  const { sandbox, payments } = await start();
  const { reference } = await payments.initialize(payment);
  sandbox.fault('verify', { kind: 'hang' });
  const hanging = payments.verify(reference).catch((error: unknown) => error);
  while (sandbox.requests.length < 2) await new Promise(setImmediate);
  await sandbox.close();
  expect(await hanging).toBeInstanceOf(ConnectionError);
});

test('the process that starts it keeps its own Request and Response', async () => {
  await start();
  expect(globalThis.Request).toBe(own.Request);
  expect(globalThis.Response).toBe(own.Response);
});

test('a body over 1 MiB is refused', async () => {
  const { sandbox } = await start();
  const { status } = await fetch(`${sandbox.baseUrl}/transactions/initialize`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...payment, amount: 25.5, more: 'x'.repeat(2 ** 20) }),
  });
  expect(status).toBe(413);
});

test('a test can move and judge it as it does the mock', async () => {
  const { sandbox, payments } = await start();
  sandbox.settleAfter('next', 30, 'success');
  const first = await payments.chargeMobileMoney(charge);
  await expect(payments.waitForFinalStatus(first.reference)).resolves.toMatchObject({ status: 'success' });
  await payments.chargeMobileMoney(charge);
  expect(() => sandbox.expectNoDoubleCharge()).toThrow('charged twice');
  sandbox.reset();
  expect(sandbox.transactions).toEqual([]);
});

test('a body whose length nobody has said is taken, and so is a form of a page', async () => {
  const { sandbox } = await start();
  // The types of a browser's fetch do not know it.
  const streamed = { duplex: 'half' };
  const stream = (text: string) => new Blob([text]).stream();
  const headers = { authorization: `Bearer ${sandbox.testKey}`, 'content-type': 'application/json' };
  const body = stream(JSON.stringify({ amount: 25.5, customer_email: 'ama@example.com' }));
  const url = `${sandbox.baseUrl}/transactions/initialize`;
  const answer = await fetch(url, { method: 'POST', headers, body, ...streamed });
  expect(answer.status).toBe(200);
  const { data } = await answer.json();

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
