import { expect, test } from 'vitest';
import { OutcomeUnknownError, type PaymentsEvent } from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { createJournal, memoryStore } from '../../../src/journal/index.ts';
import { kinds } from '../../helpers/journals.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, sendJson, startService, successBodies } from '../../helpers/service.ts';

/** A service that suppresses duplicates: it answers each charge with the transaction of the first, now in lower case. */
const startSuppressing = () =>
  startService((response, { method }, count) => {
    const reference = count === 1 ? 'TXN-8F2C' : 'TXN-8f2c';
    const operation = method === 'POST' ? 'chargeMobileMoney' : 'verify';
    sendJson(response, 200, successBodies[operation]({ reference }));
  });

test.each(kinds)('leaves a key unknown if another one has its transaction: %s', async (_kind, handles) => {
  const service = await startSuppressing();
  const journal = handles()();
  const events: PaymentsEvent[] = [];
  const payments = service.client({ journal, onEvent: (event) => events.push(event) });
  await charged(payments);
  const failure = await catchError(charged(payments, { idempotencyKey: 'order-18' }));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({ reference: 'TXN-8f2c', outcome: 'unknown', idempotencyKey: 'order-18' });
  expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  expect(events.at(-1)).toMatchObject({ type: 'journal', result: 'unresolved', reference: 'TXN-8f2c' });
  expect(await journal.read('order-18')).toMatchObject({
    state: 'unknown',
    reference: 'TXN-8f2c',
    error: { code: 'shared_reference', status: null },
  });
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed' });
  expect(await catchError(charged(payments, { idempotencyKey: 'order-18' }))).toMatchObject({
    outcome: 'unknown',
  });
  expect(service.requests).toHaveLength(2);
  const named = await getJournalCore(journal).followUps.find('TXN-8F2C');
  expect(new Set(named.map(({ key }) => key))).toEqual(new Set([KEY, 'order-18']));
});

test('lets a person resolve a key with a shared reference as not charged', async () => {
  const service = await startSuppressing();
  const journal = createJournal(memoryStore());
  const payments = service.client({ journal });
  await charged(payments);
  await catchError(charged(payments, { idempotencyKey: 'order-18' }));
  const failure = await catchError(payments.resolve('order-18', { reference: 'TXN-8f2c' }, note));
  expect(String(failure)).toContain('one payment cannot pay for two orders');
  expect(await payments.resolve('order-18', 'not_charged', note)).toMatchObject({ state: 'not_charged' });
});

test('records the charge if the journal cannot be searched', async () => {
  const list = () => Promise.reject(new Error('down'));
  const service = await startSuppressing();
  const journal = createJournal({ ...memoryStore(), list });
  await charged(service.client({ journal }));
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', reference: 'TXN-8F2C' });
});

test('refuses to resolve with a reference if the store cannot list, and names list', async () => {
  const { read, write } = memoryStore();
  const service = await startService((response, { method }) =>
    method === 'POST' ? response.destroy() : sendJson(response, 200, successBodies.verify()),
  );
  const journal = createJournal({ read, write });
  const payments = service.client({ journal });
  await catchError(charged(payments));
  const failure = await catchError(payments.resolve(KEY, { reference: 'TXN-8f2c61d0' }, note));
  expect(failure).toMatchObject({ name: 'ConfigurationError' });
  expect(String(failure)).toContain('has no list');
  expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
});
