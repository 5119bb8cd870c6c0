import { expect, test } from 'vitest';
import { type Poll, TransactionMismatchError, WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { catchError } from '../../helpers/service.ts';

useFakeClock();

// A caller can change the transaction that it gets. No other caller must see that.

const changesTo = (change: object) => (poll: Poll) => {
  if (poll.transaction) Object.assign(poll.transaction, change);
};

const emptied = ({ transaction }: Poll) => {
  if (!transaction) return;
  for (const field of Object.keys(transaction)) Reflect.deleteProperty(transaction, field);
};

test('keeps a status that onPoll changes from other waits and its own', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const onPoll = changesTo({ status: 'success' });
  const waits = [{ onPoll }, {}].map((options) =>
    catchError(client.waitForFinalStatus(REFERENCE, { ...options, timeout: MINUTE })),
  );
  for (const error of await runToEnd(Promise.all(waits))) {
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({ lastStatus: 'pending', lastTransaction: { status: 'pending' } });
  }
});

test('compares expect with the amount of the service, not of onPoll', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const expected = { amount: '100.00' };
  const onPoll = changesTo({ amount: '100.00' });
  const waits = [{ onPoll }, {}].map((options) =>
    catchError(client.waitForFinalStatus(REFERENCE, { ...options, expect: expected })),
  );
  for (const error of await runToEnd(Promise.all(waits))) {
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({ transaction: { amount: '25.50' } });
  }
});

test.each([
  ['empties it', emptied],
  ['turns its amounts into numbers', changesTo({ amount: 25.5 })],
  ['removes its status', changesTo({ status: null })],
])('resolves every wait although an onPoll %s', async (_, onPoll) => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const expected = { amount: '25.50', currency: 'GHS' };
  const waits = [{ onPoll }, { onPoll }, {}].map((options) =>
    timeSettlement(client.waitForFinalStatus(REFERENCE, { ...options, expect: expected })),
  );
  for (const { at, value } of await runToEnd(Promise.all(waits))) {
    expect(at).toBe(8 * SECOND);
    expect(value).toMatchObject({ reference: REFERENCE, status: 'success', ...expected });
  }
});

test('gives each wait and watch of a shared poll its own transaction', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const seen: unknown[] = [];
  const onPoll = ({ transaction }: Poll) => seen.push(transaction);
  const watching = [1, 2].map(async () => {
    for await (const transaction of client.watch(REFERENCE)) seen.push(transaction);
  });
  const waits = [1, 2].map(() => client.waitForFinalStatus(REFERENCE, { onPoll }));
  seen.push(...(await runToEnd(Promise.all(waits))));
  await Promise.all(watching);
  expect(seen).toHaveLength(10);
  expect(new Set(seen).size).toBe(10);
});
