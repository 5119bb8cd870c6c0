import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { charge, payment, startTestSandbox } from '../../unit/developers/sandbox/start-sandbox.ts';
import { startShop } from '../../unit/developers/sandbox/start-shop.ts';
import { checkView } from './check-view.ts';
import { isChromiumMissing } from './chromium.ts';
import { useBrowser } from './use-browser.ts';

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const views = [
  { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
  { colorScheme: 'light', ...phone },
  { colorScheme: 'dark', ...phone },
] as const;

describe.skipIf(isChromiumMissing)('the dashboard in Chromium', () => {
  const openAddress = useBrowser();

  /** Opens a page, and waits until its updates arrive. */
  async function open(address: string, options?: BrowserContextOptions) {
    const opened = await openAddress(address, options);
    if (options?.javaScriptEnabled !== false) {
      await opened.page.locator('#connection[data-state=on]').waitFor();
    }
    return opened;
  }

  /** Starts a sandbox with transactions of every kind. */
  async function startWith(count: number) {
    const started = await startTestSandbox({ promptExpiry: 60_000 });
    const { sandbox, client, payments } = started;
    const headers = { authorization: `Bearer ${sandbox.testKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ amount: 25.5, customer_email: 'kofi.mensah@example.com' });
    for (let left = count - 5; left > 0; left -= 50) {
      const requests = Array.from({ length: Math.min(left, 50) }, async () => {
        const url = `${sandbox.baseUrl}/transactions/initialize`;
        // Its connection takes the next one only once the response is read.
        await (await fetch(url, { method: 'POST', headers, body })).text();
      });
      await Promise.all(requests);
    }
    if (count > 0) {
      sandbox.approve((await client({ apiKey: sandbox.testKey }).initialize(payment)).reference);
      sandbox.abandon((await payments.initialize(payment)).reference);
      await payments.chargeMobileMoney(charge);
      sandbox.advance(60_000);
      sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
      await payments.chargeMobileMoney(charge).catch(() => {});
      const { reference } = await payments.chargeMobileMoney(charge);
      for (let each = 0; each < 13; each++) await payments.verify(reference);
      sandbox.decline(reference);
      await payments.verify('TXN-unknown').catch(() => {});
      sandbox.fault('verify', { kind: 'reset' }, { times: 3 });
    }
    return started;
  }

  async function expectOnScreen(page: Page, selector: string) {
    const box = await page.locator(selector).boundingBox();
    const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect(box?.y).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
    expect((box?.y ?? 0) + Math.min(box?.height ?? 0, 100)).toBeLessThanOrEqual(height);
  }

  test.each([0, 5, 5_000])('fits every view, with %i transactions', async (count) => {
    const { sandbox } = await startWith(count);
    for (const view of views) {
      const { page, problems } = await open(`${sandbox.url}/`, view);
      expect(await page.locator('.rows > li').count()).toBe(Math.min(count, 100));
      expect(await page.locator('#count').textContent()).toBe(count > 100 ? '100 of 5,000' : `${count}`);
      await checkView(page, view.viewport.width);
      expect(problems).toEqual([]);
    }
  });

  test('opens each panel by one tap on a phone', async () => {
    const { sandbox, payments } = await startWith(5);
    const { page, problems } = await open(`${sandbox.url}/`, phone);
    sandbox.reset();
    const tapEach = async (panels: Record<string, string>) => {
      for (const [tab, panel] of Object.entries(panels)) {
        await page.getByRole('link', { name: tab, exact: true }).tap();
        await expectOnScreen(page, panel);
        await checkView(page, 390);
      }
    };
    expect(await page.locator('#faults').isVisible()).toBe(false);
    await tapEach({ Faults: '#faults', Time: '#time', Keys: '#access' });
    expect(await page.locator('#faults').isVisible()).toBe(false);
    await page.getByRole('link', { name: 'Faults', exact: true }).tap();
    await page.getByLabel('Operation').selectOption('chargeMobileMoney');
    // Each fault shows its own fields.
    const fault = page.getByRole('combobox', { name: /^Fault/ });
    await fault.selectOption('wrongAmount');
    expect(await page.getByLabel('Status code', { exact: true }).isVisible()).toBe(false);
    expect(await page.getByLabel('Amount', { exact: true }).isVisible()).toBe(true);
    await fault.selectOption('responseLost');
    await page.getByRole('button', { name: 'Inject' }).tap();
    await page.getByText('1 remaining: response lost').waitFor();
    await payments.chargeMobileMoney(charge).catch(() => {});
    await page.locator('.tabs').getByRole('link', { name: 'Transactions' }).tap();
    await page.getByText('response lost: the shop does not know this charge').waitFor();

    await page.getByRole('link', { name: 'Webhooks', exact: true }).tap();
    await tapEach({ Receiver: '#receiver', Faults: '#faults', Forge: '#forge', Time: '#time' });
    expect(problems).toEqual([]);
  });

  test('shows verifies as they come, and keeps what is open', async () => {
    const { sandbox, payments } = await startTestSandbox();
    const { reference } = await payments.initialize(payment);
    await payments.verify(reference);
    const { page, problems } = await open(`${sandbox.url}/`);
    const row = page.locator(`[id="${reference}"]`);
    await row.locator('summary').first().click();
    const request = row.locator('.requests > li').first();
    await request.locator('summary').click();
    await request.getByText('X-Request-Id').waitFor();
    for (let count = 0; count < 12; count++) await payments.verify(reference);
    await request.getByText('verify × 13').waitFor();
    expect(await request.getByText('X-Request-Id').isVisible()).toBe(true);
    expect(await row.locator('.requests > li').count()).toBe(2);
    sandbox.approve(reference);
    await payments.verify(reference);
    await row.getByText('200 success').waitFor();
    // The same request is open, one place further down.
    const open13 = row.locator('.requests > li').nth(1);
    expect(await open13.locator('details').getAttribute('open')).toBe('');
    expect(await row.locator('.requests > li').first().locator('details').getAttribute('open')).toBe(null);
    expect(problems).toEqual([]);
  });

  test('puts an updated transaction where it belongs, and respects the search', async () => {
    const { sandbox, client, payments } = await startTestSandbox();
    const references: string[] = [];
    for (let count = 0; count < 3; count++) references.push((await payments.initialize(payment)).reference);
    const [oldest = '', middle = '', newest = ''] = references;
    sandbox.approve(oldest);
    sandbox.approve(newest);
    const { page } = await open(`${sandbox.url}/?status=success&mode=live`);
    const shown = () => page.locator('.rows > li').evaluateAll((rows) => rows.map(({ id }) => id));
    expect(await shown()).toEqual([newest, oldest]);
    const other = await client({ apiKey: sandbox.testKey }).initialize(payment);
    sandbox.approve(other.reference);
    sandbox.approve(middle);
    await page.locator(`[id="${middle}"]`).waitFor();
    expect(await shown()).toEqual([newest, middle, oldest]);
    sandbox.decline(newest);
    await page.locator(`[id="${newest}"]`).waitFor({ state: 'detached' });
    expect(await shown()).toEqual([middle, oldest]);
    await page.getByText('2 found of 4').waitFor();
  });

  test('sends a webhook again from an open row, without a reload', async () => {
    const { url, received } = await startShop();
    const { sandbox, payments } = await startTestSandbox();
    const { reference } = await payments.initialize(payment);
    const { page, problems } = await open(`${sandbox.url}/webhooks`, { viewport: views[0].viewport });
    await page.getByLabel('Address of your shop').fill(url);
    await page.getByRole('button', { name: 'Send webhooks there' }).click();
    await page.getByText(`Sent to ${url}`).waitFor();
    sandbox.approve(reference);
    await page.locator('#whd_1').getByText('delivered').waitFor();

    await page.goto(`${sandbox.url}/`);
    await page.locator('#connection[data-state=on]').waitFor();
    await page.evaluate(() => document.body.setAttribute('data-same', 'yes'));
    const row = page.locator(`[id="${reference}"]`);
    await row.locator('summary').first().click();
    await row.getByRole('button', { name: 'Send the webhook again' }).click();
    await row.locator('a[href="/webhooks#whd_2"]').getByText('delivered').waitFor();
    expect(await page.getAttribute('body', 'data-same')).toBe('yes');
    expect(received).toHaveLength(2);

    // A form that is not valid shows why.
    await row.getByRole('link', { name: 'Send a forged one' }).click();
    await page.getByLabel('Transaction', { exact: true }).fill('TXN-unknown');
    await page.getByRole('button', { name: 'Send the forged webhook' }).click();
    await page.getByText('There is no transaction with this reference.').waitFor();
    await page.goto(`${sandbox.url}/webhooks#whd_1`);
    await page.locator('#whd_1').getByText('x-sandbox-delivery').waitFor();
    expect(problems.filter((problem) => !problem.includes('404'))).toEqual([]);
  });
});
