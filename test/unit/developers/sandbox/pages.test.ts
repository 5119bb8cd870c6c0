import { expect, test } from 'vitest';
import { charge, findEvent, hostile, payment, receiveEvents, startTestSandbox } from './start-sandbox.ts';

const origins = ['https://evil.example', 'http://localhost:1', 'null', null];

/** Every form of the pages. */
const forms = (checkout: string, charge: string): [path: string, fields: Record<string, string>][] => [
  [`/checkout/${checkout}`, { outcome: 'pay' }],
  ['/phone', { reference: charge, decision: 'approve', pin: '1234' }],
  ['/decide', { reference: charge, decision: 'approve' }],
  ['/faults', { operation: 'verify', kind: 'reset', times: '1' }],
  ['/faults/stop', {}],
  ['/webhooks/receiver', { url: 'http://127.0.0.1:9/' }],
  ['/webhooks/faults', { kind: 'lost', times: '1' }],
  ['/webhooks/faults/stop', {}],
  ['/webhooks/send', { about: charge }],
  ['/webhooks/flush', {}],
  ['/time', { minutes: '60' }],
];

test.each(origins)('responds with 403 to every form of the origin %s', async (origin) => {
  const { sandbox, payments, press } = await startTestSandbox();
  const started = await payments.initialize(payment);
  const { reference } = await payments.chargeMobileMoney(charge);
  for (const [path, fields] of forms(started.reference, reference)) {
    const response = await press(path, fields, origin);
    expect([path, response.status]).toEqual([path, 403]);
    const text = await response.text();
    expect(text).toContain("This form takes requests of the sandbox's own pages only. Nothing was changed.");
    expect(text).toContain('POST /sandbox/transactions/:reference');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  }
  expect(sandbox.transactions.map(({ status }) => status)).toEqual(['pending', 'pending']);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

test('escapes customer data on every page and in every event', async () => {
  const { sandbox, payments, page } = await startTestSandbox();
  const { customer_email, phone } = hostile;
  const started = await payments.initialize({ ...payment, customer_email });
  await payments.chargeMobileMoney({ ...charge, customer_email, phone });
  const shown = [
    await page('/'),
    await page('/phone'),
    await page(`/checkout/${started.reference}`),
    await page(`/?search=${encodeURIComponent(customer_email)}`),
    await page(`/webhooks?about=${encodeURIComponent(customer_email)}`),
    await findEvent(receiveEvents(`${sandbox.url}/events/dashboard`), 'onerror'),
    await findEvent(receiveEvents(`${sandbox.url}/events/phone`), 'onerror'),
  ];
  for (const markup of shown) {
    expect(markup).toContain('onerror=alert(1)&gt;');
    expect(markup).not.toContain('<img');
  }
  await fetch(`${sandbox.baseUrl}/transactions/verify/%3Cimg%20src=x%3E`);
  await fetch(`${sandbox.baseUrl}/'"><b>`);
  expect(await page('/')).not.toMatch(/<img|"><b>/);
});

test('pages run and load only their own files, which no customer data names', async () => {
  const { sandbox, payments } = await startTestSandbox();
  const { checkout_url } = await payments.initialize(payment);
  await payments.chargeMobileMoney(charge);
  const paths = ['/', '/webhooks', '/phone', '/nowhere'];
  for (const address of [...paths.map((path) => sandbox.url + path), checkout_url]) {
    const response = await fetch(address);
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    const markup = await response.text();
    expect(markup).not.toMatch(
      /<script(?! src="\/assets\/live.js" defer><\/script>)|<style|\sstyle=|\son\w+=/,
    );
    for (const [, kind, link] of markup.matchAll(/\s(href|src|action)="([^"]*)"/g)) {
      expect(link).toMatch(/^(?:\/(?!\/)|#)/);
      expect(link).not.toMatch(/@|ama|%40|024|412/);
      if (kind === 'action' || link?.startsWith('#')) continue;
      const { status } = await fetch(sandbox.url + link, { method: 'HEAD' });
      expect(status).toBe(200);
    }
  }
});
