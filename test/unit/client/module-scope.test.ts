import { afterEach, expect, test, vi } from 'vitest';
import { createFollowUps } from '../../../src/follow-ups/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { openOrderShop } from '../../helpers/order-shop.ts';
import { catchError, charge, startService, successBodies } from '../../helpers/service.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

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
  const { payments, ...orderPayments } = openOrderShop().start();
  await orderPayments.charge('17', charge);
  class Foreign extends AbortController {
    override abort(): void {
      refuse();
    }
  }
  vi.stubGlobal('AbortController', Foreign);
  const foreign = catchError(orderPayments.wait('17'));
  vi.unstubAllGlobals();
  const own = catchError(payments.waitForFinalStatus(REFERENCE));
  payments.close();
  expect(await own).toMatchObject({ name: 'ClosedError' });
  expect(await foreign).toMatchObject({ name: 'ClosedError' });
});

test.each([
  ['Cloudflare-Workers', 3],
  ['Node.js/24', 1],
])('shares no poll between the waits of a Worker: in %s, %i for 3 waits', async (userAgent, polls) => {
  vi.stubGlobal('navigator', { userAgent });
  const service = await startService();
  const client = service.client();
  const waits = [1, 2].map(() => client.waitForFinalStatus(REFERENCE));
  for await (const { status } of client.watch(REFERENCE)) expect(status).toBe('success');
  await Promise.all(waits);
  expect(service.requests).toHaveLength(polls);
});

test('keeps the rate limit over all waits of a Worker', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  vi.useFakeTimers();
  const fetched: string[] = [];
  const service = await startService();
  const client = service.client({
    polling: { maxRequestsPerSecond: 1 },
    fetch: async (url) => {
      const reference = url.slice(url.lastIndexOf('/') + 1);
      fetched.push(reference);
      return Response.json(successBodies.verify({ reference }));
    },
  });
  const waits = ['TXN-1', 'TXN-2', 'TXN-3'].map((reference) => client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(990);
  expect(fetched).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fetched).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1_010);
  await Promise.all(waits);
  expect(fetched.sort()).toEqual(['TXN-1', 'TXN-2', 'TXN-3']);
});
