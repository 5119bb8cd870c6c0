import { describe, expect, test } from 'vitest';
import { momo } from '../../../helpers/world.ts';
import { KOFI, openDesk } from './open-desk.ts';

const REASON = 'found by its request id';

test('leads from a lost response to an order that is paid', async () => {
  const { shop, own, open, decide, loseResponse } = openDesk();
  const reference = await loseResponse('17');
  expect(await own.read('17')).toMatchObject({ state: 'in_review', reason: 'unresolved' });
  expect((await open('?')).html).toContain('href="?order=17"');

  const decided = await decide('?order=17', 'reference', { reference, reason: REASON });
  expect(decided).toMatchObject({
    status: 200,
    html: expect.stringContaining('<b>Recorded.</b> The payment is followed'),
  });
  expect(decided.html).toContain(`${KOFI}: ${REASON}`);
  expect((await open('?')).html).toContain('Nothing needs a person.');
  shop.service.approve(reference);
  expect(await own.wait('17', { timeout: 60_000 })).toMatchObject({ state: 'paid' });
  await own.sweep();
  expect(shop.paid).toMatchObject([{ order: '17', transaction: { reference } }]);
  expect((await open('?order=17')).html).toContain('>Paid<');
  expect(shop.posts).toHaveLength(1);
});

test('lets the customer pay again once no charge exists', async () => {
  const { shop, own, decide } = openDesk();
  shop.service.fault('chargeMobileMoney', { kind: 'reset' });
  await own.charge('17', momo);
  const wrong = await decide('?order=17', 'not_charged', { reason: REASON, amount: '25.05' });
  expect(wrong).toMatchObject({
    status: 422,
    html: expect.stringContaining('The amount is 25.50: type it to confirm.'),
  });
  expect(wrong.html).toContain(`value="${REASON}"`);
  expect(await own.read('17')).toMatchObject({ state: 'in_review' });

  const decided = await decide('?order=17', 'not_charged', { reason: REASON, amount: '25.5' });
  expect(decided.html).toContain('The customer can now pay again.');
  expect(await own.read('17')).toMatchObject({ state: 'unpaid', canPay: true });
});

test('closes a payment that is dealt with outside, and can replace that', async () => {
  const { own, open, decide, loseResponse } = openDesk();
  const reference = await loseResponse('17');
  expect((await open('?order=17')).html).toContain('The customer can then pay the order again, unless');
  const closed = await decide('?order=17', 'closed', { reason: 'paid back' });
  expect(closed.html).toContain('not followed. The customer can now pay again, with another payment.');
  expect(closed.html).toContain('<title>Recorded: Order 17');
  expect((await open('?order=17')).html).toContain('Decide again');
  await decide('?order=17', 'reference', { reference, reason: 'it was not paid back' });
  const entry = await own.journal.read('17/1');
  expect(entry?.resolutions.map(({ resolution }) => resolution)).toEqual([
    'closed',
    'taken_back',
    { reference },
  ]);
});

test('adds a transaction to an order, if the service has it', async () => {
  const { shop, own, send } = openDesk();
  await own.charge('17', momo);
  const { reference } = await own.payments.chargeMobileMoney(momo, { idempotencyKey: null });
  const form = { payment: 'order 17', offer: 'reference', reason: REASON };
  const unknown = await send('?order=17', { ...form, reference: 'TXN-nowhere' });
  expect(unknown).toMatchObject({
    status: 409,
    html: expect.stringContaining('The service has no such transaction.'),
  });
  expect(unknown.html).toContain('value="TXN-nowhere"');
  const added = await send('?order=17', { ...form, reference });
  expect(added).toMatchObject({ status: 200, html: expect.stringContaining('<b>Recorded.</b>') });
  // No request was sent for it.
  expect(added.html).not.toContain('Payment 2: The request');
  expect((await own.read('17')).payments).toMatchObject([{}, { reference }]);
  expect(shop.posts).toHaveLength(2);
});

test('adds a transaction to the order of the page, and to none whose id has no space at its end', async () => {
  const { own, decide } = openDesk();
  for (const [order, phone] of [
    ['17', '0551234987'],
    ['17 ', '0551234988'],
  ] as const)
    await own.charge(order, { ...momo, phone });
  const { reference } = await own.payments.chargeMobileMoney(momo, { idempotencyKey: null });
  await decide(`?${new URLSearchParams({ order: '17 ' })}`, 'reference', { reference, reason: REASON });
  expect((await own.read('17')).payments).toHaveLength(1);
  expect((await own.read('17 ')).payments).toMatchObject([{}, { reference }]);
});

test('resolves the key of a shop without orders', async () => {
  const { shop, own, open, decide } = openDesk({ orderPayments: undefined });
  shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await own.payments.chargeMobileMoney(momo, { idempotencyKey: 'order-17' }).catch(() => {});
  expect((await open('?')).html).toContain('href="?key=order-17"');
  const reference = shop.service.transactions.at(-1)?.reference ?? '';
  const decided = await decide('?key=order-17', 'reference', { reference, reason: REASON });
  expect(decided.html).toContain('<b>Recorded.</b>');
  expect(await own.journal.read('order-17')).toMatchObject({ state: 'completed', reference });
});

describe('a second person', () => {
  test('is told what the first decided, and keeps what they typed', async () => {
    const authorize = ({ headers }: Request) => headers.get('x-user') ?? KOFI;
    const { own, open, send, decide, loseResponse } = openDesk({ authorize });
    await loseResponse('17');
    const { html } = await open('?order=17');
    const [, revision = ''] = /name="revision" value="([^"]*)"/.exec(html) ?? [];
    const ama = { 'sec-fetch-site': 'same-origin', 'x-user': 'ama@shop.example' };
    await decide('?order=17', 'closed', { reason: 'paid back' }, ama);
    const form = {
      payment: 'order 17/1',
      offer: 'not_charged',
      amount: '25.50',
      reason: 'none at the service',
    };
    const late = await send('?order=17', { ...form, revision: revision.replaceAll('&quot;', '"') });
    expect(late).toMatchObject({
      status: 409,
      html: expect.stringContaining('changed meanwhile by ama@shop.example'),
    });
    expect(late.html).toContain('value="none at the service"');
    expect(await own.journal.read('17/1')).toMatchObject({ state: 'closed', resolutions: [{}] });
  });

  test('with the same decision is told who was first', async () => {
    const authorize = ({ headers }: Request) => headers.get('x-user') ?? KOFI;
    const { own, decide, send, loseResponse } = openDesk({ authorize });
    await loseResponse('17');
    const { revision = '' } = (await own.journal.read('17/1')) ?? {};
    await decide('?order=17', 'closed', { reason: 'paid back' });
    const ama = { 'sec-fetch-site': 'same-origin', 'x-user': 'ama@shop.example' };
    const form = { payment: 'order 17/1', offer: 'closed', reason: 'paid back too', revision };
    const { html } = await send('?order=17', form, ama);
    expect(html).toContain(`Decided by ${KOFI}.`);
    expect(html).not.toContain('ama@shop.example');
  });

  test('keeps what they typed, though it no longer fits', async () => {
    const { shop, own, decide, send, loseResponse } = openDesk();
    const reference = await loseResponse('17');
    const { revision = '' } = (await own.journal.read('17/1')) ?? {};
    await decide('?order=17', 'reference', { reference, reason: REASON });
    shop.service.approve(reference);
    await own.wait('17', { timeout: 60_000 });
    const form = { payment: 'order 17/1', offer: 'closed', reason: 'paid back, ticket 4471', revision };
    const { status, html } = await send('?order=17', form);
    expect(status).toBe(409);
    expect(html).toContain('You wrote: “paid back, ticket 4471”');
  });
});

describe('a decision that cannot be made', () => {
  test('is the only result that is shown', async () => {
    const { open, decide, loseResponse } = openDesk();
    await loseResponse('17');
    // An address alone says nothing.
    expect((await open('?order=17&done=1.0')).html).not.toContain('Recorded');
    await decide('?order=17', 'closed', { reason: 'paid back' });
    expect((await open('?order=17&done=1.2')).html).not.toContain('Recorded');
    const { html } = await open('?order=17&done=1.1');
    expect(html).toContain('<b>Recorded.</b>');
    const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(html) ?? [];
    expect(action).toBe('?order=17#payment-1');
    const refused = await decide(action, 'not_charged', { reason: REASON, amount: '1' });
    expect(refused.html).not.toContain('<b>Recorded.</b>');
    expect(refused.html).toContain('<title>Not recorded: Order 17');
  });

  test.each([
    ['without a reason', { offer: 'closed', reason: ' ' }, 422, 'Write down what you found out.'],
    ['of no kind', { offer: 'paid', reason: REASON }, 422, 'Choose one of the decisions.'],
    ['that does not fit', { offer: 'accepted', reason: REASON }, 409, 'does not fit this payment'],
    [
      'about nothing',
      { payment: 'order 18/1', offer: 'closed', reason: REASON },
      409,
      'no record of the key',
    ],
    [
      'without a transaction',
      { offer: 'reference', reason: REASON, reference: '' },
      409,
      'reference must be that of a transaction, such as TXN-8F2K1',
    ],
  ])('%s changes nothing', async (_what, fields, status, message) => {
    const { own, send, loseResponse } = openDesk();
    await loseResponse('17');
    const refused = await send('?order=17', { payment: 'order 17/1', ...fields });
    expect(refused).toMatchObject({ status, html: expect.stringContaining(message) });
    expect(refused.html).toContain('Nothing was changed');
    expect(await own.journal.read('17/1')).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  test('while the service is down changes nothing', async () => {
    const { shop, own, decide, loseResponse } = openDesk();
    const reference = await loseResponse('17');
    shop.service.fault('verify', { kind: 'status', status: 503 }, { times: 10 });
    const refused = await decide('?order=17', 'reference', { reference, reason: REASON });
    expect(refused).toMatchObject({ status: 503, html: expect.stringContaining('nothing was changed') });
    expect(await own.journal.read('17/1')).toMatchObject({ state: 'unknown', resolutions: [] });
  });
});
