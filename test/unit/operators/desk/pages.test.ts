import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../../../src/stores/index.ts';
import { API_KEY, catchError, charge, PHONE } from '../../../helpers/service.ts';
import { MINUTE, momo, SECOND, sweepFor } from '../../../helpers/world.ts';
import { KOFI, openDesk } from './open-desk.ts';

describe('what needs a person', () => {
  test('is listed oldest first, in pages', async () => {
    const { own, open, loseResponse } = openDesk();
    // Those of one millisecond are in the order of their names.
    const orders = Array.from({ length: 51 }, (_, index) => `o${100 + index}`);
    for (const order of orders) await loseResponse(order);
    const { html } = await open('?');
    const listed = [...html.matchAll(/\?order=(o\d+)"/g)].map(([, id]) => id);
    expect(listed).toEqual(orders.slice(0, 50));
    expect(html).toContain('the oldest 50');
    expect(html).toContain('href="?limit=100"');
    expect((await open('?limit=100')).html).toContain('?order=o150"');
    await own.journal.resolve('o100/1', 'closed', { by: KOFI, reason: 'paid back' });
    expect((await open('?limit=100')).html).not.toContain('?order=o100"');
  });

  test('is said to be unknown if the journal fails', async () => {
    const store = { ...memoryStore(), list: () => Promise.reject(new Error('down')) };
    const { open } = openDesk({}, store);
    const { status, html } = await open('?');
    expect(status).toBe(503);
    expect(html).toContain('role="alert"');
    expect(html).not.toContain('Nothing needs a person.');
  });
});

describe('a search', () => {
  test.each(['17', '17/1', ' 17 '])('for "%s" leads to the order', async (text) => {
    const { own, open } = openDesk();
    await own.charge('17', momo);
    expect((await open(`?find=${encodeURIComponent(text)}`)).html).toContain('<h1>Order 17</h1>');
  });

  test('for a transaction leads to what it belongs to', async () => {
    const { own, open } = openDesk();
    const { payments } = await own.charge('17', momo);
    const { reference } = await own.payments.chargeMobileMoney(
      { ...momo, amount: 9 },
      { idempotencyKey: 'k' },
    );
    expect((await open(`?find=${payments[0]?.reference}`)).html).toContain('<h1>Order 17</h1>');
    expect((await open(`?find=${reference}`)).html).toContain('<h1>Key k</h1>');
  });

  test('for an order that is named like a transaction leads to it', async () => {
    const { own, open } = openDesk();
    await own.charge('TXN-5', momo);
    expect((await open('?find=TXN-5')).html).toContain('<h1>Order TXN-5</h1>');
  });

  test('for a name of an order and of a key shows both', async () => {
    const { own, open } = openDesk();
    await own.charge('17', momo);
    await own.payments.chargeMobileMoney({ ...momo, amount: 9 }, { idempotencyKey: '17/1' });
    const { html } = await open('?find=17/1');
    expect(html).toContain('href="?order=17"');
    expect(html).toContain('href="?key=17%2F1"');
  });

  test('finds an order whose id begins with "order" by its whole id, and shows no other one by it', async () => {
    const { own, open } = openDesk();
    await own.charge('order 17', momo);
    expect((await open('?find=order+17')).html).toContain('<h1>Order order 17</h1>');
    for (const query of ['?find=17', '?order=17']) expect(await open(query)).toMatchObject({ status: 404 });
  });

  test.each(['?find=99', '?order=99', '?key=99', '?find=TXN-99'])(
    'for nothing (%s) says so',
    async (query) => {
      const { status, html } = await openDesk().open(query);
      expect(status).toBe(404);
      expect(html).toMatch(/The journal has no (?:record|order)/);
    },
  );
});

/** Without what a browser sends, and shows nobody. */
const seen = (html: string) => html.replaceAll(/<input type="hidden" [^>]*>/g, '');

test('warns before an order or a key that might have been charged is free', async () => {
  const { shop, own, open, loseResponse } = openDesk();
  await loseResponse('17');
  shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await catchError(own.payments.chargeMobileMoney(momo, { idempotencyKey: 'order-18' }));
  for (const query of ['?order=17', '?key=order-18'])
    expect((await open(query)).html, query).toContain('the customer pays twice');
});

describe('an order', () => {
  test('shows its payments, and its history in order of time', async () => {
    const { shop, own, open } = openDesk();
    await own.charge('17', momo);
    await own.charge('17', { ...momo, phone: '0201234567', network: 'telecel' }, { startAnother: true });
    const { payments } = await own.read('17');
    for (const { reference = '' } of payments) shop.service.approve(reference);
    await sweepFor(MINUTE, own);
    const { html } = await open('?order=17');
    expect(html).toContain('Telecel Cash');
    expect(html.indexOf('Payment 1: The request was sent')).toBeLessThan(
      html.indexOf('Payment 2: The request was sent'),
    );
    const times = [...html.slice(html.indexOf('<h2 id="history">')).matchAll(/datetime="([^"]+)"/g)];
    expect(new Set(times.map(([, time]) => time)).size).toBeGreaterThan(1);
    expect(times.map(([, time]) => time)).toEqual(times.map(([, time]) => time).sort());
    expect(html).toContain('>Paid<');
  });

  test('shows what the service says now beside what is recorded', async () => {
    const { shop, own, open } = openDesk();
    shop.service.fault('chargeMobileMoney', { kind: 'wrongAmount', amount: '12.00' });
    await own.charge('17', momo);
    const { html } = await open('?order=17');
    expect(html).toContain('recorded with <b>GHS 12.00</b>, <b class="differs">not GHS 25.50</b>.');
    expect(html).toContain('The service says now: <b>pending</b>, <b>GHS 25.50</b>.');
    shop.service.fault('verify', { kind: 'status', status: 500 });
    expect((await open('?order=17')).html).toContain('The service could not be asked just now.');
  });

  test('asks the service about nothing that needs nobody', async () => {
    const { shop, own, open } = openDesk();
    await own.charge('17', momo);
    await open('?order=17');
    expect(shop.checks).toEqual([]);
  });

  test('is shown after 5 s, although the service hangs', async () => {
    const { shop, own, open } = openDesk();
    shop.service.fault('chargeMobileMoney', { kind: 'wrongAmount', amount: '12.00' });
    await own.charge('17', momo);
    shop.service.fault('verify', { kind: 'hang' });
    expect((await open('?order=17')).html).toContain('The service could not be asked just now.');
    expect(shop.clock.now).toBeLessThan(6 * SECOND);
  });

  test('shows its latest price beside what was paid, which can be accepted', async () => {
    const { shop, own, open, decide } = openDesk();
    const { payments } = await own.charge('17', momo);
    await own.charge('17', { ...momo, amount: '30.00' });
    shop.service.approve(payments[0]?.reference ?? '');
    await own.wait('17', { timeout: 60_000 });
    const { html } = await open('?order=17');
    expect(html).toContain('latest price is <b>GHS 30.00</b>, <b class="differs">not GHS 25.50</b>.');
    expect(html).toContain('The service says now: <b>success</b>, <b>GHS 25.50</b>.');
    expect(html).toContain('<summary>Take GHS 25.50 as it is</summary>');
    const decided = await decide('?order=17', 'accepted', { reason: 'the customer is a regular' });
    expect(decided.html).toContain('The payment counts as paid.');
    await own.sweep();
    expect(shop.paid).toMatchObject([{ order: '17' }]);
  });

  test('shows which of two payments pays it', async () => {
    const { shop, own, open } = openDesk();
    await own.charge('17', momo);
    const { payments } = await own.charge('17', { ...momo, network: 'telecel' }, { startAnother: true });
    for (const { reference = '' } of payments) shop.service.approve(reference);
    await sweepFor(MINUTE, own);
    const { html } = await open('?order=17');
    const winner = (await own.read('17')).payments.findIndex(({ attention }) => attention === undefined);
    const [, pays] = /id="title-(\d)">Payment \d<\/h2> <span class="badge success">/.exec(html) ?? [];
    expect(pays).toBe(String(winner + 1));
    expect(html.match(/Pays the order/g)).toHaveLength(1);
  });

  test.each([
    [
      'was refused',
      { kind: 'status', status: 400 },
      'The request was sent, and was refused: invalid_request',
    ],
    ['got no result', { kind: 'reset' }, 'The request was sent, and got no result: connection_error'],
  ] as const)('has in its history that a request %s', async (_what, fault, text) => {
    const { shop, own, open } = openDesk();
    shop.service.fault('chargeMobileMoney', fault);
    await own.charge('17', momo);
    expect((await open('?order=17')).html).toContain(text);
  });

  test('shows no API key, phone number or email of a customer', async () => {
    const { shop, open, decide, loseResponse } = openDesk();
    const reference = await loseResponse('17');
    const message = `${API_KEY} may not read ${PHONE} of ${charge.customer_email}`;
    shop.service.fault('verify', { kind: 'status', status: 400, body: { message } });
    const refused = await decide('?order=17', 'reference', { reference, reason: 'found' });
    expect(refused.status).not.toBe(200);
    const pages = await Promise.all(['?', '?order=17', '?find=17'].map((query) => open(query)));
    for (const { html } of [refused, ...pages])
      for (const secret of [API_KEY, PHONE, charge.customer_email]) expect(html).not.toContain(secret);
  });

  test.each(['"><script>alert(1)</script>', "'onload='x", 'a\u202egpj', 'x&amp;y?#'])(
    'escapes an id such as %j',
    async (id) => {
      const { own, open, decide } = openDesk();
      await own.charge(id, { ...momo, amount: '26.00' });
      const { status, html } = await open(`?${new URLSearchParams({ order: id })}`);
      expect(status).toBe(200);
      expect(seen(html)).not.toMatch(/<script|'onload='|\u202e/);
      expect(html).toContain('Under way');
      const found = await open(`?${new URLSearchParams({ find: id })}`);
      expect(seen(found.html)).not.toMatch(/<script|'onload='|\u202e/);
      const query = `?${new URLSearchParams({ order: id })}`;
      const refused = await decide(query, 'reference', { reference: id, reason: id.slice(0, 9) });
      expect(refused.status).toBe(409);
      expect(refused.html).not.toMatch(/<script|'onload='/);
    },
  );
});
