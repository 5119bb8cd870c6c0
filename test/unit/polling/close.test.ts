import { expect, test, vi } from 'vitest';
import { ClosedError, type PaymentsClient, type Transaction } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { catchError, charge, payment } from '../../helpers/service.ts';

useFakeClock();

const never = () => new Promise<never>(() => {});

const laterCalls: Record<string, (client: PaymentsClient) => Promise<unknown>> = {
  initialize: (client) => client.initialize(payment),
  chargeMobileMoney: (client) => client.chargeMobileMoney(charge),
  verify: (client) => client.verify(REFERENCE),
  check: (client) => client.check(REFERENCE),
  waitForFinalStatus: (client) => client.waitForFinalStatus(REFERENCE),
  watch: (client) => client.watch(REFERENCE).next(),
  reconcile: (client) => client.reconcile([REFERENCE]).next(),
};

test('ends every wait with ClosedError and aborts the requests in flight', async () => {
  const { client, seen } = createScriptedService(never);
  const waits = Array.from({ length: 20 }, (_, index) =>
    catchError(client.waitForFinalStatus(`TXN-${index}`)),
  );
  await vi.advanceTimersByTimeAsync(SECOND);
  client.close();
  for (const error of await Promise.all(waits)) expect(error).toBeInstanceOf(ClosedError);
  expect(seen).toHaveLength(20);
  expect(seen.every(({ signal }) => signal.aborted)).toBe(true);
});

test.each(Object.entries(laterCalls))(
  'rejects %s with ClosedError after close and sends nothing',
  async (_, call) => {
    const { client, seen } = createScriptedService(respondInTurn('success'));
    client.close();
    expect(await runToEnd(catchError(call(client)))).toBeInstanceOf(ClosedError);
    expect(seen).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('allows a second close, and ignores notify after it', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(SECOND);
  client.close();
  client.close();
  client.notify(REFERENCE);
  await runToEnd(wait);
  expect(seen).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('closes the client at the end of a using block', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  let wait: Promise<{ value: Transaction | undefined; error: unknown }>;
  {
    using payments = client;
    wait = timeSettlement(payments.waitForFinalStatus(REFERENCE));
    await vi.advanceTimersByTimeAsync(SECOND);
  }
  expect((await wait).error).toBeInstanceOf(ClosedError);
  expect(vi.getTimerCount()).toBe(0);
  expect(seen).toHaveLength(1);
});
