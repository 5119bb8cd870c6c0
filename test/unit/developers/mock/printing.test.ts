import { describe, expect, test } from 'vitest';
import { createMerchantProject, runCode } from '../../../helpers/installed-package.ts';

/** Starts the other hosts, and the client of a mock. Each program says with `done` that it ran to its end. */
const PRELUDE = `
  import { createServer } from 'node:http';
  import { PaymentsClient } from 'payment-collection-client';
  import { createMockPayments } from 'payment-collection-client/testing';
  const mock = createMockPayments();
  const { baseUrl, apiKey } = mock;
  const payments = new PaymentsClient({ baseUrl, apiKey, maxRetries: 0 });
  const charge = { amount: 5, customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' };
  const body = JSON.stringify(charge);
  const headers = { authorization: 'Bearer ' + apiKey, 'content-type': 'application/json' };
  const post = (url, more) => fetch(url, { method: 'POST', headers, body, ...more }).then((response) => response.text(), () => {});
  const other = createServer((request, response) => request.resume().on('end', () => response.end('other')));
  await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
  const otherHost = 'http://127.0.0.1:' + other.address().port;
  const finish = () => { other.closeAllConnections(); other.close(); console.log('done'); };`;

/** Requests for the mock's host that go well, are refused, break, are cut off, and meet a mistake of the test. */
const USE_MOCK = `
  const accepted = await payments.chargeMobileMoney(charge);
  await payments.verify(accepted.reference);
  const faults = [
    { kind: 'status', status: 502, body: 'html', accepted: true }, { kind: 'status', status: 422 },
    { kind: 'rateLimited' }, { kind: 'reset' }, { kind: 'responseLost' }, { kind: 'hang', accepted: true },
    { kind: 'slowBody' }, { kind: 'truncated' }, { kind: 'wrongAmount', amount: '2.55' },
    { kind: 'wrongCurrency', currency: 'USD' }, { kind: 'wrongReference', reference: '17' },
    { kind: 'unrecognisedStatus' }, { kind: 'lateApproval', after: 5 },
  ];
  for (const fault of faults) {
    mock.fault('chargeMobileMoney', fault);
    const isSilent = fault.kind === 'hang' || fault.kind === 'slowBody';
    await payments.chargeMobileMoney(charge, isSilent ? { timeout: 200 } : {}).catch(() => {});
  }
  const path = baseUrl + '/transactions/charge-mobile-money';
  await post(path, { body: body.slice(1) });
  await post(path, { headers: { ...headers, authorization: 'Bearer sk_live_wrong' } });
  await post(path + '?phone=0244123456', { body: 'phone=0244123456', headers: {} });
  await post(path, { signal: AbortSignal.timeout(0) });
  await post(new URL('/elsewhere?email=ama@example.com', baseUrl));
  const changed = { kind: 'reset' };
  mock.fault('chargeMobileMoney', changed);
  changed.kind = 'unknown';
  await post(path + '?phone=0244123456');
  await new Promise((resolve) => setTimeout(resolve, 200));`;

const USE_OTHER_HOST = `
  if ((await post(otherHost + '/sms?to=0244123456')) !== 'other') throw new Error('the other host was not reached');`;

/** Runs a program in a merchant's project, and returns what its process printed. */
async function print(code: string, msw?: string): Promise<string> {
  const project = await createMerchantProject(...(msw ? [['msw', `node_modules/${msw}`] as const] : []));
  const { stdout, stderr } = await runCode(project, 'module', `${PRELUDE} ${code} finish();`);
  return [stdout, stderr].filter((text) => text !== '').join('\n');
}

test('nothing is printed while the mock listens, whatever is sent', async () => {
  expect(await print(`mock.listen(); ${USE_MOCK} ${USE_OTHER_HOST} mock.close();`)).toBe('done');
});

describe.each(['msw', 'msw-2'])("with a merchant's own server of %s", (msw) => {
  /** Runs `use` while a server of MSW listens. */
  const withServer = (handlers: string, options: string, use: string) =>
    `{ const { http } = await import('msw');
       const { setupServer } = await import('msw/node');
       const server = setupServer(${handlers});
       server.listen(${options});
       ${use}
       server.close(); }`;
  const bypass = "{ onUnhandledRequest: 'bypass', onUnhandledFrame: 'bypass' }";

  test('nothing is printed about the host of the mock, or another one with bypass', async () => {
    const handled = withServer('...mock.handlers', '', USE_MOCK);
    const bypassed = withServer('...mock.handlers', bypass, USE_OTHER_HOST);
    const beside = withServer('', bypass, `mock.listen(); ${USE_MOCK} ${USE_OTHER_HOST} mock.close();`);
    const after = withServer('', '', `mock.listen(); ${USE_MOCK} mock.close();`);
    expect(await print(handled + bypassed + beside + after, msw)).toBe('done');
  });
});
