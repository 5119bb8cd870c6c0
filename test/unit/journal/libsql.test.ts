import { expect, test } from 'vitest';
import { fromLibsql, type LibsqlClient, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { catchError, charge, startService } from '../../helpers/service.ts';

test('sends nothing on an embedded replica, however often it is called', async () => {
  const refuse = () => Promise.reject(new Error('the replica was used'));
  const replica: LibsqlClient = {
    protocol: 'file',
    // Only an embedded replica has something to be synced with.
    sync: async () => {},
    batch: refuse,
    transaction: refuse,
    executeMultiple: refuse,
  };
  const service = await startService();
  const payments = service.client({ journal: sqliteJournal(fromLibsql(replica)) });
  for (const _call of [1, 2, 3]) {
    const error = await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' }));
    expect(error).toMatchObject({
      name: 'JournalError',
      outcome: 'not_sent',
      message: expect.stringContaining('embedded replica'),
    });
  }
  expect(service.requests).toEqual([]);
});
