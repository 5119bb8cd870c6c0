import { expect, test } from 'vitest';
import { getRecords } from '../../../src/journal/core.ts';
import { memoryJournal } from '../../../src/journal/index.ts';
import { type AskedService, resolveKey } from '../../../src/journal/resolve.ts';
import { claimKey, completeClaim, completeKey, made } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

/** A service that knows each transaction. */
const service: AskedService = {
  assertService() {},
  check: async () => ({ is: 'answered', status: 'processing', paid_at: null }),
};

test('refuses not_charged if the service confirms a reference that nobody has claimed', async () => {
  const journal = memoryJournal();
  const records = getRecords(journal);
  await completeKey(journal, 'k1', { is: 'unknown', reference: 'TXN-1' });
  // As a process leaves it that died after it wrote the reference and before it claimed it.
  const { record: claim } = await records.readText('reference txn-1');
  await records.delete([{ key: 'reference txn-1', version: claim?.version ?? '' }]);
  await catchError(resolveKey(records, 'k1', 'not_charged', note, service));
  expect(await journal.read('k1')).toMatchObject({ state: 'unknown', reference: 'TXN-1' });
});

test('resolves not_charged if the reference is that of another key', async () => {
  const journal = memoryJournal();
  const claimed = await claimKey(journal, 'k2');
  await completeKey(journal, 'k1', made('TXN-1'));
  await completeClaim(journal, claimed, made('TXN-1'));
  await resolveKey(getRecords(journal), 'k2', 'not_charged', note, service);
  expect(await journal.read('k2')).toMatchObject({ state: 'not_charged' });
});
