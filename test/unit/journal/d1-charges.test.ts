import { expect, test } from 'vitest';
import { fromD1, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey } from '../../helpers/claims.ts';
import { openD1, READ, WRITE } from '../../helpers/faulty-d1.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

test('charges once if the responses of writes and reads are lost', async () => {
  let isLost = true;
  const { binding } = openD1((statements) => {
    const isWrite = statements.some((sql) => WRITE.test(sql));
    // Each write, and the first time that the journal reads whether it was made.
    if (isWrite) isLost = true;
    else if (!statements.some((sql) => READ.test(sql)) || !isLost) return 'none';
    else isLost = false;
    return 'response lost';
  });
  const journal = sqliteJournal(fromD1(binding));
  const service = await startService((response) =>
    sendJson(response, 200, successBodies.chargeMobileMoney()),
  );
  const payments = service.client({ journal });
  const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
  expect(service.requests).toHaveLength(1);
  expect(await journal.read('order-1')).toMatchObject({ state: 'completed', reference, attempts: 1 });
});

test.each([
  ['a write', WRITE, 1],
  ['a read', READ, 4],
])('sends nothing if the connection is lost for %s', async (_, kind, times) => {
  const isKind = (statements: readonly string[]) => statements.some((sql) => kind.test(sql));
  const { binding, batches } = openD1((statements) => (isKind(statements) ? 'not run' : 'none'));
  const service = await startService((response) => sendJson(response, 500, {}));
  const payments = service.client({ journal: sqliteJournal(fromD1(binding)) });
  const error = await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' }));
  expect(error).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
  expect(service.requests).toEqual([]);
  expect(batches.filter(isKind)).toHaveLength(times);
});

test('resolves a key once if the response of the write is lost', async () => {
  let isLost = false;
  const { binding } = openD1((statements) =>
    isLost && statements.some((sql) => WRITE.test(sql)) ? 'response lost' : 'none',
  );
  const journal = sqliteJournal(fromD1(binding), { lease: 100 });
  await claimKey(journal, 'order-1');
  await expect.poll(async () => (await journal.read('order-1'))?.state).toBe('unknown');
  isLost = true;
  const resolving = journal.resolve('order-1', 'not_charged', note);
  await resolving.finally(() => {
    isLost = false;
  });
  expect(await journal.read('order-1')).toMatchObject({ state: 'not_charged', resolutions: [note] });
});
