import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../../src/developers/sandbox/index.ts';
import { InvalidRequestError } from '../../../../src/index.ts';
import { payment, startTestSandbox } from './start-sandbox.ts';

const shop = 'http://127.0.0.1:3000/checkout/return';
const toShop = (sandbox_return_url: unknown) => ({ extraBody: { sandbox_return_url } });

/** Where a page links to and leads by itself, each `null` without an address. */
function readWayBack(markup: string) {
  const decode = (text: string | undefined) =>
    text?.replaceAll('&amp;', '&').replaceAll('&#39;', "'") ?? null;
  const link = decode(/<a class="back" href="([^"]*)">Back to the shop<\/a>/.exec(markup)?.[1]);
  const refresh = decode(
    /<head>[\s\S]*<meta http-equiv="refresh" content="3; url=([^"]*)">[\s\S]*<\/head>/.exec(markup)?.[1],
  );
  return { link, refresh };
}

const noWayBack = { link: null, refresh: null };

/** Starts a sandbox with one payment, whose buttons can be pressed. */
async function startCheckout(options: SandboxOptions = { returnUrl: shop }, call = {}) {
  const started = await startTestSandbox(options);
  const { payments, press, page } = started;
  const { reference } = await payments.initialize({ ...payment, amount: '1280.00', currency: 'USD' }, call);
  const path = `/checkout/${reference}`;
  const choose = async (outcome: string) => {
    const pressed = await press(path, { outcome });
    return page(pressed.headers.get('location') ?? path);
  };
  return { ...started, reference, path, choose };
}

test.each([
  ['pay', 'success', 'Paid'],
  ['fail', 'failed', 'Failed'],
  ['abandon', 'abandoned', 'Abandoned'],
])('the button "%s" ends a wait with "%s", and leads back to the shop', async (outcome, status, title) => {
  const { payments, page, reference, path, choose } = await startCheckout();
  const open = await page(`${path}?return`);
  for (const text of ['USD 1280.00', '<html lang="en">', `value="${outcome}"`]) expect(open).toContain(text);
  expect(readWayBack(open)).toEqual(noWayBack);
  const wait = payments.waitForFinalStatus(reference);
  const back = `${shop}?reference=${reference}`;
  // A second press changes nothing.
  for (const pressed of [outcome, outcome === 'pay' ? 'fail' : 'pay']) {
    const markup = await choose(pressed);
    expect(readWayBack(markup)).toEqual({ link: back, refresh: back });
    for (const text of [title, 'This page leads to 127.0.0.1:3000 in 3 seconds.'])
      expect(markup).toContain(text);
    expect(markup).not.toContain('<button');
  }
  await expect(wait).resolves.toMatchObject({ status });
  await expect(payments.verify(reference)).resolves.toMatchObject({ status });
  // Opened later, it stays.
  expect(readWayBack(await page(path))).toEqual({ link: back, refresh: null });
});

test('says what a real page does, without an address', async () => {
  const { choose } = await startCheckout({});
  const markup = await choose('pay');
  expect(readWayBack(markup)).toEqual(noWayBack);
  expect(markup).toContain('A real checkout page leads the customer back to the shop.');
  expect(markup).toContain('--return-url');
});

test.each([
  ['http://shop.test', 'http://shop.test/?reference=TXN'],
  ['https://shop.test/a?o=17&k=a%26b#paid', 'https://shop.test/a?o=17&k=a%26b&reference=TXN#paid'],
  ['https://shop.test/a?reference=mine&o=17&reference=2', 'https://shop.test/a?reference=TXN&o=17'],
  ['https://shop.test/a?a="><script>', 'https://shop.test/a?a=%22%3E%3Cscript%3E&reference=TXN'],
  ["https://shop.test/'; url=javascript:1", "https://shop.test/';%20url=javascript:1?reference=TXN"],
  ['HTTPS://Shop.test/Back', 'https://shop.test/Back?reference=TXN'],
])('prefers the address of the payment, with its reference: %s', async (address, expected) => {
  const { reference, choose } = await startCheckout({ returnUrl: shop }, toShop(address));
  const back = expected.replace('TXN', reference);
  const markup = await choose('pay');
  expect(readWayBack(markup)).toEqual({ link: back, refresh: back });
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

test('rejects a payment whose address is no http address, and creates none', async () => {
  const { sandbox, payments } = await startTestSandbox();
  for (const address of [...refused, null, 17, ['https://shop.test']]) {
    const starting = payments.initialize(payment, toShop(address));
    await expect(starting).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(starting).rejects.toMatchObject({
      outcome: 'rejected',
      fieldErrors: [{ field: 'sandbox_return_url', message: 'must be an http or https address' }],
    });
  }
  expect(sandbox.transactions).toEqual([]);
});
