import { expect, test } from 'vitest';
import { SandboxError, startSandbox } from '../../../src/sandbox/index.ts';
import { clientOf, closedPort } from '../../helpers/raw-service.ts';
import { payment, start } from './start.ts';

test.each(['0.0.0.0', '::', '192.168.1.5', 'example.com', '127.0.0.1.example.com'])(
  'it refuses to listen on %s, which others can reach',
  async (host) => {
    const refused = startSandbox({ host });
    await expect(refused).rejects.toBeInstanceOf(SandboxError);
    await expect(refused).rejects.toThrow(`${host} is not a loopback address`);
  },
);

test.each(['127.0.0.1', 'localhost', '127.0.0.2'])('it listens on loopback: %s', async (host) => {
  const { sandbox, payments } = await start({ host });
  expect(sandbox.baseUrl).toMatch(new RegExp(`^http://${host}:\\d+/api/v1$`));
  await expect(payments.initialize(payment)).resolves.toMatchObject({ amount: '25.50' });
});

test('told so, it listens where others can reach it', async () => {
  const { sandbox } = await start({ host: '0.0.0.0', allowRemote: true });
  expect(sandbox.url).toMatch(/^http:\/\/localhost:\d+$/);
  expect((await fetch(sandbox.url)).status).toBe(200);
});

test('a port in use is one clear line', async () => {
  const { sandbox } = await start();
  const port = Number(new URL(sandbox.url).port);
  const refused = startSandbox({ port });
  await expect(refused).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is in use. Choose another with --port, or end what listens there.`,
  );
  await expect(refused).rejects.toBeInstanceOf(SandboxError);
});

test('behind a proxy, a public address is the beginning of every checkout_url, and its forms are taken', async () => {
  const port = await closedPort();
  const publicUrl = 'https://pay.shop.test:8443';
  const { sandbox } = await start({ port, publicUrl: `${publicUrl}/` });
  expect(sandbox.baseUrl).toBe(`${publicUrl}/api/v1`);
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  const { reference, checkout_url } = await clientOf(baseUrl)({ apiKey: sandbox.testKey }).initialize(
    payment,
  );
  expect(checkout_url).toBe(`${publicUrl}/checkout/${reference}`);

  const pressedFrom = async (origin: string) => {
    const body = new URLSearchParams({ outcome: 'pay' });
    const address = `http://127.0.0.1:${port}/checkout/${reference}`;
    return (await fetch(address, { method: 'POST', body, headers: { origin }, redirect: 'manual' })).status;
  };
  expect(await pressedFrom('https://pay.shop.example')).toBe(403);
  expect(await pressedFrom(publicUrl)).toBe(303);
});

test.each(['pay.shop.test', 'ftp://pay.shop.test', 'https://pay.shop.test/path', 'https://me@pay.shop.test'])(
  '%s is no public address',
  async (publicUrl) => {
    await expect(startSandbox({ publicUrl })).rejects.toThrow('public address');
  },
);

test.each([
  { keep: 0 },
  { keep: 1.5 },
  { promptExpiry: -1 },
  { promptExpiry: Number.NaN },
  { promptExpiry: 1_000_000_000_001 },
  { host: '' },
  { host: '', allowRemote: true },
  { state: '' },
  { state: ':memory:' },
])('%o is refused', async (options) => {
  await expect(startSandbox(options)).rejects.toBeInstanceOf(SandboxError);
});

test('it can be closed twice, and with `await using`', async () => {
  let url: string;
  {
    await using sandbox = await startSandbox();
    url = sandbox.url;
    expect((await fetch(url)).status).toBe(200);
    await sandbox.close();
  }
  await expect(fetch(url)).rejects.toThrow();
});

test('closing it does not wait for a page that listens for news', async () => {
  const { sandbox } = await start();
  const news = await fetch(`${sandbox.url}/events/dashboard`);
  await sandbox.close();
  await expect(news.text()).rejects.toThrow();
});
