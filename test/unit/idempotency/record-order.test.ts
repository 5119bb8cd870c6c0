import { describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../../src/stores/index.ts';
import { kinds, sharedStore } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts } from '../../helpers/keyed-calls.ts';
import { charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

describe.each(kinds)('a journal in %s', (_kind, handles) => {
  test.each(posts)('holds the intent of %s before the request is sent', async (operation) => {
    const handle = handles();
    const other = handle();
    const found: (JournalEntry | null)[] = [];
    const service = await startService(async (response) => {
      found.push(await other.read(KEY));
      sendJson(response, 200, successBodies[operation]());
    });
    await keyed[operation](service.client({ journal: handle() }));
    expect(found).toMatchObject([
      { state: 'begun', inProgress: true, operation, amount: '25.50', currency: 'GHS' },
    ]);
  });
});

test('sends nothing until the claim is recorded', async () => {
  const shared = sharedStore();
  const claimed = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const journal = shared.intercepted(['begun'], async (...write) => {
    claimed.resolve();
    await release.promise;
    return await shared.store.write(...write);
  });
  const service = await startService();
  // Another request fits in between, so that one sent too early would have arrived.
  const call = charged(service.client({ journal }));
  await claimed.promise;
  await service.client().chargeMobileMoney(charge);
  expect(service.requests).toHaveLength(1);
  release.resolve();
  await call;
  expect(service.requests).toHaveLength(2);
});

test('returns nothing until the result is recorded', async () => {
  const shared = sharedStore();
  const ended = Promise.withResolvers<void>();
  const order: string[] = [];
  const late = shared.intercepted(['completed'], async (...write) => {
    ended.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    order.push('recorded');
    return await shared.store.write(...write);
  });
  const service = await startService();
  const call = charged(service.client({ journal: late })).then(() => order.push('returned'));
  await ended.promise;
  await call;
  expect(order).toEqual(['recorded', 'returned']);
  expect(shared.states(KEY)).toEqual(['begun', 'completed']);
});
