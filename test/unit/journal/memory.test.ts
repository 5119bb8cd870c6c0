import { expect, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import { chargeIntent, claimKey, tryClaim } from '../../helpers/claims.ts';

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
