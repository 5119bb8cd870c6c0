import { request } from 'node:http';
import { expect, test } from 'vitest';
import { SandboxError, startSandbox } from '../../../../src/developers/sandbox/index.ts';
import { ConfigurationError } from '../../../../src/index.ts';
import { findFreePort } from '../../../helpers/free-port.ts';
import { createClientFor } from '../../../helpers/raw-service.ts';
import { payment, startTestSandbox } from './start-sandbox.ts';

test.each(['0.0.0.0', '::', '192.168.1.5', 'example.com', '127.0.0.1.example.com'])(
  'refuses to listen on %s, which other machines can reach',
  async (host) => {
    const refused = startSandbox({ host });
    await expect(refused).rejects.toBeInstanceOf(SandboxError);
    await expect(refused).rejects.toThrow(`${host} is not a loopback address`);
  },
);

test.each([
  [{ host: '127.0.0.1' }, '127.0.0.1'],
  [{ host: 'localhost' }, 'localhost'],
  [{ host: '127.0.0.2' }, '127.0.0.2'],
  [{ host: '0.0.0.0', allowRemote: true }, 'localhost'],
])('listens with %j, and is reached as %s', async (options, name) => {
  const { sandbox, payments } = await startTestSandbox(options);
  expect(sandbox.baseUrl).toMatch(new RegExp(`^http://${name}:\\d+/api/v1$`));
  await expect(payments.initialize(payment)).resolves.toMatchObject({ amount: '25.50' });
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
  const own = ['sandbox', 'sandbox:4010', 'SANDBOX:4010', 'pay.shop.test', 'localhost:1', '[::1]:4010'];
  for (const host of own) expect(await requestAs(host, sandbox.url)).toMatchObject({ status: 200 });
  for (const host of ['evil.example', 'localhost.evil.example', 'sandbox.evil.example', 'shop.test'])
    expect(await requestAs(host, sandbox.url)).toEqual({
      status: 421,
      text: `This sandbox does not accept the name ${host}. To allow it: --allow-host ${host}`,
    });
  expect(await requestAs('evil.example:4010', sandbox.url)).toMatchObject({ status: 421 });
});

test.each([
  [{ allowHosts: ['sandbox'] }, 'http://sandbox:4010', undefined],
  [{ publicUrl: 'https://pay.shop.test:8443/' }, 'https://pay.shop.test:8443', 'https://pay.shop.test:8443'],
])('answers the API, and takes the forms, of another name: %j', async (options, origin, publicUrl) => {
  const port = await findFreePort();
  const { sandbox } = await startTestSandbox({ port, ...options });
  const local = `http://127.0.0.1:${port}`;
  expect(sandbox.baseUrl).toBe(`${publicUrl ?? local}/api/v1`);
  const host = publicUrl ? `127.0.0.1:${port}` : 'sandbox:4010';
  const payments = createClientFor(`${local}/api/v1`)({ apiKey: sandbox.liveKey });
  const { reference, checkout_url } = await payments.initialize(payment);
  expect(checkout_url).toBe(`${publicUrl ?? local}/checkout/${reference}`);
  const headers = { authorization: `Bearer ${sandbox.liveKey}` };
  const verify = await requestAs(host, `${local}/api/v1/transactions/verify/${reference}`, headers);
  expect(JSON.parse(verify.text)).toMatchObject({ data: { reference, status: 'pending' } });
  const press = (from: string) => {
    const form = { origin: from, 'content-type': 'application/x-www-form-urlencoded' };
    return requestAs(host, `${local}/checkout/${reference}`, form, 'outcome=pay');
  };
  expect(await press('https://evil.example')).toMatchObject({ status: 403 });
  expect(sandbox.transactions).toMatchObject([{ status: 'pending' }]);
  expect(await press(origin)).toMatchObject({ status: 303 });
  expect(sandbox.transactions).toMatchObject([{ status: 'success' }]);
});

const EXPIRY_MESSAGE = 'promptExpiry must be a whole number from 1 to 1000000000000.';

type Refusal = [options: object, message: string];

const hosts = (allowHosts: unknown): Refusal => [
  { allowHosts },
  'allowHosts takes host names without a port, such as sandbox.',
];

test.each<Refusal>([
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
  ...['sandbox:4010', 'http://sandbox', 'a/b', '', 'me@sandbox', 'two names', 'sandbox?x'].map((name) =>
    hosts([name]),
  ),
  hosts('sandbox'),
  ...['pay.shop.test', 'ftp://pay.shop.test', 'https://pay.shop.test/path', 'https://me@pay.shop.test'].map(
    (publicUrl): Refusal => [{ publicUrl }, 'publicUrl must be http or https, a host, and an optional port'],
  ),
  // An address can contain a password, so the message does not show it.
  [
    { webhookUrl: 'ftp://user:hush@shop.test/in?token=hush' },
    'webhookUrl must be an http or https address, such as http://localhost:3000/path.',
  ],
  [{ allowRemotes: true }, 'Unknown option "allowRemotes". Did you mean allowRemote?'],
])('throws for %j', async (options, message) => {
  const starting = Reflect.apply(startSandbox, undefined, [options]);
  await expect(starting).rejects.toThrow(message);
  await expect(starting).rejects.toBeInstanceOf(ConfigurationError);
});
