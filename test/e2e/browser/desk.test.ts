import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { describe, expect, test } from 'vitest';
import { listenForTest } from '../../helpers/listen.ts';
import { charge as momo } from '../../helpers/service.ts';
import { KOFI, openDesk } from '../../unit/operators/desk/open-desk.ts';
import { checkView } from './check-view.ts';
import { isChromiumMissing } from './chromium.ts';
import { useBrowser } from './use-browser.ts';

/** Serves the desk of a shop on loopback, as an admin mounts it. */
async function serveDesk() {
  const opened = openDesk();
  const server = createServer(getRequestListener(opened.desk, { overrideGlobalObjects: false }));
  return { ...opened, url: `http://127.0.0.1:${await listenForTest(server)}/admin/payments` };
}

describe.skipIf(isChromiumMissing)('the desk in Chromium', () => {
  const open = useBrowser();

  test('leads from a lost response to an order that is paid, without JavaScript', async () => {
    const { shop, own, url, loseResponse } = await serveDesk();
    const reference = await loseResponse('17');
    const { page, problems } = await open(url, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Order 17' }).click();
    await page.locator('summary', { hasText: 'The charge exists' }).click();
    const form = page.locator('details[open] form');
    await form.getByLabel('Its transaction').fill(reference);
    await form.getByLabel('What you found out').fill('found by its request id');
    await form.getByRole('button', { name: 'Record' }).click();
    await page.getByRole('status').getByText('The payment is followed').waitFor();
    await page.getByText(`${KOFI}: found by its request id`).waitFor();

    shop.service.approve(reference);
    expect(await own.wait('17', { timeout: 60_000 })).toMatchObject({ state: 'paid' });
    await page.getByRole('link', { name: 'What needs a person' }).click();
    await page.getByText('Nothing needs a person.').waitFor();
    await page.getByLabel('Order, idempotency key or transaction').fill('17');
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText('Paid', { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  test.each([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('is legible and fits at %i, %s', async (width, colorScheme) => {
    const { shop, own, url, loseResponse } = await serveDesk();
    await loseResponse(`an-order-id-that-is-very-long-${'x'.repeat(120)}`);
    await own.charge('17', momo);
    await own.charge('17', { ...momo, amount: '30.00' });
    shop.service.approve((await own.read('17')).payments[0]?.reference ?? '');
    await own.wait('17', { timeout: 60_000 });
    const { page, problems } = await open(url, { colorScheme, viewport: { width, height: 900 } });
    await checkView(page, width);
    await page.goto(`${url}?order=17`);
    await checkView(page, width);
    expect(problems).toEqual([]);
  });
});
