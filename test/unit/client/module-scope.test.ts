import { afterEach, expect, test, vi } from 'vitest';
import { createFollowUps } from '../../../src/follow-ups/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { catchError, charge, startService, successBodies } from '../../helpers/service.ts';
import { momo, type Respond, SECOND, world } from '../../helpers/world.ts';

afterEach(() => void vi.unstubAllGlobals());

const refuse = () => {
  throw new Error('Disallowed operation called within global scope.');
};

test('is made where workerd allows no AbortController, timer or random', async () => {
  const service = await startService();
  const journal = memoryJournal();
  class Refused {
    constructor() {
      refuse();
    }
  }
  vi.stubGlobal('AbortController', Refused);
  vi.stubGlobal('crypto', { getRandomValues: refuse, randomUUID: refuse });
  for (const name of ['setTimeout', 'setInterval', 'fetch']) vi.stubGlobal(name, refuse);
  const random = vi.spyOn(Math, 'random').mockImplementation(refuse);
  const payments = service.client({ journal });
  const orderPayments = createOrderPayments({ payments, journal, onPaid: refuse, onAttention: refuse });
  createFollowUps({ payments, journal, onFinal: refuse, onAttention: refuse });
  random.mockRestore();
  vi.unstubAllGlobals();
  expect(await orderPayments.charge('17', charge)).toMatchObject({ state: 'processing' });
  expect(await payments.waitForFinalStatus(REFERENCE)).toMatchObject({ status: 'success' });
  const left = payments.waitForFinalStatus('TXN-open', { startedAt: Date.now() });
  payments.close();
  expect(await catchError(left)).toMatchObject({ name: 'ClosedError' });
  expect(await catchError(payments.verify(REFERENCE))).toMatchObject({ name: 'ClosedError' });
});

test('closes all else if a wait belongs to another request of a Worker', async () => {
  const { orders, payments } = world().shop;
  await orders.charge('17', momo);
  class Foreign extends AbortController {
    override abort(): void {
      refuse();
    }
  }
  vi.stubGlobal('AbortController', Foreign);
  const foreign = catchError(orders.wait('17'));
  vi.unstubAllGlobals();
  const own = catchError(payments.waitForFinalStatus(REFERENCE));
  void payments.close();
  expect(await own).toMatchObject({ name: 'ClosedError' });
  expect(await foreign).toMatchObject({ name: 'ClosedError' });
});

const success: Respond = ({ url }) =>
  Response.json(successBodies.verify({ reference: url.slice(url.lastIndexOf('/') + 1) }));

test.for([
  ['Cloudflare-Workers', 3],
  ['Node.js/24', 1],
] as const)('in %s, %i polls are for 3 waits: a Worker shares none', async ([userAgent, polls]) => {
  vi.stubGlobal('navigator', { userAgent });
  const { shop, checks } = world({ respond: success });
  const waits = [1, 2].map(() => shop.payments.waitForFinalStatus(REFERENCE));
  for await (const { status } of shop.payments.watch(REFERENCE)) expect(status).toBe('success');
  await Promise.all(waits);
  expect(checks).toHaveLength(polls);
});

test('keeps the rate limit over all waits of a Worker', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  const { shop, checks } = world({ respond: success, client: { polling: { maxRequestsPerSecond: 1 } } });
  const waits = ['TXN-1', 'TXN-2', 'TXN-3'].map((reference) => shop.payments.waitForFinalStatus(reference));
  await Promise.all(waits);
  const [first = 0] = checks.map(({ at }) => at);
  expect(checks.map(({ at }) => Math.round((at - first) / SECOND))).toEqual([0, 1, 2]);
});
