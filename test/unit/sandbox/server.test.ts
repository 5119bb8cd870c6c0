import { request } from 'node:http';
import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { SandboxError, startSandbox } from '../../../src/sandbox/index.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { createClientFor } from '../../helpers/raw-service.ts';
import { payment, startTestSandbox } from './start-sandbox.ts';

test.each(['0.0.0.0', '::', '192.168.1.5', 'example.com', '127.0.0.1.example.com'])(
  'refuses to listen on %s, which other machines can reach',
  async (host) => {
    const refused = startSandbox({ host });
    await expect(refused).rejects.toBeInstanceOf(SandboxError);
    await expect(refused).rejects.toThrow(`${host} is not a loopback address`);
  },
);

test.each(['127.0.0.1', 'localhost', '127.0.0.2'])('listens on the loopback host %s', async (host) => {
  const { sandbox, payments } = await startTestSandbox({ host });
  expect(sandbox.baseUrl).toMatch(new RegExp(`^http://${host}:\\d+/api/v1$`));
  await expect(payments.initialize(payment)).resolves.toMatchObject({ amount: '25.50' });
});

test('listens where other machines can reach it, with allowRemote', async () => {
  const { sandbox } = await startTestSandbox({ host: '0.0.0.0', allowRemote: true });
  expect(sandbox.url).toMatch(/^http:\/\/localhost:\d+$/);
  expect((await fetch(sandbox.url)).status).toBe(200);
});

/** Sends a request under another name, as one container does to another. Returns its status and the text. */
function requestAs(host: string, url: string, headers: Record<string, string> = {}, body?: string) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const outgoing = request(url, { method, headers: { host, ...headers } }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode, text });
    });
    outgoing.once('error', reject).end(body);
  });
}

test('accepts the names of allowHosts, and no others', async () => {
  const { sandbox } = await startTestSandbox({ allowHosts: ['sandbox', 'Pay.Shop.Test'] });
  for (const host of ['sandbox', 'sandbox:4010', 'SANDBOX:4010', 'pay.shop.test', 'localhost:1']) {
    expect(await requestAs(host, sandbox.url)).toMatchObject({ status: 200 });
  }
  for (const host of ['evil.example', 'sandbox.evil.example', 'other-sandbox', 'shop.test']) {
    const refused = await requestAs(host, sandbox.url);
    expect(refused).toEqual({
      status: 421,
      text: `This sandbox does not accept the name ${host}. To allow it: --allow-host ${host}`,
    });
  }
});

test('answers the API under a name of allowHosts, and takes its forms', async () => {
  const { sandbox, payments } = await startTestSandbox({ allowHosts: ['sandbox'] });
  const { reference } = await payments.initialize(payment);
  const headers = { authorization: `Bearer ${sandbox.liveKey}` };
  const verify = await requestAs(
    'sandbox:4010',
    `${sandbox.baseUrl}/transactions/verify/${reference}`,
    headers,
  );
  expect(JSON.parse(verify.text)).toMatchObject({ data: { reference, status: 'pending' } });

  const press = (origin: string) => {
    const form = { origin, 'content-type': 'application/x-www-form-urlencoded' };
    return requestAs('sandbox:4010', `${sandbox.url}/checkout/${reference}`, form, 'outcome=pay');
  };
  expect(await press('http://evil.example')).toMatchObject({ status: 403 });
  expect(sandbox.transactions).toMatchObject([{ status: 'pending' }]);
  expect(await press('http://sandbox:4010')).toMatchObject({ status: 303 });
  expect(sandbox.transactions).toMatchObject([{ status: 'success' }]);
});

test('rejects with one clear line when the port is in use', async () => {
  const { sandbox } = await startTestSandbox();
  const port = Number(new URL(sandbox.url).port);
  const refused = startSandbox({ port });
  await expect(refused).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is in use. Choose another with --port, or stop the program that uses it.`,
  );
  await expect(refused).rejects.toBeInstanceOf(SandboxError);
});

test('uses a public address in checkout_url, and accepts its forms', async () => {
  const port = await findFreePort();
  const publicUrl = 'https://pay.shop.test:8443';
  const { sandbox } = await startTestSandbox({ port, publicUrl: `${publicUrl}/` });
  expect(sandbox.baseUrl).toBe(`${publicUrl}/api/v1`);
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  const { reference, checkout_url } = await createClientFor(baseUrl)({ apiKey: sandbox.testKey }).initialize(
    payment,
  );
  expect(checkout_url).toBe(`${publicUrl}/checkout/${reference}`);

  const pressFrom = async (origin: string) => {
    const body = new URLSearchParams({ outcome: 'pay' });
    const address = `http://127.0.0.1:${port}/checkout/${reference}`;
    return (await fetch(address, { method: 'POST', body, headers: { origin }, redirect: 'manual' })).status;
  };
  expect(await pressFrom('https://pay.shop.example')).toBe(403);
  expect(await pressFrom(publicUrl)).toBe(303);
});

const EXPIRY_MESSAGE = 'promptExpiry must be a whole number from 1 to 1000000000000.';
const HOSTS_MESSAGE = 'allowHosts takes host names without a port, such as sandbox.';
const ORIGIN_MESSAGE = 'publicUrl must be http or https, a host, and an optional port';

test.each([
  [{ port: 65_536 }, 'port must be a whole number from 0 to 65535.'],
  [{ port: '4010' }, 'port must be a whole number from 0 to 65535.'],
  [{ keep: 0 }, 'keep must be a whole number, 1 or more.'],
  [{ keep: 1.5 }, 'keep must be a whole number, 1 or more.'],
  [{ promptExpiry: -1 }, EXPIRY_MESSAGE],
  [{ promptExpiry: Number.NaN }, EXPIRY_MESSAGE],
  [{ promptExpiry: 1_000_000_000_001 }, EXPIRY_MESSAGE],
  [{ host: '' }, 'host must be an address or a name.'],
  [{ host: '', allowRemote: true }, 'host must be an address or a name.'],
  [{ allowRemote: 'no' }, 'allowRemote must be true or false.'],
  [{ state: '' }, 'The state file needs a name.'],
  [{ state: ':memory:' }, 'The state file needs a name.'],
  [{ allowHosts: ['sandbox:4010'] }, HOSTS_MESSAGE],
  [{ allowHosts: ['http://sandbox'] }, HOSTS_MESSAGE],
  [{ allowHosts: ['a/b'] }, HOSTS_MESSAGE],
  [{ allowHosts: [''] }, HOSTS_MESSAGE],
  [{ allowHosts: ['me@sandbox'] }, HOSTS_MESSAGE],
  [{ allowHosts: ['two names'] }, HOSTS_MESSAGE],
  [{ allowHosts: ['sandbox?x'] }, HOSTS_MESSAGE],
  [{ allowHosts: 'sandbox' }, HOSTS_MESSAGE],
  [{ publicUrl: 'pay.shop.test' }, ORIGIN_MESSAGE],
  [{ publicUrl: 'ftp://pay.shop.test' }, ORIGIN_MESSAGE],
  [{ publicUrl: 'https://pay.shop.test/path' }, ORIGIN_MESSAGE],
  [{ publicUrl: 'https://me@pay.shop.test' }, ORIGIN_MESSAGE],
  [{ allowRemotes: true }, 'Unknown option "allowRemotes". Did you mean allowRemote?'],
])('throws for %j', async (options, message) => {
  const starting = Reflect.apply(startSandbox, undefined, [options]);
  await expect(starting).rejects.toThrow(message);
  await expect(starting).rejects.toBeInstanceOf(ConfigurationError);
});

test('can be closed twice, and with `await using`', async () => {
  let url: string;
  {
    await using sandbox = await startSandbox();
    url = sandbox.url;
    expect((await fetch(url)).status).toBe(200);
    await sandbox.close();
  }
  await expect(fetch(url)).rejects.toThrow();
});

test('closes although a page receives events', async () => {
  const { sandbox } = await startTestSandbox();
  const events = await fetch(`${sandbox.url}/events/dashboard`);
  await sandbox.close();
  await expect(events.text()).rejects.toThrow();
});
