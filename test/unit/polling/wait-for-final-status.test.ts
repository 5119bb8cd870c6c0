import { expect, test } from 'vitest';
import { NotFoundError, TransactionMismatchError, WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, runToEnd, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { catchError } from '../../helpers/service.ts';

useFakeClock();

test('polls at once, then on schedule, and resolves with the final transaction', async () => {
  const { client, seen } = createScriptedService(
    respondInTurn('pending', 'processing', 'pending', 'success'),
  );
  const transaction = await runToEnd(client.waitForFinalStatus(REFERENCE));
  expect(transaction.status).toBe('success');
  expect(seen.map(({ at }) => at)).toEqual([0, 8_000, 11_000, 14_000]);
});

test('makes the first check eight seconds after startedAt', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
  await runToEnd(client.waitForFinalStatus(REFERENCE, { startedAt: Date.now() - 2_000 }));
  expect(seen.map(({ at }) => at)).toEqual([6_000, 9_000]);
});

test.each(['failed', 'abandoned'])('resolves with %s, and does not reject', async (status) => {
  const { client } = createScriptedService(respondInTurn('pending', status));
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe(status);
});

test('rejects exactly at the deadline and reports the last status', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const start = Date.now();
  const error = await runToEnd(catchError(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(error).toMatchObject({
    code: 'wait_timeout',
    reference: REFERENCE,
    lastStatus: 'pending',
    lastTransaction: { status: 'pending' },
    lastError: undefined,
    attempts: seen.length,
    elapsed: MINUTE,
    startedAt: start,
    outcome: null,
  });
  expect(String(error)).toContain('do not cancel the order and do not charge again');
  expect(seen.at(-1)?.at).toBe(MINUTE - 500);
});

test('ends a wait at once after a response about another transaction', async () => {
  const { client } = createScriptedService(() =>
    Response.json({
      status: true,
      data: {
        reference: 'TXN-other',
        status: 'success',
        amount: '25.50',
        currency: 'GHS',
        customer_email: 'a@b.c',
      },
    }),
  );
  expect(await runToEnd(catchError(client.waitForFinalStatus(REFERENCE)))).toBeInstanceOf(
    TransactionMismatchError,
  );
});

test('rejects with NotFoundError after ten seconds of 404', async () => {
  const { client, seen } = createScriptedService(() => new Response('', { status: 404 }));
  expect(await runToEnd(catchError(client.waitForFinalStatus(REFERENCE)))).toBeInstanceOf(NotFoundError);
  expect(seen.map(({ at }) => at)).toEqual([0, 8_000, 11_000]);
});
