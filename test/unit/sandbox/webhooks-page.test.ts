import { expect, test } from 'vitest';
import { charge, findEvent, payment, receiveEvents, startTestSandbox } from './start-sandbox.ts';
import { respondWith, startShop } from './start-shop.ts';

/** What the shop responds: markup, and a key of its own. */
const RESPONSE = JSON.stringify({ message: '<b>seen</b>', key: 'sk_live_of_a_shop' });

test('sets a receiver, and shows each delivery with its response', async () => {
  const { sandbox, payments, page, press } = await startTestSandbox();
  const shop = await startShop(respondWith([200], RESPONSE));
  expect(await page('/webhooks')).toContain('No receiver is set, so no webhook is sent.');
  const set = await press('/webhooks/receiver', { url: shop.url });
  expect([set.status, set.headers.get('location')]).toEqual([303, '/webhooks#receiver']);
  expect(await page('/webhooks')).toContain(`Sent to <code>${shop.url}</code>`);

  const events = receiveEvents(`${sandbox.url}/events/webhooks`);
  const { reference } = await payments.initialize(payment);
  sandbox.approve(reference);
  const event = await findEvent(events, 'badge success');
  for (const text of ['transaction.success', reference, 'x-sandbox-delivery', '&lt;b&gt;seen&lt;/b&gt;'])
    expect(event).toContain(text);
  expect(event).not.toContain('sk_live_of_a_shop');
  expect(await page('/')).toContain('href="/webhooks#whd_1"');

  await press('/webhooks/receiver', { url: '' });
  expect(await page('/webhooks')).toContain('No receiver is set');
});

test('shows each attempt, and sends what waits at once', async () => {
  const { sandbox, payments, page, press } = await startTestSandbox();
  const shop = await startShop(respondWith([500]));
  // Only a press sends it again, however long the page takes.
  sandbox.webhooks.deliverTo(shop.url, { retryDelays: [3_600_000] });
  const events = receiveEvents(`${sandbox.url}/events/webhooks`);
  const { reference } = await payments.chargeMobileMoney(charge);
  sandbox.decline(reference);
  expect(await findEvent(events, '<span class="bad">500</span>, next')).toContain('1 waiting');
  expect((await press('/webhooks/flush')).status).toBe(303);
  await findEvent(events, 'after 2 attempts');
  expect(await page('/webhooks')).toMatch(/badge success.*204.*<li><span class="bad">500<\/span>/s);
});

test('sends a webhook again, and a forged one', async () => {
  const { sandbox, payments, page, press } = await startTestSandbox();
  const shop = await startShop();
  const { reference } = await payments.chargeMobileMoney(charge);
  expect((await press('/webhooks/send', { about: reference })).status).toBe(400);
  expect(await page('/')).toContain('Set a webhook receiver');

  sandbox.webhooks.deliverTo(shop.url);
  expect((await press('/webhooks/send', { about: 'TXN-unknown' })).status).toBe(404);
  expect((await press('/webhooks/send')).status).toBe(400);
  await press('/webhooks/send', { about: reference });
  const empty = { reference: '', amount: '', status: '' };
  await press('/webhooks/send', { about: reference, forged: 'yes', ...empty });
  await press('/webhooks/send', { about: reference, forged: 'yes', ...empty, amount: '2.55' });
  await press('/webhooks/send', { about: reference, forged: 'yes', ...empty, reference: 'TXN-another' });
  await sandbox.webhooks.flush();
  expect(shop.read()).toMatchObject([
    { data: { reference, status: 'pending', amount: '25.50' } },
    { data: { reference, status: 'success', amount: '25.50' } },
    { data: { reference, status: 'pending', amount: '2.55' } },
    { data: { reference: 'TXN-another', status: 'pending', amount: '25.50' } },
  ]);
  expect(await page(`/webhooks?about=${reference}`)).toContain(`name="about" value="${reference}"`);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
});

test.each([
  [{ kind: 'late', 'late.delay': '30' }, 'late: 30 s</b>, 1 remaining', { kind: 'late', delay: 30_000 }],
  [{ kind: 'early', 'early.delay': '2' }, 'early: 2 s</b>, 1 remaining', { kind: 'early', delay: 2_000 }],
  [{ kind: 'twice', times: '3' }, 'twice</b>, 3 remaining', { kind: 'twice' }],
  [{ kind: 'lost', times: 'always' }, 'lost: never sent</b>, until stopped', { kind: 'lost' }],
  [
    { kind: 'forged', 'forged.amount': '2.55', 'forged.reference': '', 'forged.status': '' },
    'forged: amount 2.55</b>, 1 remaining',
    { kind: 'forged', amount: '2.55' },
  ],
])('injects %o into the next webhooks', async (fields, shown, fault) => {
  const { sandbox, page, press } = await startTestSandbox();
  expect((await press('/webhooks/faults', { times: '1', ...fields })).status).toBe(303);
  const { faults } = await (await fetch(`${sandbox.url}/sandbox/webhooks/faults`)).json();
  expect(faults).toEqual([{ fault, remaining: expect.anything() }]);
  expect(await page('/webhooks')).toContain(shown);
  await press('/webhooks/faults/stop');
  expect(await page('/webhooks')).toContain('No fault is queued.');
});

test('shows what verify still reports after an early webhook', async () => {
  const { sandbox, payments, page } = await startTestSandbox();
  const shop = await startShop();
  sandbox.webhooks.deliverTo(shop.url);
  sandbox.webhooks.fault({ kind: 'early', delay: 60_000 });
  const { reference } = await payments.initialize(payment);
  sandbox.approve(reference);
  expect(await page('/')).toContain('<span>verify reports pending until');
  sandbox.advance(60_000);
  expect(await page('/')).not.toContain('verify reports');
});

test.each([
  ['/webhooks/receiver', { url: 'ftp://127.0.0.1/' }],
  ['/webhooks/receiver', { url: 'shop' }],
  ['/webhooks/receiver', {}],
  ['/webhooks/faults', { kind: 'late', 'late.delay': '-1', times: '1' }],
  ['/webhooks/faults', { kind: 'late', 'late.delay': '1', times: '0' }],
  ['/webhooks/faults', { kind: 'vanished', times: '1' }],
  ['/webhooks/faults', { kind: 'forged', 'forged.status': 's'.repeat(256), times: '1' }],
])('responds with 400 to %s with %o', async (path, fields) => {
  const { sandbox, page, press } = await startTestSandbox();
  expect((await press(path, fields)).status).toBe(400);
  const markup = await page('/webhooks');
  for (const text of ['No receiver is set', 'No fault is queued']) expect(markup).toContain(text);
  expect(sandbox.webhooks.deliveries).toEqual([]);
});

test('shows the newest 100 deliveries first', async () => {
  const { sandbox, payments, page } = await startTestSandbox();
  const shop = await startShop();
  sandbox.webhooks.deliverTo(shop.url);
  const { reference } = await payments.initialize(payment);
  for (let count = 0; count < 120; count++) sandbox.webhooks.send(reference);
  await sandbox.webhooks.flush();
  const markup = await page('/webhooks');
  const ids = [...markup.matchAll(/<li id="whd_(\d+)"/g)].map(([, id]) => Number(id));
  expect(ids).toEqual(Array.from({ length: 100 }, (_, index) => 120 - index));
  expect(markup).toContain('>100 of 120<');
  // A row of a transaction shows fewer.
  expect((await page('/')).match(/href="\/webhooks#whd_/g)).toHaveLength(10);
});
