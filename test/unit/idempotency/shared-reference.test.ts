import { expect, test } from 'vitest';
import { OutcomeUnknownError, type PaymentsEvent } from '../../../src/index.ts';
import { createJournal, memoryStore } from '../../../src/stores/index.ts';
import { kinds } from '../../helpers/journals.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
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
    attention: 'shared_reference',
  });
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed' });
  expect(await catchError(charged(payments, { idempotencyKey: 'order-18' }))).toMatchObject({
    outcome: 'unknown',
  });
  expect(service.requests).toHaveLength(2);
  expect(await listKeys(journal, { reference: 'TXN-8F2C' })).toEqual([KEY]);
});

test('lets one of two keys have a transaction that both get at once', async () => {
  const bothArrived = Promise.withResolvers<void>();
  const service = await startService(async (response, _request, count) => {
    if (count === 2) bothArrived.resolve();
    await bothArrived.promise;
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference: 'TXN-8F2C' }));
  });
  const store = memoryStore();
  const keys = [KEY, 'order-18'];
  const ends = await Promise.allSettled(
    keys.map((idempotencyKey) =>
      charged(service.client({ journal: createJournal(store) }), { idempotencyKey }),
    ),
  );
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const entries = await Promise.all(keys.map((key) => createJournal(store).read(key)));
  expect(entries.map((entry) => entry?.attention ?? 'none').sort()).toEqual(['none', 'shared_reference']);
});

test('lets a person resolve a key with a shared reference as not charged', async () => {
  const service = await startSuppressing();
  const journal = createJournal(memoryStore());
  const payments = service.client({ journal });
  await charged(payments);
  await catchError(charged(payments, { idempotencyKey: 'order-18' }));
  const failure = await catchError(payments.resolve('order-18', { reference: 'TXN-8f2c' }, note));
  expect(String(failure)).toContain('one transaction cannot pay for two');
  expect(await payments.resolve('order-18', 'not_charged', note)).toMatchObject({ state: 'not_charged' });
});

test('resolves with a reference although the store cannot list', async () => {
  const { read, write } = memoryStore();
  const service = await startService((response, { method }) =>
    method === 'POST' ? response.destroy() : sendJson(response, 200, successBodies.verify()),
  );
  const payments = service.client({ journal: createJournal({ read, write }) });
  await catchError(charged(payments));
  const reference = 'TXN-8f2c61d0';
  expect(await payments.resolve(KEY, { reference }, note)).toMatchObject({ state: 'completed', reference });
});
