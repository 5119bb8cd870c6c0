import { request } from 'node:http';
import { expect, test } from 'vitest';
import { charge, hostile, newsFrom, newsOf, payment, start } from './start.ts';

test('the checkout page shows amount and currency, and a button for each outcome', async () => {
  const { payments, page } = await start();
  const { reference } = await payments.initialize({ ...payment, amount: '1280.00', currency: 'USD' });
  const markup = await page(`/checkout/${reference}`);
  expect(markup).toContain('USD 1280.00');
  expect(markup).toContain('<html lang="en">');
  for (const outcome of ['pay', 'fail', 'abandon']) expect(markup).toContain(`value="${outcome}"`);
});

test('after a button the checkout page shows the result, and what has ended stays so', async () => {
  const { payments, page, press } = await start();
  const { reference } = await payments.initialize(payment);
  const path = `/checkout/${reference}`;
  const answer = await press(path, { outcome: 'fail' });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, path]);
  const markup = await page(path);
  expect(markup).toContain('Failed');
  expect(markup).not.toContain('<button');

  await press(path, { outcome: 'pay' });
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'failed' });
});

test.each(['', 'win', '__proto__', 'constructor'])('no outcome "%s" can be pressed', async (outcome) => {
  const { payments, press } = await start();
  const { reference } = await payments.initialize(payment);
  expect((await press(`/checkout/${reference}`, { outcome })).status).toBe(400);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

test('the phone rings for a charge, and any four digits approve it', async () => {
  const { payments, page, press } = await start();
  const { reference } = await payments.chargeMobileMoney({ ...charge, network: 'telecel' });
  const markup = await page('/phone');
  for (const text of ['Telecel Cash', 'GHS 25.50', '024 412 3456', reference]) expect(markup).toContain(text);

  const wrong = await press('/phone', { reference, answer: 'approve', pin: '123' });
  expect(wrong.status).toBe(400);
  expect(await wrong.text()).toContain('A PIN has four digits.');
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });

  const right = await press('/phone', { reference, answer: 'approve', pin: '0000' });
  expect(right.headers.get('location')).toBe('/phone');
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'success' });
});

test('a charge is declined on the phone without a PIN', async () => {
  const { payments, press } = await start();
  const { reference } = await payments.chargeMobileMoney(charge);
  await press('/phone', { reference, answer: 'decline' });
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'failed' });
});

test('a prompt that is left alone expires by itself: the charge has failed, and the phone stops ringing', async () => {
  const { sandbox, payments } = await start({ promptExpiry: 150 });
  const { reference } = await payments.chargeMobileMoney(charge);
  const news = newsFrom(`${sandbox.url}/events/phone`);
  await newsOf(news, reference);
  await newsOf(news, `<li id="${reference}" data-gone></li>`);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'failed' });
});

test('a charge has no checkout page, and a payment by checkout page no prompt', async () => {
  const { payments, sandbox, press } = await start();
  const charged = await payments.chargeMobileMoney(charge);
  const started = await payments.initialize(payment);
  expect((await fetch(`${sandbox.url}/checkout/${charged.reference}`)).status).toBe(404);
  expect((await press(`/checkout/${charged.reference}`, { outcome: 'pay' })).status).toBe(404);
  const answer = { reference: started.reference, answer: 'approve', pin: '1234' };
  expect((await press('/phone', answer)).status).toBe(404);
  expect(sandbox.transactions.map(({ status }) => status)).toEqual(['pending', 'pending']);
});

const origins = ['https://evil.example', 'http://localhost:1', 'null', null];

test.each(origins)('no form of another origin changes anything: %s', async (origin) => {
  const { sandbox, payments, press } = await start();
  const started = await payments.initialize(payment);
  const charged = await payments.chargeMobileMoney(charge);
  const { reference } = charged;
  const answers = [
    await press(`/checkout/${started.reference}`, { outcome: 'pay' }, origin),
    await press('/phone', { reference, answer: 'approve', pin: '1234' }, origin),
    await press('/faults', { operation: 'verify', kind: 'reset', times: '1' }, origin),
    await press('/faults/stop', {}, origin),
  ];
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  expect(sandbox.transactions.map(({ status }) => status)).toEqual(['pending', 'pending']);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

test('a name that another site points at this machine is not answered', async () => {
  const { sandbox } = await start();
  const statusFor = (host: string) =>
    new Promise((resolve) => {
      request(sandbox.url, { headers: { host } }, (answer) => resolve(answer.resume().statusCode)).end();
    });
  expect(await statusFor('evil.example')).toBe(421);
  expect(await statusFor('localhost.evil.example')).toBe(421);
  expect(await statusFor('localhost:4010')).toBe(200);
  expect(await statusFor('[::1]:4010')).toBe(200);
});

test('markup in customer data is shown as text, on every page and in all news', async () => {
  const { sandbox, payments, page } = await start();
  const { customer_email, phone } = hostile;
  const started = await payments.initialize({ ...payment, customer_email });
  await payments.chargeMobileMoney({ ...charge, customer_email, phone });
  const shown = [
    await page('/'),
    await page('/phone'),
    await page(`/checkout/${started.reference}`),
    await newsOf(newsFrom(`${sandbox.url}/events/dashboard`), 'onerror'),
    await newsOf(newsFrom(`${sandbox.url}/events/phone`), 'onerror'),
  ];
  for (const markup of shown) {
    expect(markup).toContain('onerror=alert(1)&gt;');
    expect(markup).not.toContain('<img');
  }
});

test('markup in the path of a request is shown as text', async () => {
  const { sandbox, page } = await start();
  await fetch(`${sandbox.baseUrl}/transactions/verify/%3Cimg%20src=x%3E`);
  await fetch(`${sandbox.baseUrl}/'"><b>`);
  expect(await page('/')).not.toMatch(/<img|"><b>/);
});

test('pages run no script but their own file, load nothing from elsewhere, and are framed by no one', async () => {
  const { sandbox, payments } = await start();
  const { checkout_url } = await payments.initialize(payment);
  for (const address of [`${sandbox.url}/`, `${sandbox.url}/phone`, checkout_url, `${sandbox.url}/nowhere`]) {
    const answer = await fetch(address);
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    const markup = await answer.text();
    expect(markup).not.toMatch(
      /<script(?! src="\/assets\/live.js" defer><\/script>)|<style|\sstyle=|\son\w+=/,
    );
    for (const [, link] of markup.matchAll(/\s(?:href|src|action)="([^"]*)"/g)) {
      expect(link).toMatch(/^\/(?!\/)/);
      const { status } = await fetch(sandbox.url + link, { method: 'HEAD' });
      if (!link?.startsWith('/faults')) expect(status).toBe(200);
    }
  }
});

test('no address holds customer data', async () => {
  const { payments, page } = await start();
  await payments.initialize(payment);
  await payments.chargeMobileMoney(charge);
  const links = [...`${await page('/')}${await page('/phone')}`.matchAll(/(?:href|src|action)="([^"]*)"/g)];
  expect(links.length).toBeGreaterThan(5);
  for (const [, link] of links) expect(link).not.toMatch(/@|ama|%40|024|412/);
});

test('the dashboard shows the requests behind a transaction, those without one, and no key', async () => {
  const { sandbox, client, payments, page } = await start();
  const { reference } = await payments.initialize(payment);
  await payments.verify(reference);
  await client({ apiKey: 'sk_live_of_a_real_shop' })
    .verify(reference)
    .catch(() => {});
  await payments.verify('TXN-unknown').catch(() => {});
  const markup = await page('/');
  const requests = [...markup.matchAll(/<b>(\w+)<\/b> ([^<]*)<\/code><\/td>\s*<td class="\w*">([\w ]+)</g)];
  const path = `/transactions/verify/${reference}`;
  expect(requests.map(([, ...request]) => request.join(' '))).toEqual([
    `GET ${path} 401`,
    `GET ${path} 200`,
    'POST /transactions/initialize 200',
    'GET /transactions/verify/TXN-unknown 404',
  ]);
  expect(markup).not.toContain('sk_live_of_a_real_shop');
  expect(markup).toContain(sandbox.baseUrl);
});

test('the dashboard hears of each change without asking', async () => {
  const { sandbox, payments } = await start();
  const news = newsFrom(`${sandbox.url}/events/dashboard`);
  const { reference } = await payments.initialize(payment);
  expect(await newsOf(news, reference)).toContain('badge pending');
  sandbox.approve(reference);
  expect(await newsOf(news, 'badge success')).toContain(reference);
});
