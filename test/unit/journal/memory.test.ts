import { describe, expect, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { type JournalStore, memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { chargeIntent, claimKey, tryClaim } from '../../helpers/claims.ts';
import { runOnFakeClocks } from '../../helpers/fake-timers.ts';

describe('memoryJournal conforms', () => {
  const stores = new Map<string, JournalStore>();
  const cases = journalConformance((options, storage) => {
    const store = stores.get(storage) ?? memoryStore();
    stores.set(storage, store);
    return memoryJournal({ ...options, store });
  });
  test.each(cases)('$name', ({ run }) => runOnFakeClocks(run));
});

test('memoryJournal shares no records unless it is given a store', async () => {
  await claimKey(memoryJournal(), 'order-17');
  expect(await tryClaim(memoryJournal(), 'order-17')).toMatchObject({
    state: 'claimed',
  });
  const store = memoryStore();
  await claimKey(memoryJournal({ store }), 'order-17');
  expect(await getJournalCore(memoryJournal({ store })).claim('order-17', chargeIntent)).toMatchObject({
    state: 'in_progress',
  });
});
