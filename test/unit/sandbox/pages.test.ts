import { request } from 'node:http';
import { expect, test } from 'vitest';
import { charge, findEvent, hostile, payment, receiveEvents, startTestSandbox } from './start-sandbox.ts';

test('the checkout page shows the amount and a button for each outcome', async () => {
  const { payments, page } = await startTestSandbox();
  const { reference } = await payments.initialize({ ...payment, amount: '1280.00', currency: 'USD' });
  const markup = await page(`/checkout/${reference}`);
  expect(markup).toContain('USD 1280.00');
  expect(markup).toContain('<html lang="en">');
  for (const outcome of ['pay', 'fail', 'abandon']) expect(markup).toContain(`value="${outcome}"`);
});

test('the checkout page shows a final result that no button changes', async () => {
  const { payments, page, press } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  const path = `/checkout/${reference}`;
  const response = await press(path, { outcome: 'fail' });
  expect([response.status, response.headers.get('location')]).toEqual([303, `${path}?return`]);
  const markup = await page(path);
  expect(markup).toContain('Failed');
  expect(markup).not.toContain('<button');

  await press(path, { outcome: 'pay' });
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'failed' });
});

test.each(['', 'win', '__proto__', 'constructor'])(
  'the checkout page responds with 400 to the outcome "%s"',
  async (outcome) => {
    const { payments, press } = await startTestSandbox();
    const { reference } = await payments.initialize(payment);
    expect((await press(`/checkout/${reference}`, { outcome })).status).toBe(400);
    await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
  },
);

test('the phone shows a prompt that any four digits approve', async () => {
  const { payments, page, press } = await startTestSandbox();
  const { reference } = await payments.chargeMobileMoney({ ...charge, network: 'telecel' });
  const markup = await page('/phone');
  for (const text of ['Telecel Cash', 'GHS 25.50', '024 412 3456', reference]) expect(markup).toContain(text);

  const wrong = await press('/phone', { reference, decision: 'approve', pin: '123' });
  expect(wrong.status).toBe(400);
  expect(await wrong.text()).toContain('A PIN has four digits.');
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });

  const right = await press('/phone', { reference, decision: 'approve', pin: '0000' });
  expect(right.headers.get('location')).toBe('/phone');
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'success' });
});

test('the phone declines a charge without a PIN', async () => {
  const { payments, press } = await startTestSandbox();
  const { reference } = await payments.chargeMobileMoney(charge);
  await press('/phone', { reference, decision: 'decline' });
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'failed' });
});

test('shows on the phone that a prompt has expired', async () => {
  const { sandbox, payments } = await startTestSandbox({ promptExpiry: 600_000 });
  const { reference } = await payments.chargeMobileMoney(charge);
  const events = receiveEvents(`${sandbox.url}/events/phone`);
  await findEvent(events, reference);
  sandbox.advance(600_000);
  const event = await findEvent(events, 'Expired');
  expect(event).toContain(`<li id="${reference}" class="prompt ended`);
  expect(event).not.toContain('name="pin"');
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'failed' });
});

test('a charge has no checkout page, and a checkout payment no prompt', async () => {
  const { payments, sandbox, press } = await startTestSandbox();
  const charged = await payments.chargeMobileMoney(charge);
  const started = await payments.initialize(payment);
  expect((await fetch(`${sandbox.url}/checkout/${charged.reference}`)).status).toBe(404);
  expect((await press(`/checkout/${charged.reference}`, { outcome: 'pay' })).status).toBe(404);
  const form = { reference: started.reference, decision: 'approve', pin: '1234' };
  expect((await press('/phone', form)).status).toBe(404);
  expect(sandbox.transactions.map(({ status }) => status)).toEqual(['pending', 'pending']);
});

const origins = ['https://evil.example', 'http://localhost:1', 'null', null];

test.each(origins)('responds with 403 to every form of the origin %s', async (origin) => {
  const { sandbox, payments, press } = await startTestSandbox();
  const started = await payments.initialize(payment);
  const charged = await payments.chargeMobileMoney(charge);
  const { reference } = charged;
  const responses = [
    await press(`/checkout/${started.reference}`, { outcome: 'pay' }, origin),
    await press('/phone', { reference, decision: 'approve', pin: '1234' }, origin),
    await press('/faults', { operation: 'verify', kind: 'reset', times: '1' }, origin),
    await press('/faults/stop', {}, origin),
    await press('/webhooks/receiver', { url: 'http://127.0.0.1:9/' }, origin),
    await press('/webhooks/faults', { kind: 'lost', times: '1' }, origin),
    await press('/webhooks/faults/stop', {}, origin),
    await press('/webhooks/send', { about: reference }, origin),
    await press('/webhooks/flush', {}, origin),
    await press('/time', { minutes: '60' }, origin),
  ];
  expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(403));
  for (const response of responses) {
    const text = await response.text();
    expect(text).toContain("This form takes requests of the sandbox's own pages only. Nothing was changed.");
    expect(text).toContain('POST /sandbox/transactions/:reference');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  }
  expect(sandbox.transactions.map(({ status }) => status)).toEqual(['pending', 'pending']);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

test('responds with 421 to a host name that is not its own', async () => {
  const { sandbox } = await startTestSandbox();
  const statusFor = (host: string) =>
    new Promise((resolve) => {
      request(sandbox.url, { headers: { host } }, (response) => resolve(response.resume().statusCode)).end();
    });
  expect(await statusFor('evil.example')).toBe(421);
  expect(await statusFor('localhost.evil.example')).toBe(421);
  expect(await statusFor('localhost:4010')).toBe(200);
  expect(await statusFor('[::1]:4010')).toBe(200);
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
});

test('escapes the path of a request', async () => {
  const { sandbox, page } = await startTestSandbox();
  await fetch(`${sandbox.baseUrl}/transactions/verify/%3Cimg%20src=x%3E`);
  await fetch(`${sandbox.baseUrl}/'"><b>`);
  expect(await page('/')).not.toMatch(/<img|"><b>/);
});

test('pages run and load only their own files, and cannot be framed', async () => {
  const { sandbox, payments } = await startTestSandbox();
  const { checkout_url } = await payments.initialize(payment);
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
      if (kind === 'action' || link?.startsWith('#')) continue;
      const { status } = await fetch(sandbox.url + link, { method: 'HEAD' });
      expect(status).toBe(200);
    }
  }
});

test('no link contains customer data', async () => {
  const { payments, page } = await startTestSandbox();
  await payments.initialize(payment);
  await payments.chargeMobileMoney(charge);
  const markup = `${await page('/')}${await page('/webhooks')}${await page('/phone')}`;
  const links = [...markup.matchAll(/(?:href|src|action)="([^"]*)"/g)];
  expect(links.length).toBeGreaterThan(5);
  for (const [, link] of links) expect(link).not.toMatch(/@|ama|%40|024|412/);
});
