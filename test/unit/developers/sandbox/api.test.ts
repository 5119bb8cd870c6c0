import { expect, test, vi } from 'vitest';
import { ConnectionError, RequestTimeoutError } from '../../../../src/index.ts';
import { charge, payment, startTestSandbox } from './start-sandbox.ts';

test('resets the socket for a broken connection, before or after it acts', async () => {
  const { sandbox, client, payments } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  sandbox.fault('verify', { kind: 'reset' }, { times: 2 });
  const headers = { authorization: `Bearer ${sandbox.liveKey}` };
  const error = await fetch(`${sandbox.baseUrl}/transactions/verify/${reference}`, { headers }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ cause: { code: 'ECONNRESET' } });
  await expect(client({ maxRetries: 1 }).verify(reference)).resolves.toMatchObject({ status: 'pending' });
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  const unknown = { outcome: 'unknown', cause: expect.any(ConnectionError) };
  await expect(payments.chargeMobileMoney(charge)).rejects.toMatchObject(unknown);
  expect(sandbox.charges).toHaveLength(1);
});

test('lets a client wait until its timeout, or until close()', async () => {
  const { sandbox, client, payments } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  for (const kind of ['hang', 'slowBody'] as const) {
    sandbox.fault('verify', { kind });
    await expect(client({ timeout: 200 }).verify(reference)).rejects.toBeInstanceOf(RequestTimeoutError);
  }
  sandbox.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
  const ended = vi.fn();
  const call = payments.chargeMobileMoney(charge);
  void call.catch(ended);
  await vi.waitFor(() => expect(sandbox.charges).toHaveLength(1));
  expect(ended).not.toHaveBeenCalled();
  await sandbox.close();
  await expect(call).rejects.toMatchObject({ outcome: 'unknown', cause: expect.any(ConnectionError) });
});

test('accepts bodies without a length, of the API and of pages', async () => {
  const { sandbox } = await startTestSandbox();
  const post = (url: string, type: string, text: string) => {
    const headers = { authorization: `Bearer ${sandbox.testKey}`, 'content-type': type, origin: sandbox.url };
    // The types of a browser's fetch do not have the option `duplex`.
    const streamed = { duplex: 'half', redirect: 'manual' } as const;
    return fetch(url, { method: 'POST', headers, body: new Blob([text]).stream(), ...streamed });
  };
  const body = JSON.stringify({ ...payment, amount: 25.5 });
  const response = await post(`${sandbox.baseUrl}/transactions/initialize`, 'application/json', body);
  expect(response.status).toBe(200);
  const { data } = await response.json();
  const page = `${sandbox.url}/checkout/${data.reference}`;
  expect((await post(page, 'application/x-www-form-urlencoded', 'outcome=pay')).status).toBe(303);
});
