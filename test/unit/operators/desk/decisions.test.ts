import { describe, expect, test } from 'vitest';
import { momo, postsOf } from '../../../helpers/order-shop.ts';
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
  expect(postsOf(shop)).toHaveLength(1);
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

test('accepts an earlier price, after which the shop delivers', async () => {
  const { shop, own, open, decide } = openDesk();
  const status = await own.charge('17', momo);
  await own.charge('17', { ...momo, amount: '30.00' });
  shop.service.approve(status.payments[0]?.reference ?? '');
  await own.wait('17', { timeout: 60_000 });
  const { html } = await open('?order=17');
  expect(html).toContain('The service says now: <b>success</b>, <b>GHS 25.50</b>.');
  const decided = await decide('?order=17', 'accepted', { reason: 'the customer is a regular' });
  expect(decided.html).toContain('The payment counts as paid.');
  await own.sweep();
  expect(shop.paid).toMatchObject([{ order: '17' }]);
});

test('closes a payment that is dealt with outside, and can replace that', async () => {
  const { own, open, decide, loseResponse } = openDesk();
  const reference = await loseResponse('17');
  expect((await decide('?order=17', 'closed', { reason: 'paid back' })).html).toContain(
    'The payment is closed',
  );
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
  expect(await send('?order=17', { ...form, reference })).toMatchObject({ status: 200 });
  expect((await own.read('17')).payments).toMatchObject([{}, { reference }]);
  expect(postsOf(shop)).toHaveLength(2);
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

  test('who presses twice decides once', async () => {
    const { own, open, send, loseResponse } = openDesk();
    await loseResponse('17');
    const { html } = await open('?order=17');
    const [, revision = ''] = /name="revision" value="([^"]*)"/.exec(html) ?? [];
    const form = {
      payment: 'order 17/1',
      offer: 'closed',
      reason: 'paid back',
      revision: revision.replaceAll('&quot;', '"'),
    };
    const shown = await Promise.all([send('?order=17', form), send('?order=17', form)]);
    expect(shown.map(({ status }) => status).sort()).not.toContain(500);
    expect(await own.journal.read('17/1')).toMatchObject({ state: 'closed', resolutions: [{}] });
  });
});

describe('a decision that cannot be made', () => {
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
