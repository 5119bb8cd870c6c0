/** What needs a person: found, decided, accounted for. */

import { expect, test } from 'vitest';
import type { AttentionItem } from '../../src/stores/index.ts';
import { collect } from '../helpers/collect.ts';
import { listKeys } from '../helpers/listed-keys.ts';
import { note } from '../helpers/resolution-note.ts';
import { catchError } from '../helpers/service.ts';
import { DAY, getReference, MINUTE, momo, sweepFor, type World, world } from '../helpers/world.ts';

const key = { idempotencyKey: 'order-17/1' };

async function listAttention({ journal }: World): Promise<AttentionItem[]> {
  return await collect(journal.listAttention());
}

/** Makes a world in which the response to the charge of order 17 was lost. */
async function loseResponse(): Promise<World> {
  const lost = world();
  lost.service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await lost.shop.orders.charge('17', momo);
  return lost;
}

test('one list has all that needs a person, oldest first, with request ids', async () => {
  const lost = await loseResponse();
  await lost.clock.pass(MINUTE);
  lost.service.fault('chargeMobileMoney', { kind: 'status', status: 500 });
  await catchError(lost.shop.payments.chargeMobileMoney(momo, { idempotencyKey: 'card-4' }));
  expect(await listAttention(lost)).toMatchObject([
    { key: '17/1', order: '17', reason: 'unresolved', amount: '25.50', requestIds: [expect.any(String)] },
    { key: 'card-4', reason: 'unresolved' },
  ]);
});

test('a payment keeps the ids of its latest 20 requests', async () => {
  const sent: (string | null)[] = [];
  const { shop, journal } = world({
    respond({ headers }) {
      sent.push(headers.get('x-request-id'));
      return new Response('{}', { status: 422 });
    },
  });
  for (let press = 0; press < 25; press++) await shop.orders.charge('17', momo);
  expect(await journal.read('17/1')).toMatchObject({ attempts: 25, requestIds: sent.slice(-20) });
});

test('what is decided leaves the list, and keeps who decided and why', async () => {
  const lost = await loseResponse();
  await lost.shop.payments.resolve('17/1', 'not_charged', note);
  expect(await listAttention(lost)).toEqual([]);
  expect(await lost.journal.read('17/1')).toMatchObject({
    resolutions: [{ ...note, at: expect.any(Number), resolution: 'not_charged' }],
  });
});

test('a reference is taken only if the service has the transaction', async () => {
  const { shop, service } = await loseResponse();
  expect(await catchError(shop.payments.resolve('17/1', { reference: 'TXN-NOBODYS' }, note))).toMatchObject({
    code: 'journal_error',
  });
  const [charge] = service.charges;
  await shop.payments.resolve('17/1', { reference: charge?.reference ?? '' }, note);
  expect(await shop.orders.read('17')).toMatchObject({
    state: 'processing',
    payment: charge && { reference: charge.reference },
  });
});

test('the reference that was given is recorded, whatever the caller does to it meanwhile', async () => {
  const { shop, service } = await loseResponse();
  const [charge] = service.charges;
  const other = getReference(await shop.orders.charge('18', { ...momo, phone: '0551234987' }));
  const given = { reference: charge?.reference ?? '' };
  const resolving = shop.payments.resolve('17/1', given, note);
  given.reference = other;
  expect(await resolving).toMatchObject({ reference: charge?.reference });
});

test('a reference of another order is refused', async () => {
  const { shop } = await loseResponse();
  const { payments } = await shop.orders.charge('18', { ...momo, phone: '0551234987' });
  const reference = payments[0]?.reference ?? '';
  expect(await catchError(shop.payments.resolve('17/1', { reference }, note))).toMatchObject({
    code: 'journal_error',
  });
  expect(await shop.orders.read('18')).toMatchObject({ state: 'processing' });
});

test('after not_charged the customer can pay again', async () => {
  const { shop, posts } = await loseResponse();
  await shop.payments.resolve('17/1', 'not_charged', note);
  expect(await shop.orders.charge('17', momo)).toMatchObject({
    state: 'processing',
    payment: { key: '17/1' },
  });
  expect(posts).toHaveLength(2);
});

test('not_charged is refused if the service has the transaction that was named', async () => {
  const { shop, service } = world();
  service.fault('chargeMobileMoney', { kind: 'wrongAmount', amount: '12.00' });
  await catchError(shop.payments.chargeMobileMoney(momo, key));
  expect(await catchError(shop.payments.resolve('order-17/1', 'not_charged', note))).toMatchObject({
    code: 'journal_error',
  });
});

test('accepted makes a payment of another amount count', async () => {
  const { shop, service, paid } = world();
  service.fault('chargeMobileMoney', { kind: 'wrongAmount', amount: '12.00' });
  service.fault('verify', { kind: 'wrongAmount', amount: '12.00' }, { times: Number.POSITIVE_INFINITY });
  const { payments } = await shop.orders.charge('17', momo);
  service.approve(payments[0]?.reference ?? service.charges[0]?.reference ?? '');
  await sweepFor(MINUTE, shop.orders);
  expect(await shop.orders.read('17')).toMatchObject({ state: 'in_review', reason: 'mismatch' });
  await shop.payments.resolve('17/1', 'accepted', note);
  await sweepFor(MINUTE, shop.orders);
  expect(paid).toMatchObject([
    { order: '17', payment: { key: '17/1' }, transaction: { amount: '12.00', currency: 'GHS' } },
  ]);
});

test('what is closed is never charged again, followed or listed', async () => {
  const lost = await loseResponse();
  await lost.shop.payments.resolve('17/1', 'closed', note);
  expect(await listAttention(lost)).toEqual([]);
  expect(await lost.shop.orders.charge('17', momo)).toMatchObject({ payment: { key: '17/2' } });
});

test('the second of two persons is told, and changes nothing', async () => {
  const { shop, journal } = await loseResponse();
  const { revision = '' } = (await journal.read('17/1')) ?? {};
  await shop.payments.resolve('17/1', 'not_charged', { ...note, revision });
  const late = shop.payments.resolve('17/1', 'closed', { ...note, by: 'esi@shop.example', revision });
  expect(await catchError(late)).toMatchObject({ code: 'journal_error' });
  expect(await journal.read('17/1')).toMatchObject({ resolutions: [{ by: note.by }] });
});

test('of two persons who decide at once, one is told', async () => {
  const { shop, start, journal } = await loseResponse();
  const ended = await Promise.allSettled([
    shop.payments.resolve('17/1', 'not_charged', note),
    start().payments.resolve('17/1', 'closed', { ...note, by: 'esi@shop.example' }),
  ]);
  expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect((await journal.read('17/1'))?.resolutions).toHaveLength(1);
});

test('the transaction of another payment of the order is refused, with the name of that one', async () => {
  const { shop, service, journal } = world();
  const reference = getReference(await shop.orders.charge('17', momo));
  service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await shop.orders.charge('17', { ...momo, phone: '0551234987' }, { startAnother: true });
  const error = await catchError(shop.payments.resolve('17/2', { reference }, note));
  expect(error).toMatchObject({ code: 'journal_error', message: expect.stringContaining('"17/1"') });
  expect(await journal.read('17/2')).toMatchObject({ state: 'unknown', resolutions: [] });
});

test('a payment without an end is listed as overdue after seven days', async () => {
  const open = world();
  await open.shop.orders.charge('17', momo);
  await open.clock.pass(7 * DAY - MINUTE);
  expect(await listAttention(open)).toEqual([]);
  await open.clock.pass(2 * MINUTE);
  expect(await listAttention(open)).toMatchObject([{ key: '17/1', reason: 'overdue' }]);
});

test('onAttention is called once for each reason', async () => {
  const { shop, attentions } = await loseResponse();
  await sweepFor(DAY, shop.orders);
  expect(attentions).toMatchObject([{ order: '17', key: '17/1', reason: 'unresolved' }]);
});

test('listInReview yields the orders among them', async () => {
  const { shop } = await loseResponse();
  await shop.orders.charge('18', { ...momo, phone: '0551234987' });
  expect(await collect(shop.orders.listInReview())).toMatchObject([{ order: '17', state: 'in_review' }]);
});

test('prune takes what is over, and nothing that is open, owed or listed', async () => {
  const { shop, journal, service, clock } = await loseResponse();
  service.settleAfter('next', 0, 'success');
  await shop.orders.charge('18', { ...momo, phone: '0551234987' });
  await shop.orders.charge('19', { ...momo, phone: '0551234988' });
  await sweepFor(MINUTE, shop.orders);
  await clock.pass(DAY);
  expect(await journal.prune({ before: new Date() })).toBe(1);
  expect(await listKeys(journal)).toEqual(['17/1', '19/1']);
});
