import { beforeEach, expect, test, vi } from 'vitest';
import { memoryStore } from '../../../src/journal/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass, turns } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, openOrderShop } from '../../helpers/order-shop.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => fakeClocks());

test('leaves no unhandled rejection if the customer leaves as a check comes back', async () => {
  const onRejection = vi.fn();
  process.on('unhandledRejection', onRejection);
  const store = memoryStore();
  const failing = { ...store };
  const leaving = new AbortController();
  failing.write = async (key, change) => {
    if (leaving.signal.aborted) throw new Error('connection lost');
    return await store.write(key, change);
  };
  const shop = openOrderShop({ store: failing });
  const { charge } = shop.start({}, { onEvent: ({ type }) => type === 'poll' && leaving.abort('left') });
  await finish(charge('17', momo));
  await pass(2 * SECOND);
  expect(await finish(catchError(charge('17', momo, { signal: leaving.signal })))).toBe('left');
  await turns();
  process.off('unhandledRejection', onRejection);
  expect(onRejection).not.toHaveBeenCalled();
});
