import { expect, test, vi } from 'vitest';
import { fromLibsql } from '../../../src/journal/sqlite.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite, openHandleStore } from '../../helpers/sqlite-stores.ts';

test('uses no embedded replica, however often it is called', async () => {
  const use = vi.fn(() => Promise.reject(new Error('the replica was used')));
  const store = openHandleStore(
    fromLibsql({
      protocol: 'file',
      // Only an embedded replica has something to be synced with.
      sync: async () => {},
      batch: use,
      transaction: use,
      executeMultiple: use,
    }),
  );
  for (const _call of [1, 2, 3])
    for (const error of [
      await catchError(store.read('order-1')),
      await catchError(store.write('order-1', firstWrite())),
      await catchError(store.claimDue({ kind: 'key', limit: 10, lease: 1_000 })),
    ])
      expect(error).toMatchObject({
        name: 'JournalError',
        outcome: 'not_sent',
        retryable: false,
        message: expect.stringContaining('embedded replica'),
      });
  expect(use).not.toHaveBeenCalled();
});
