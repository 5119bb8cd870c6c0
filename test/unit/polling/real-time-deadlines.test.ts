import { setTimeout as passed } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { catchError, type Respond, sendJson, startService, successBodies } from '../../helpers/service.ts';

/** For one request: a wait that depended on its end would fail by the limit of the test. */
const ENDLESS = 600_000;

const pending: Respond = (response, { path }) => {
  const reference = path.slice(path.lastIndexOf('/') + 1);
  sendJson(response, 200, successBodies.verify({ reference, status: 'pending', paid_at: null }));
};

// deadlines.test.ts tests the exact time.
test.each<[where: string, Respond]>([
  ['between two polls', pending],
  ['in a request without headers', () => {}],
  ['in a request without the whole body', (response) => response.write('{"status":')],
])(
  'keeps the deadline %s against a real service',
  async (_, respond) => {
    const service = await startService(respond);
    const timeout = 600;
    const start = performance.now();
    const wait = service.client({ timeout: ENDLESS }).waitForFinalStatus(REFERENCE, { timeout });
    expect(await catchError(wait)).toBeInstanceOf(WaitTimeoutError);
    expect(performance.now() - start).toBeGreaterThan(timeout - 1);
  },
  60_000,
);

// One poll for each wait would take far longer than a test.
test('keeps 1,000 deadlines behind 10 requests a second of a real service', async () => {
  const service = await startService(pending);
  let sent = 0;
  const onEvent = ({ type }: { type: string }) => {
    if (type === 'request') sent++;
  };
  const client = service.client({ polling: { maxRequestsPerSecond: 10 }, onEvent });
  const waits = Array.from({ length: 1_000 }, (_, index) =>
    catchError(client.waitForFinalStatus(`TXN-${index}`, { timeout: 1_500 })),
  );
  const errors = await Promise.all(waits);
  expect(errors.every((error) => error instanceof WaitTimeoutError)).toBe(true);
  const sentInTime = sent;
  await passed(200);
  expect(sent).toBe(sentInTime);
}, 60_000);
