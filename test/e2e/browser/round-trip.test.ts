import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { listenForTest } from '../../helpers/listen.ts';
import { payment, startTestSandbox } from '../../unit/sandbox/start-sandbox.ts';
import { isChromiumMissing } from './chromium.ts';
import { useBrowser } from './use-browser.ts';

describe.skipIf(isChromiumMissing)('in Chromium', () => {
  const open = useBrowser();

  /** Starts a sandbox that leads back to a shop, and opens the checkout page of a payment. */
  async function openCheckout() {
    const shop = createServer((_request, response) => response.end('Welcome back'));
    const shopUrl = `http://127.0.0.1:${await listenForTest(shop)}`;
    const { payments } = await startTestSandbox({ returnUrl: `${shopUrl}/return?order=17` });
    const { reference, checkout_url } = await payments.initialize(payment);
    const { page, problems } = await open(checkout_url);
    return { page, problems, back: `${shopUrl}/return?order=17&reference=${reference}`, checkout_url };
  }

  test.each(['Pay GHS 25.50', 'Let the payment fail', 'Leave without paying'])(
    'the checkout page leads back by itself after "%s"',
    async (button) => {
      const { page, problems, back } = await openCheckout();
      await page.getByRole('button', { name: button }).click();
      await page.waitForURL(back);
      expect(await page.textContent('body')).toBe('Welcome back');
      expect(problems).toEqual([]);
    },
  );

  test('links the checkout page to the shop when it is opened later', async () => {
    const { page, problems, back, checkout_url } = await openCheckout();
    await page.getByRole('button', { name: 'Pay GHS' }).click();
    await page.waitForURL(back);
    await page.goto(checkout_url);
    expect(await page.locator('meta[http-equiv=refresh]').count()).toBe(0);
    await page.getByRole('link', { name: 'Back to the shop' }).click();
    await page.waitForURL(back);
    expect(problems).toEqual([]);
  });
});
