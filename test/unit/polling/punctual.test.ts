import { setTimeout as passed } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { answers, json, type Respond, startService } from '../../helpers/service.ts';

/**
 * How late a wait may learn of its deadline, in real milliseconds, on a machine that others keep busy. deadlines.test.ts
 * holds the moment itself. A deadline that is tied to a poll or to the end of a request is late by much more.
 */
const TOLERANCE = 500;

/** Milliseconds after `moment` that a promise settles, and what it rejects with. */
async function lateness(promise: Promise<unknown>, moment: number) {
  const error: unknown = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  return { late: performance.now() - moment, error };
}

/** The same of a bare timer: what the machine and the thread add to any moment. */
async function lateTimer(timeout: number): Promise<number> {
  const began = performance.now();
  await passed(timeout);
  return performance.now() - began - timeout;
}

const pending: Respond = (response, { path }) => {
  const reference = path.slice(path.lastIndexOf('/') + 1);
  json(response, 200, answers.verify({ reference, status: 'pending', paid_at: null }));
};

test.each<[where: string, Respond]>([
  ['in a sleep', pending],
  ['in a request that hangs before its headers', () => {}],
  ['in a request that hangs within its body', (response) => response.write('{"status":')],
])('against a real service, a deadline %s ends the wait', async (_, respond) => {
  const service = await startService(respond);
  const timeout = 600;
  const machine = lateTimer(timeout);
  const began = performance.now();
  const { late, error } = await lateness(
    service.client().waitForFinalStatus(REFERENCE, { timeout }),
    began + timeout,
  );
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(late).toBeGreaterThan(-1);
  expect(late - (await machine)).toBeLessThan(TOLERANCE);
});

test('against a real service, 1,000 waits behind 10 requests a second end at their deadlines', async () => {
  const service = await startService(pending);
  let sent = 0;
  const onEvent = ({ type }: { type: string }) => {
    if (type === 'request') sent++;
  };
  const client = service.client({ polling: { maxRequestsPerSecond: 10 }, onEvent });
  const timeout = 1_500;
  const bare: Promise<number>[] = [];
  const waits = Array.from({ length: 1_000 }, (_, index) => {
    bare.push(lateTimer(timeout));
    const wait = client.waitForFinalStatus(`TXN-${index}`, { timeout });
    return lateness(wait, performance.now() + timeout);
  });
  const ends = await Promise.all(waits);
  expect(ends.every(({ error }) => error instanceof WaitTimeoutError)).toBe(true);
  const machine = Math.max(...(await Promise.all(bare)));
  expect(Math.max(...ends.map(({ late }) => late)) - machine).toBeLessThan(TOLERANCE);
  // By the client's own count: the service may take in later what was sent before.
  const sentInTime = sent;
  expect(sentInTime).toBeLessThanOrEqual(15);
  await passed(200);
  expect(sent).toBe(sentInTime);
});
