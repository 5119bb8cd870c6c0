import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { listenForTest } from '../../helpers/listen.ts';
import { startTestApi } from '../../unit/developers/sandbox/script-api-client.ts';
import { payment } from '../../unit/developers/sandbox/start-sandbox.ts';
import { isChromiumMissing } from './chromium.ts';
import { useBrowser } from './use-browser.ts';

describe.skipIf(isChromiumMissing)('in Chromium', () => {
  const open = useBrowser();

  test.each(['127.0.0.1', 'localhost'])('refuses every write of another website on %s', async (host) => {
    const { sandbox, payments, address, get } = await startTestApi();
    const { reference } = await payments.initialize(payment);
    const port = await listenForTest(createServer((_, response) => response.end('<!doctype html>')));
    const { page } = await open(`http://${host}:${port}/`);
    const tries = await page.evaluate(async (api) => {
      const body = '{}';
      const json = { 'content-type': 'application/json' };
      const text = { 'content-type': 'text/plain' };
      const send = (path: string, init: RequestInit) =>
        fetch(api + path, init).then(
          ({ type, status }) => `${path}: ${type} ${status}`,
          () => 'refused',
        );
      navigator.sendBeacon(`${api}/reset`, new Blob([body], { type: 'application/json' }));
      navigator.sendBeacon(`${api}/reset`, body);
      return [
        await send('/reset', { method: 'POST', headers: json, body }),
        await send('/reset', { method: 'POST', headers: json, body, mode: 'no-cors' }),
        await send('/reset', { method: 'POST', headers: text, body, mode: 'no-cors' }),
        await send('/reset', { method: 'POST', mode: 'no-cors' }),
        await send('/faults', { method: 'DELETE' }),
        await send('/webhooks/receiver', { method: 'PUT', headers: json, body: '{"url":null}' }),
        await send('/requests', {}),
        await send('/requests', { mode: 'no-cors' }),
      ];
    }, address);
    expect(new Set(tries)).toEqual(new Set(['refused']));
    await page.setContent(
      `<form method="post" enctype="text/plain" action="${address}/reset"><button name='{"x":"' value='"}'>Win</button></form>`,
    );
    await page.getByRole('button').click();
    await page.getByText('Pages of other websites cannot use this API').waitFor();
    expect(sandbox.transactions).toMatchObject([{ reference, status: 'pending' }]);
    expect((await get('/requests')).body.requests).toHaveLength(1);
  });
});
