/**
 * Takes the pictures of the sandbox and of the review desk for the docs: `node test/e2e/browser/programs/pictures.ts`. It needs Chromium and
 * pngquant on the PATH.
 */
import { execFileSync } from 'node:child_process';
import type { Page } from 'playwright-core';
import { startSandbox } from '../../../../src/developers/sandbox/index.ts';
import { PaymentsClient } from '../../../../src/index.ts';
import { createReviewDesk, type ReviewDesk } from '../../../../src/operators/desk/index.ts';
import { createOrderPayments } from '../../../../src/orders/index.ts';
import { memoryJournal } from '../../../../src/stores/memory.ts';
import { launchBrowser } from '../chromium.ts';

/** The width of a phone, so that the words are legible there. They are sharper than needed, and the package stays small. */
const WIDTH = 390;
/** The width of a laptop. */
const DASHBOARD_WIDTH = 1280;
const options = { colorScheme: 'light', deviceScaleFactor: 1.5, reducedMotion: 'reduce' } as const;

await using sandbox = await startSandbox({ returnUrl: 'http://localhost:3000/thanks' });
const live = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey, maxRetries: 0 });
const test = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.testKey, maxRetries: 0 });
const charge = (amount: string, customer_email: string, number: string) =>
  live.chargeMobileMoney({ amount, customer_email, phone: number, network: 'mtn' });

const paid = await test.initialize({ amount: '75.00', customer_email: 'kofi.mensah@example.com' });
sandbox.approve(paid.reference);
const left = await test.initialize({
  amount: '1280.00',
  currency: 'USD',
  customer_email: 'kofi.mensah@example.com',
});
sandbox.abandon(left.reference);
await charge('60.00', 'esi.owusu@example.com', '055 555 0199');
sandbox.advance(300_000);
const declined = await charge('12.00', 'esi.owusu@example.com', '055 555 0199');
sandbox.decline(declined.reference);
// The amount, the email and the number of docs/getting-started.md.
const started = await live.initialize({ amount: '25.50', customer_email: 'ama@example.com' });
sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
await charge('40.00', 'ama@example.com', '0244123456').catch(() => {});
const open = await charge('25.50', 'ama@example.com', '0244123456');
for (let count = 0; count < 13; count++) await live.verify(open.reference);
await test.verify(open.reference).catch(() => {});
sandbox.fault('verify', { kind: 'status', status: 502, body: 'html' }, { times: 3 });
await live.verify(open.reference).catch(() => {});

const browser = await launchBrowser();
try {
  await takeDashboard();
  await takePicture('sandbox-checkout', `/checkout/${started.reference}`, 610);
  const [, lost] = sandbox.charges.toReversed();
  if (lost) sandbox.decline(lost.reference);
  await takePicture('sandbox-phone', '/phone', 430, async (page) => {
    await page.locator('input[name=pin]').first().pressSequentially('1234');
    await page
      .locator('.handset')
      .evaluate((phone) => window.scrollTo(0, phone.getBoundingClientRect().top - 12));
  });
  const desk = await prepareDesk();
  await takePicture('review-desk', 'https://shop.example/admin/payments?order=1042', 629, undefined, desk);
} finally {
  await browser.close();
}

/** Returns a desk with an order whose response was lost. */
async function prepareDesk(): Promise<ReviewDesk> {
  const journal = memoryJournal();
  const payments = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey, journal });
  const orderPayments = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
  const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' } as const;
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  await orderPayments.charge('1042', { ...customer, amount: '25.50' });
  return createReviewDesk({ payments, journal, orderPayments, authorize: () => 'Kofi' });
}

/** Takes a picture of a page, from its top or from where `prepare` has scrolled to. */
async function takePicture(
  name: string,
  path: string,
  height: number,
  prepare?: (page: Page) => Promise<void>,
  desk?: ReviewDesk,
): Promise<void> {
  const page = await browser.newPage({ ...options, viewport: { width: WIDTH, height } });
  if (desk) {
    await page.route('https://shop.example/**', async (route) => {
      const response = await desk(new Request(route.request().url()));
      const { status, headers } = response;
      await route.fulfill({ status, headers: Object.fromEntries(headers), body: await response.text() });
    });
  }
  await page.goto(new URL(path, sandbox.url).href);
  if (!desk && path !== `/checkout/${started.reference}`) {
    await page.locator('#connection[data-state=on]').waitFor();
  }
  await prepare?.(page);
  await page.mouse.move(0, 0);
  const screenshot = await page.screenshot();
  await page.close();
  await frame(screenshot, `docs/images/${name}.png`);
}

/** Takes a picture of the dashboard as a developer sees it: wide, with the requests of the first transaction. */
async function takeDashboard(): Promise<void> {
  const viewport = { width: DASHBOARD_WIDTH, height: 900 };
  const page = await browser.newPage({ ...options, viewport, deviceScaleFactor: 1 });
  await page.goto(sandbox.url);
  await page.locator('#connection[data-state=on]').waitFor();
  await page.locator('.rows summary').first().click();
  await page.mouse.move(0, 0);
  const screenshot = await page.screenshot();
  await page.close();
  await frame(screenshot, 'docs/images/sandbox-dashboard.png', { width: DASHBOARD_WIDTH, scale: 1 });
}

/** Draws a border around a picture, which a page with a light or a dark background both show. */
async function frame(
  screenshot: Buffer,
  file: string,
  { width, scale }: { width: number; scale: number } = { width: WIDTH, scale: options.deviceScaleFactor },
): Promise<void> {
  const page = await browser.newPage({
    ...options,
    viewport: { width, height: 900 },
    deviceScaleFactor: scale,
  });
  const source = `data:image/png;base64,${screenshot.toString('base64')}`;
  const style = 'box-sizing: border-box; border: 1px solid #8a8a8a; border-radius: 12px; display: block';
  await page.setContent(
    `<body style="margin: 0; background: none"><img src="${source}" width="${width}" style="${style}">`,
  );
  await page.locator('img').screenshot({ path: file, omitBackground: true });
  await page.close();
  execFileSync('pngquant', ['--force', '--strip', '--output', file, '64', file]);
}
