import { beforeEach, expect, test } from 'vitest';
import { JournalError } from '../../../src/index.ts';
import { type JournalStore, memoryStore } from '../../../src/journal/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, openOrderShop, postsOf } from '../../helpers/order-shop.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => fakeClocks());

/** A database that is away for a while, right after it committed a claim whose result it did not send any more. */
function failAfterFirstWrite(duration: number): JournalStore {
  const store = memoryStore();
  let awayUntil = 0;
  const assertThere = () => {
    if (Date.now() < awayUntil) throw new Error('connection refused');
  };
  return {
    ...store,
    async read(key) {
      assertThere();
      return await store.read(key);
    },
    async write(key, change) {
      assertThere();
      const written = await store.write(key, change);
      if (awayUntil > 0) return written;
      awayUntil = Date.now() + duration;
      throw new Error('connection lost');
    },
  };
}

test('releases a claim that was written unheard once the journal is back', async () => {
  const shop = openOrderShop({ store: failAfterFirstWrite(5 * SECOND) });
  const { charge, read } = shop.start();
  const error = await finish(catchError(charge('17', momo)));
  expect(error).toBeInstanceOf(JournalError);
  await pass(20 * SECOND);
  expect(await finish(read('17'))).toMatchObject({ state: 'unpaid', canPay: true });
  expect(postsOf(shop)).toEqual([]);
});
