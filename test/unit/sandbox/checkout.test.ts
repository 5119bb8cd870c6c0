import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { InvalidRequestError } from '../../../src/index.ts';
import { startSandbox } from '../../../src/sandbox/index.ts';
import { charge, createStatePath, payment, startTestSandbox } from './start-sandbox.ts';

const shop = 'http://127.0.0.1:3000/checkout/return';
const toShop = (sandbox_return_url: unknown) => ({ extraBody: { sandbox_return_url } });

/** Where a page links to and leads by itself, each `null` without an address. */
function readWayBack(markup: string) {
  const decode = (text: string | undefined) => text?.replaceAll('&amp;', '&') ?? null;
  const link = decode(/<a class="back" href="([^"]*)">Back to the shop<\/a>/.exec(markup)?.[1]);
  const refresh = decode(
    /<head>[\s\S]*<meta http-equiv="refresh" content="3; url=([^"]*)">[\s\S]*<\/head>/.exec(markup)?.[1],
  );
  return { link, refresh };
}

test.each(['pay', 'fail', 'abandon'])('leads back to the shop after "%s"', async (outcome) => {
  const { payments, page, press } = await startTestSandbox({ returnUrl: shop });
  const { reference } = await payments.initialize(payment);
  const path = `/checkout/${reference}`;
  expect(readWayBack(await page(path))).toEqual({ link: null, refresh: null });

  const pressed = await press(path, { outcome });
  expect(pressed.status).toBe(303);
  const markup = await page(pressed.headers.get('location') ?? '');
  const back = `${shop}?reference=${reference}`;
  expect(readWayBack(markup)).toEqual({ link: back, refresh: back });
  expect(markup).toContain('This page leads to 127.0.0.1:3000 in 3 seconds.');
});

test('links to the shop, and stays, when a final payment is opened later', async () => {
  const { sandbox, payments, page } = await startTestSandbox({ returnUrl: shop });
  const { reference } = await payments.initialize(payment);
  sandbox.approve(reference);
  expect(readWayBack(await page(`/checkout/${reference}`))).toEqual({
    link: `${shop}?reference=${reference}`,
    refresh: null,
  });
});

test('leads back after a second press, without another outcome', async () => {
  const { payments, page, press } = await startTestSandbox({ returnUrl: shop });
  const { reference } = await payments.initialize(payment);
  const path = `/checkout/${reference}`;
  await press(path, { outcome: 'abandon' });
  const again = await press(path, { outcome: 'pay' });
  expect(readWayBack(await page(again.headers.get('location') ?? '')).refresh).toContain(shop);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'abandoned' });
});

test('shows the buttons of an open payment, whatever its address says', async () => {
  const { payments, page } = await startTestSandbox({ returnUrl: shop });
  const { reference } = await payments.initialize(payment);
  const markup = await page(`/checkout/${reference}?return`);
  expect(readWayBack(markup)).toEqual({ link: null, refresh: null });
  expect(markup).toContain('value="pay"');
});

test('says what a real page does, without an address', async () => {
  const { payments, page, press } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  const pressed = await press(`/checkout/${reference}`, { outcome: 'pay' });
  const markup = await page(pressed.headers.get('location') ?? '');
  expect(readWayBack(markup)).toEqual({ link: null, refresh: null });
  expect(markup).toContain('A real checkout page leads the customer back to the shop.');
  expect(markup).toContain('--return-url');
});

test('prefers the address of the payment to the one of the sandbox', async () => {
  const { payments, page, press } = await startTestSandbox({ returnUrl: shop });
  const { reference } = await payments.initialize(payment, toShop('https://other.example/done'));
  const pressed = await press(`/checkout/${reference}`, { outcome: 'pay' });
  const { refresh } = readWayBack(await page(pressed.headers.get('location') ?? ''));
  expect(refresh).toBe(`https://other.example/done?reference=${reference}`);
});

test.each([
  ['http://shop.test', 'http://shop.test/?reference=TXN'],
  [
    'https://shop.test/back?order=17&kind=a%26b#paid',
    'https://shop.test/back?order=17&kind=a%26b&reference=TXN#paid',
  ],
  [
    'https://shop.test/back?reference=mine&order=17&reference=2',
    'https://shop.test/back?reference=TXN&order=17',
  ],
  ['https://shop.test/back?a="><script>', 'https://shop.test/back?a=%22%3E%3Cscript%3E&reference=TXN'],
  ["https://shop.test/'; url=javascript:1", "https://shop.test/';%20url=javascript:1?reference=TXN"],
  ['HTTPS://Shop.test/Back', 'https://shop.test/Back?reference=TXN'],
])('adds the reference to %s', async (address, expected) => {
  const { payments, page, press } = await startTestSandbox({ returnUrl: shop });
  const { reference } = await payments.initialize(payment, toShop(address));
  const pressed = await press(`/checkout/${reference}`, { outcome: 'pay' });
  const back = expected.replace('TXN', reference);
  const markup = await page(pressed.headers.get('location') ?? '');
  expect(readWayBack(markup.replaceAll('&#39;', "'"))).toEqual({ link: back, refresh: back });
  expect(markup).not.toContain('<script>');
});

const refused = [
  'javascript:alert(1)',
  ' javascript:alert(1)',
  'data:text/html,paid',
  'file:///etc/passwd',
  '//evil.example',
  '/checkout/return',
  'shop.test',
  'https://',
  '',
];

test.each([...refused, null, 17, ['https://shop.test']])(
  'rejects a payment whose address is %o, and creates none',
  async (address) => {
    const { sandbox, payments } = await startTestSandbox();
    const starting = payments.initialize(payment, toShop(address));
    await expect(starting).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(starting).rejects.toMatchObject({
      outcome: 'rejected',
      fieldErrors: [{ field: 'sandbox_return_url', message: 'must be an http or https address' }],
    });
    expect(sandbox.transactions).toEqual([]);
  },
);

test.each(refused)('refuses to start with the return address "%s"', async (returnUrl) => {
  await expect(startSandbox({ returnUrl })).rejects.toThrow('returnUrl must be an http or https address');
});

test('a charge has no page that leads back', async () => {
  const { sandbox, payments } = await startTestSandbox({ returnUrl: shop });
  const { reference } = await payments.chargeMobileMoney(charge, toShop(shop));
  const response = await fetch(`${sandbox.url}/checkout/${reference}?return`);
  expect(response.status).toBe(404);
  expect(readWayBack(await response.text())).toEqual({ link: null, refresh: null });
});

test('keeps the address of a payment over a restart', async () => {
  const state = createStatePath();
  const first = await startTestSandbox({ state });
  const { reference } = await first.payments.initialize(payment, toShop(shop));
  const other = await first.payments.initialize(payment);
  await first.sandbox.close();

  const second = await startTestSandbox({ state });
  const pressed = await second.press(`/checkout/${reference}`, { outcome: 'pay' });
  const { refresh } = readWayBack(await second.page(pressed.headers.get('location') ?? ''));
  expect(refresh).toBe(`${shop}?reference=${reference}`);
  await second.press(`/checkout/${other.reference}`, { outcome: 'pay' });
  expect(readWayBack(await second.page(`/checkout/${other.reference}?return`)).refresh).toBe(null);
  await second.sandbox.close();

  const database = new DatabaseSync(state);
  database.exec("UPDATE transactions SET entry = json_set(entry, '$.returnUrl', 'javascript:alert(1)')");
  database.close();
  await expect(startSandbox({ state })).rejects.toThrow('is damaged');
});
test('does not claim a status that verify hides', async () => {
  const { sandbox, payments, page } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  sandbox.webhooks.deliverTo(() => {});
  sandbox.webhooks.fault({ kind: 'early', delay: 60_000 });
  sandbox.approve(reference);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
  expect(await page(`/checkout/${reference}`)).toContain('Verify still returns <code>pending</code>');
  sandbox.advance(60_001);
  expect(await page(`/checkout/${reference}`)).toContain('verify returns <code>success</code>');
});
