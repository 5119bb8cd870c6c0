import { setTimeout as passed } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { type Respond, sendJson, startService, successBodies } from '../../helpers/service.ts';

/**
 * How late a wait can end after its deadline, in real milliseconds, on a busy machine. deadlines.test.ts tests the exact
 * time. A deadline that depends on a poll or on the end of a request would be late by much more.
 */
const TOLERANCE = 500;

/** Returns how many milliseconds after `time` a promise settles, and its error. */
async function lateness(promise: Promise<unknown>, time: number) {
  const error: unknown = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  return { late: performance.now() - time, error };
}

/** Returns the same for a bare timer: the delay that the machine and the thread add. */
async function lateTimer(timeout: number): Promise<number> {
  const start = performance.now();
  await passed(timeout);
  return performance.now() - start - timeout;
}

const pending: Respond = (response, { path }) => {
  const reference = path.slice(path.lastIndexOf('/') + 1);
  sendJson(response, 200, successBodies.verify({ reference, status: 'pending', paid_at: null }));
};

test.each<[where: string, Respond]>([
  ['between two polls', pending],
  ['in a request without headers', () => {}],
  ['in a request without the whole body', (response) => response.write('{"status":')],
])('keeps the deadline %s against a real service', async (_, respond) => {
  const service = await startService(respond);
  const timeout = 600;
  const machine = lateTimer(timeout);
  const start = performance.now();
  const { late, error } = await lateness(
    service.client().waitForFinalStatus(REFERENCE, { timeout }),
    start + timeout,
  );
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(late).toBeGreaterThan(-1);
  expect(late - (await machine)).toBeLessThan(TOLERANCE);
});

test('keeps 1,000 deadlines behind 10 requests a second of a real service', async () => {
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
  // Counted by the client: the service might read a request later than it was sent.
  const sentInTime = sent;
  expect(sentInTime).toBeLessThanOrEqual(15);
  await passed(200);
  expect(sent).toBe(sentInTime);
});
