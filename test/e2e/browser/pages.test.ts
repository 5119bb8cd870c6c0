import { describe, expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { charge, payment, startTestSandbox } from '../../unit/developers/sandbox/start-sandbox.ts';
import { checkView } from './check-view.ts';
import { isChromiumMissing } from './chromium.ts';
import { useBrowser } from './use-browser.ts';

describe.skipIf(isChromiumMissing)('in Chromium', () => {
  const open = useBrowser();

  test('shows a prompt on the phone without a reload, and takes a PIN', async () => {
    const { sandbox, payments } = await startTestSandbox();
    const { page, problems } = await open(`${sandbox.url}/phone`);
    await page.getByText('No open prompt').waitFor();

    const { reference } = await payments.chargeMobileMoney(charge);
    const wait = payments.waitForFinalStatus(reference);
    // The new prompt takes the focus, so that the customer can type at once.
    await page.locator('input[name=pin]:focus').waitFor();
    await page.keyboard.type('1234');
    await page.keyboard.press('Enter');
    await expect(wait).resolves.toMatchObject({ status: 'success' });
    await page.getByText('Approved').waitFor();
    await page.locator('#messages').getByText('GHS 25.50').waitFor();
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByText('No open prompt').waitFor();
    expect(problems).toEqual([]);
  });

  test('moves no other prompt when one is answered, and declines by keyboard', async () => {
    const { sandbox, payments } = await startTestSandbox();
    const references: string[] = [];
    for (const amount of ['1.00', '2.00'])
      references.push((await payments.chargeMobileMoney({ ...charge, amount })).reference);
    const [first = '', second = ''] = references;
    const { page, problems } = await open(`${sandbox.url}/phone`);
    await page.getByText('connected', { exact: true }).waitFor();
    const place = () =>
      page.evaluate((ids) => ids.map((id) => document.getElementById(id)?.offsetTop), [first, second]);
    const before = await place();
    const prompt = page.locator(`[id="${first}"]`);
    await prompt.getByLabel('Enter your PIN').fill('1234');
    await prompt.getByRole('button', { name: 'Approve' }).click();
    await prompt.getByText('Approved').waitFor();
    expect(await place()).toEqual(before);
    await expect(payments.verify(second)).resolves.toMatchObject({ status: 'pending' });
    await page.locator(`[id="pin-${second}"]`).focus();
    for (const key of ['Tab', 'Tab', 'Enter']) await page.keyboard.press(key);
    await expect(payments.waitForFinalStatus(second)).resolves.toMatchObject({ status: 'failed' });
    expect(problems).toEqual([]);
  });

  test('reconnects the dashboard after a restart of the sandbox', async () => {
    const port = await findFreePort();
    const first = await startTestSandbox({ port });
    await first.payments.initialize(payment);
    const { page } = await open(`${first.sandbox.url}/`);
    await page.getByText('connected', { exact: true }).waitFor();
    await first.sandbox.close();
    await page.getByText('reconnecting').waitFor();
    const second = await startTestSandbox({ port });
    const { reference } = await second.payments.initialize(payment);
    await page.locator(`[id="${reference}"]`).waitFor();
    expect(await page.locator('.rows > li').count()).toBe(1);
  });

  test('refuses a payment by a page of another site', async () => {
    const { sandbox, payments } = await startTestSandbox();
    const { checkout_url, reference } = await payments.initialize(payment);
    // The same machine on another port: the closest that another origin can be.
    const { page } = await open((await startTestSandbox()).sandbox.url.replace('127.0.0.1', 'localhost'));
    await page.evaluate((address) => {
      const sending = fetch(address, {
        method: 'POST',
        body: new URLSearchParams({ outcome: 'pay' }),
        mode: 'no-cors',
      });
      return sending.then(() => '', String);
    }, checkout_url);
    const other = await open('about:blank');
    await other.page.setContent(
      `<form method="post" action="${checkout_url}"><button name="outcome" value="pay">Win</button></form>`,
    );
    await other.page.getByRole('button').click();
    await other.page.getByText('own pages only').waitFor();
    await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
    expect(sandbox.transactions).toHaveLength(1);
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 390],
  ] as const)('shows readable pages that work by touch, in %s at %i pixels', async (colorScheme, width) => {
    const { sandbox, payments } = await startTestSandbox();
    const long = `${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`;
    const started = await payments.initialize({ amount: '70368744177664.00', customer_email: long });
    sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    await payments
      .chargeMobileMoney({ ...charge, phone: '0'.repeat(60), customer_email: long })
      .catch(() => {});
    const paid = await payments.initialize(payment);
    sandbox.webhooks.deliverTo(`${sandbox.url}/${'long'.repeat(40)}`, { retryDelays: [] });
    sandbox.approve(paid.reference);
    await payments.verify('x'.repeat(255)).catch(() => {});
    await sandbox.webhooks.flush();
    const { page } = await open(`${sandbox.url}/`, { colorScheme, viewport: { width, height: 800 } });
    const paths = ['/', '/webhooks', '/phone'].map((path) => sandbox.url + path);
    for (const address of [...paths, started.checkout_url, paid.checkout_url]) {
      await page.goto(address);
      await checkView(page, width);
    }
  });
});
