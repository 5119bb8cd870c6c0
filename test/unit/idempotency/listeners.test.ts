import { expect, test, vi } from 'vitest';
import { readAccess } from '../../../src/follow-ups/sweeper.ts';
import { charged } from '../../helpers/keyed-calls.ts';
import { catchError } from '../../helpers/service.ts';
import { momo, type Process, SECOND, slow, world } from '../../helpers/world.ts';

/** Counts the listeners on the signal of `close()` of a client. */
function watchListeners({ payments, journal }: Process) {
  const { closing } = readAccess(payments, journal);
  const added = vi.spyOn(closing, 'addEventListener');
  const removed = vi.spyOn(closing, 'removeEventListener');
  return () => {
    const gone = new Set(removed.mock.calls.map(([, listener]) => listener));
    const left = added.mock.calls.filter(([, listener]) => !gone.has(listener));
    return { added: added.mock.calls.length > 0, left: left.length };
  };
}

test('leaves no listener on the signal of close() for any call or retry', async () => {
  let count = 0;
  const { shop, posts } = world({
    client: { maxRetries: 2 },
    respond: () => (++count % 3 === 0 ? undefined : new Response('{}', { status: 429 })),
  });
  const countListeners = watchListeners(shop);
  for (let orders = 0; orders < 5; orders++) {
    const idempotencyKey = `order-${orders}`;
    const { reference } = await charged(shop.payments, { idempotencyKey });
    await charged(shop.payments, { idempotencyKey });
    await shop.payments.chargeMobileMoney(momo, { idempotencyKey: null });
    await shop.payments.verify(reference);
    await catchError(shop.payments.chargeMobileMoney({ ...momo, amount: 40 }, { idempotencyKey }));
    await catchError(charged(shop.payments, { idempotencyKey, signal: AbortSignal.abort() }));
  }
  expect(posts).toHaveLength(5 * 2 * 3);
  expect(countListeners()).toEqual({ added: true, left: 0 });
});

test('listens to it while a keyed call waits for another one', async () => {
  const { shop, start, clock } = world({ respond: slow('POST', 3 * SECOND) });
  const first = charged(shop.payments);
  await clock.settle();
  const waiting = start();
  const countListeners = watchListeners(waiting);
  const second = charged(waiting.payments);
  await clock.pass(SECOND);
  expect(countListeners().left).toBe(1);
  await first;
  expect(await second).toMatchObject({ replayed: true });
  expect(countListeners().left).toBe(0);
});
