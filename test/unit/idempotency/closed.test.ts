import { describe, expect, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { type Journal, memoryJournal } from '../../../src/journal/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

/** Makes a key unresolved: the service charges another amount than was asked for. */
async function startMismatch(journal: Journal = memoryJournal()) {
  const service = await startService((response, { method }) => {
    const fields = { reference: 'TXN-1', amount: '2.55' };
    sendJson(
      response,
      200,
      method === 'POST' ? successBodies.chargeMobileMoney(fields) : successBodies.verify(fields),
    );
  });
  const events: unknown[] = [];
  const payments = service.client({ journal, onEvent: (event) => events.push(event) });
  await catchError(charged(payments));
  return { service, payments, journal, events };
}

/** Records that a completed payment was reported for a reason. */
async function report(journal: Journal, reference: string, reason: string, status?: string) {
  const { followUps } = getJournalCore(journal);
  const final = status === undefined ? {} : { final: { status, paid_at: null } };
  for (const found of await followUps.find(reference))
    await followUps.update(found, { checks: 1, reported: [reason], ...final }, 1_000);
}

describe('an unresolved key that is closed', () => {
  test('is never charged again, and has nothing unresolved or due', async () => {
    const { service, payments, journal, events } = await startMismatch();
    expect(await payments.resolve(KEY, 'closed', note)).toMatchObject({
      state: 'closed',
      reference: 'TXN-1',
      resolutions: [{ ...note, resolution: 'closed' }],
    });
    expect(events.at(-1)).toMatchObject({ type: 'resolved', result: 'closed', reference: 'TXN-1' });
    const requests = service.requests.length;
    const failure = await catchError(charged(payments));
    expect(failure).toMatchObject({ code: 'outcome_unknown', outcome: 'unknown', reference: 'TXN-1' });
    expect(String(failure)).toContain('closed key');
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
    const other = await catchError(
      payments.chargeMobileMoney({ ...charge, amount: 40 }, { idempotencyKey: KEY }),
    );
    expect(other).toMatchObject({ code: 'idempotency_conflict' });
    expect(service.requests).toHaveLength(requests);
    expect(await journal.count()).toMatchObject({ unknown: 0, closed: 1 });
    expect(await countDue(journal)).toEqual({
      due: 0,
      nextIn: null,
    });
  });

  test('cannot be resolved as not charged, but with a reference that is found after all', async () => {
    const { payments, journal } = await startMismatch();
    await payments.resolve(KEY, 'closed', note);
    expect(String(await catchError(journal.resolve(KEY, 'not_charged', note)))).toContain('was closed');
    await journal.resolve(KEY, 'closed', note);
    await journal.resolve(KEY, { reference: 'TXN-7' }, note);
    expect(await journal.read(KEY)).toMatchObject({
      state: 'completed',
      reference: 'TXN-7',
      resolutions: [{ resolution: 'closed' }, { resolution: { reference: 'TXN-7' } }],
    });
  });
});

test.each(['mismatch', 'gone', 'shared_reference', 'price_changed', 'paid_twice'])(
  'closes a completed payment that was reported as %s',
  async (reason) => {
    const journal = memoryJournal();
    const service = await startService();
    const payments = service.client({ journal });
    const { reference } = await charged(payments);
    const failure = await catchError(payments.resolve(KEY, 'closed', note));
    expect(String(failure)).toContain('nothing is wrong with its payment');
    await report(journal, reference, 'overdue');
    expect(await catchError(journal.resolve(KEY, 'closed', note))).toMatchObject({ name: 'JournalError' });
    await report(journal, reference, reason, 'success');
    expect(await payments.resolve(KEY, 'closed', note)).toMatchObject({ state: 'closed', reference });
  },
);

test('refuses to overrule a resolved payment once its success is recorded', async () => {
  const { payments, journal } = await startMismatch();
  await journal.resolve(KEY, { reference: 'TXN-7' }, note);
  await report(journal, 'TXN-7', 'overdue', 'success');
  for (const resolution of ['not_charged', 'closed', { reference: 'TXN-8' }] as const)
    expect(await catchError(journal.resolve(KEY, resolution, note))).toMatchObject({ name: 'JournalError' });
  expect(await catchError(payments.resolve(KEY, 'not_charged', note))).toMatchObject({ outcome: null });
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference: 'TXN-7' });
});

test('refuses a word that is no resolution', async () => {
  const { payments } = await startMismatch();
  const failure = await catchError(Reflect.apply(payments.resolve, payments, [KEY, 'refunded', note]));
  expect(failure).toMatchObject({ name: 'ConfigurationError' });
  expect(String(failure)).toContain('"not_charged" or "closed"');
});
