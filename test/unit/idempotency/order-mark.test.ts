import { expect, test } from 'vitest';
import { chargeMobileMoney } from '../../../src/api/operations.ts';
import { CLIENT_ACCESS, type ClientAccess } from '../../../src/client-access.ts';
import { ConfigurationError, type PaymentsClient } from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { memoryJournal } from '../../../src/journal/index.ts';
import { charged } from '../../helpers/keyed-calls.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

const order = { id: '17', number: 1 };
const idempotencyKey = '17/1';

async function start() {
  const service = await startService((response, _, count) =>
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference: `TXN-${count}` })),
  );
  const journal = memoryJournal();
  const payments = service.client({ journal });
  return { service, journal, payments, access: readAccess(payments) };
}

const readAccess = (payments: PaymentsClient): ClientAccess => Reflect.get(payments, CLIENT_ACCESS);

test('records the mark of an order, and replays only for that order', async () => {
  const { service, journal, access } = await start();
  const { result } = await access.createPayment(chargeMobileMoney, charge, { idempotencyKey, order });
  expect(result).toMatchObject({ reference: 'TXN-1', replayed: false });
  const { followUps } = getJournalCore(journal);
  expect(await followUps.countDue({ kind: 'key' })).toEqual({ due: 0, nextIn: null });
  const [found] = await followUps.find('TXN-1');
  expect(found?.record.order).toEqual(order);
  const again = await access.createPayment(chargeMobileMoney, charge, { idempotencyKey, order });
  expect(again.result).toMatchObject({ reference: 'TXN-1', replayed: true });
  for (const other of [undefined, { id: '17', number: 2 }, { id: '18', number: 1 }]) {
    const options = { idempotencyKey, order: other };
    expect(await access.createPayment(chargeMobileMoney, charge, options)).toEqual({
      result: undefined,
      usedBy: order,
    });
  }
  expect(service.requests).toHaveLength(1);
});

test('refuses a plain call under the key of an order', async () => {
  const { service, payments, access } = await start();
  await access.createPayment(chargeMobileMoney, charge, { idempotencyKey, order });
  const failure = await catchError(charged(payments, { idempotencyKey }));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(failure).toMatchObject({ outcome: 'not_sent' });
  expect(String(failure)).toContain('is a payment of an order');
  expect(service.requests).toHaveLength(1);
});

test('does not charge for an order under a key that was plain', async () => {
  const { service, access } = await start();
  await access.createPayment(chargeMobileMoney, charge, { idempotencyKey: '19/1' });
  const used = { idempotencyKey: '19/1', order: { id: '19', number: 1 } };
  expect(await access.createPayment(chargeMobileMoney, charge, used)).toEqual({
    result: undefined,
    usedBy: undefined,
  });
  expect(service.requests).toHaveLength(1);
});
