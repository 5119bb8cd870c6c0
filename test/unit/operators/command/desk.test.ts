import { request as sendRequest } from 'node:http';
import { describe, expect, test } from 'vitest';
import { runCommand, startShop } from './run-command.ts';

const BY = ['--by', 'kofi@shop.example'];

/** Starts the desk, and returns its address once it is printed. */
async function startDesk(exports: object) {
  const stopping = new AbortController();
  const { promise: printed, resolve: onPrint } = Promise.withResolvers<string>();
  const ended = runCommand(['desk', ...BY], { exports, stopped: stopping.signal, onPrint });
  const address = /http\S+/.exec(await printed)?.[0] ?? '';
  const stop = async () => {
    stopping.abort();
    return await ended;
  };
  return { address, origin: new URL(address).origin, stop };
}

const open = (address: string, headers = {}) => fetch(address, { headers, redirect: 'manual' });
const readCookie = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? '';

/** Sends a request that names another host. */
const openAs = (origin: string, host: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    sendRequest(origin, { headers: { host } }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });

describe('the desk', () => {
  test('lets in who opens its address first, until it is stopped', async () => {
    const shop = await startShop();
    await shop.leaveUnresolved('order-17/1');
    const { address, origin, stop } = await startDesk(shop.exports);
    expect((await open(origin)).status).toBe(401);

    const first = await open(address);
    expect(first.status).toBe(303);
    expect(first.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Path=\/$/);
    const cookie = readCookie(first);
    const second = await open(address);
    expect([second.status, await second.text()]).toEqual([401, expect.stringContaining('opened before')]);
    expect(await (await open(origin, { cookie })).text()).toContain('Key order-17/1');
    expect((await open(origin, { cookie: `${cookie}x` })).status).toBe(401);

    const form = { payment: 'key order-17/1', offer: 'closed', reason: 'paid back' };
    const page = `${origin}/?key=order-17%2F1`;
    const post = { method: 'POST', body: new URLSearchParams(form) };
    expect((await fetch(page, { ...post, headers: { cookie } })).status).toBe(403);
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    expect((await fetch(page, { ...post, headers, redirect: 'manual' })).status).toBe(303);
    expect(await shop.journal.read('order-17/1')).toMatchObject({
      state: 'closed',
      resolutions: [{ by: 'kofi@shop.example', reason: 'paid back' }],
    });
    expect(await stop()).toMatchObject({ code: 0 });
    await expect(open(origin)).rejects.toThrow('fetch failed');
  });

  test('does not answer to a name that another site points to it', async () => {
    const { origin, stop } = await startDesk((await startShop()).exports);
    expect(await openAs(origin, 'evil.example')).toBe(421);
    expect(await openAs(origin, 'localhost')).toBe(401);
    await stop();
  });

  test.each([
    [['desk'], 'desk needs --by'],
    [['desk', ...BY, '17'], 'desk takes no key'],
    [['desk', ...BY, '--port', '70000'], '--port takes a whole number from 0 to 65535'],
    [['list', '--port', '1'], '--port is an option of desk, not of list.'],
  ])('is not started by %j', async (args, message) => {
    const { code, err } = await runCommand(args, { exports: (await startShop()).exports });
    expect(code).toBe(1);
    expect(err).toContain(message);
  });

  test('says if its port is in use', async () => {
    const { exports } = await startShop();
    const { origin, stop } = await startDesk(exports);
    const { code, err } = await runCommand(['desk', ...BY, '--port', new URL(origin).port], { exports });
    expect(code).toBe(1);
    expect(err).toContain('is in use. Choose another with --port');
    await stop();
  });
});
