import { expect, test } from 'vitest';
import { findEvent, payment, receiveEvents, startTestSandbox } from './start-sandbox.ts';
import { respondWith, startShop } from './start-shop.ts';

/** A form of faults, what its page then shows, and the fault as the API for scripts shows it. */
type Form = [fields: Record<string, string>, shown: string, fault: object, remaining?: number | 'always'];

test.each<Form>([
  [
    { kind: 'status', 'status.status': '503', 'status.body': 'empty' },
    '<b>chargeMobileMoney</b>, 1 remaining: status code: 503, empty',
    { kind: 'status', status: 503, body: 'empty' },
  ],
  [
    {
      kind: 'status',
      'status.status': '502',
      'status.body': 'html',
      'status.accepted': 'yes',
      times: 'always',
    },
    'until stopped: status code: 502, html, the service acts first',
    { kind: 'status', status: 502, body: 'html', accepted: true },
    'always',
  ],
  [
    { kind: 'rateLimited', 'rateLimited.retryAfter': '7', times: '3' },
    '3 remaining: rate limit: 7 s',
    { kind: 'rateLimited', retryAfter: 7_000 },
    3,
  ],
  [{ kind: 'reset' }, 'connection reset: before the service acts', { kind: 'reset' }],
  [
    { kind: 'wrongReference', 'wrongReference.reference': 'TXN-another' },
    'wrong reference: TXN-another',
    { kind: 'wrongReference', reference: 'TXN-another' },
  ],
  [
    { kind: 'lateApproval', 'lateApproval.after': '60' },
    'late approval: 60 s',
    { kind: 'lateApproval', after: 60_000 },
  ],
])('orders a fault of requests with %o', async (fields, shown, fault, remaining = 1) => {
  const { sandbox, page, press } = await startTestSandbox();
  const operation = 'chargeMobileMoney';
  const ordered = await press('/faults', { operation, times: '1', ...fields });
  expect([ordered.status, ordered.headers.get('location')]).toEqual([303, '/#faults']);
  const { faults } = await (await fetch(`${sandbox.url}/sandbox/faults`)).json();
  expect(faults).toEqual([{ operation, fault, remaining }]);
  expect(await page('/')).toContain(shown);
  await press('/faults/stop');
  expect(await page('/')).toContain('No fault is queued');
});

test.each<Form>([
  [{ kind: 'late', 'late.delay': '30' }, 'late: 30 s</b>, 1 remaining', { kind: 'late', delay: 30_000 }],
  [{ kind: 'early', 'early.delay': '2' }, 'early: 2 s</b>, 1 remaining', { kind: 'early', delay: 2_000 }],
  [{ kind: 'twice', times: '3' }, 'twice</b>, 3 remaining', { kind: 'twice' }, 3],
  [{ kind: 'lost', times: 'always' }, 'lost: never sent</b>, until stopped', { kind: 'lost' }, 'always'],
  [
    { kind: 'forged', 'forged.amount': '2.55', 'forged.reference': '', 'forged.status': '' },
    'forged: amount 2.55</b>, 1 remaining',
    { kind: 'forged', amount: '2.55' },
  ],
])('orders a fault of webhooks with %o', async (fields, shown, fault, remaining = 1) => {
  const { sandbox, page, press } = await startTestSandbox();
  expect((await press('/webhooks/faults', { times: '1', ...fields })).status).toBe(303);
  const { faults } = await (await fetch(`${sandbox.url}/sandbox/webhooks/faults`)).json();
  expect(faults).toEqual([{ fault, remaining }]);
  expect(await page('/webhooks')).toContain(shown);
  await press('/webhooks/faults/stop');
  expect(await page('/webhooks')).toContain('No fault is queued.');
});

const verify = { operation: 'verify', times: '1' };

test('refuses what no form sends with 400, and changes nothing', async () => {
  const { sandbox, page, press } = await startTestSandbox();
  const refused: [path: string, fields: Record<string, string>][] = [
    ['/faults', { times: '1' }],
    ['/faults', { ...verify, kind: 'nonsense' }],
    ['/faults', { ...verify, operation: 'refund', kind: 'reset' }],
    ['/faults', { ...verify, kind: 'status', 'status.status': '2e2.5', 'status.body': 'html' }],
    ['/faults', { ...verify, kind: 'reset', times: '0' }],
    ['/faults', { ...verify, kind: 'rateLimited', 'rateLimited.retryAfter': '-1' }],
    ['/webhooks/receiver', { url: 'ftp://127.0.0.1/' }],
    ['/webhooks/receiver', { url: 'shop' }],
    ['/webhooks/receiver', {}],
    ['/webhooks/faults', { kind: 'late', 'late.delay': '-1', times: '1' }],
    ['/webhooks/faults', { kind: 'late', 'late.delay': '1', times: '0' }],
    ['/webhooks/faults', { kind: 'vanished', times: '1' }],
    ['/webhooks/send', {}],
    ['/time', { minutes: '-5' }],
  ];
  for (const [path, fields] of refused) {
    const response = await press(path, fields);
    expect([path, fields, response.status]).toEqual([path, fields, 400]);
    expect(await response.text()).toContain('Nothing was changed');
  }
  for (const [path, text] of [
    ['/', 'No fault is queued'],
    ['/webhooks', 'No fault is queued'],
    ['/webhooks', 'No receiver is set, so no webhook is sent.'],
  ] as const)
    expect(await page(path)).toContain(text);
  expect(sandbox.webhooks.deliveries).toEqual([]);
});

test('sets a receiver, and shows each delivery with its attempts', async () => {
  const { sandbox, payments, page, press } = await startTestSandbox();
  // What the shop responds: markup, and a key of its own.
  const response = JSON.stringify({ message: '<b>seen</b>', key: 'sk_live_of_a_shop' });
  const shop = await startShop(respondWith([500, 200], response));
  const set = await press('/webhooks/receiver', { url: shop.url });
  expect([set.status, set.headers.get('location')]).toEqual([303, '/webhooks#receiver']);
  expect(await page('/webhooks')).toContain(`Sent to <code>${shop.url}</code>`);
  // Only a press sends it again, however long the page takes.
  sandbox.webhooks.deliverTo(shop.url, { retryDelays: [3_600_000] });
  const events = receiveEvents(`${sandbox.url}/events/webhooks`);
  const { reference } = await payments.initialize(payment);
  sandbox.approve(reference);
  expect(await findEvent(events, '<span class="bad">500</span>, next')).toContain('1 waiting');
  expect((await press('/webhooks/flush')).status).toBe(303);
  const event = await findEvent(events, 'after 2 attempts');
  for (const text of ['transaction.success', reference, 'x-sandbox-delivery', '&lt;b&gt;seen&lt;/b&gt;'])
    expect(event).toContain(text);
  expect(event).not.toContain('sk_live_of_a_shop');
  expect(await page('/webhooks')).toMatch(/badge success.*200.*<li><span class="bad">500<\/span>/s);
  expect(await page('/')).toContain('href="/webhooks#whd_1"');
  await press('/webhooks/receiver', { url: '' });
  expect(await page('/webhooks')).toContain('No receiver is set');
});
