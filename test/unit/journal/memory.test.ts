import { expect, test } from 'vitest';
import { memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import { claimKey } from '../../helpers/claims.ts';

test('memoryJournal shares no records unless it is given a store', async () => {
  await claimKey(memoryJournal(), 'order-17');
  expect(await memoryJournal().read('order-17')).toBeNull();
  const store = memoryStore();
  await claimKey(memoryJournal({ store }), 'order-17');
  expect(await memoryJournal({ store }).read('order-17')).toMatchObject({ state: 'begun' });
});
