import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';

const program = fileURLToPath(new URL('programs/waits.ts', import.meta.url));
const REFERENCE = 'TXN-8f2c61d0';
const TIMEOUT = 4_000;

/**
 * Runs a process that waits, and stops it from its first check until its deadline has passed. The service responds to
 * the first check with `first`, or not at all, and to the checks after the stop with `then`.
 */
async function frozen(first: string | undefined, then: string) {
  let stopped = false;
  const sent = { before: 0, after: 0 };
  const start = Promise.withResolvers<void>();
  const service = await startService((response) => {
    if (stopped) sent.after++;
    else sent.before++;
    const status = stopped ? then : first;
    if (status !== undefined) sendJson(response, 200, successBodies.verify({ reference: REFERENCE, status }));
    start.resolve();
  });
  // A startedAt in the future counts as now, and so does the deadline, however long the process takes to start.
  const startedAt = String(Date.now() + 600_000);
  const args = [program, service.baseUrl, REFERENCE, startedAt, String(TIMEOUT)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = text(child.stdout);
  await start.promise;
  child.kill('SIGSTOP');
  stopped = true;
  await passed(TIMEOUT + 1_500);
  child.kill('SIGCONT');
  const end: unknown = JSON.parse(await output);
  return { end, sent };
}

test('checks once more after a SIGSTOP over the deadline, and uses the result', async () => {
  const [paid, lost, pending] = await Promise.all([
    frozen('pending', 'success'),
    frozen(undefined, 'success'),
    frozen('pending', 'pending'),
  ]);
  expect(paid.end).toEqual({ status: 'success' });
  expect(lost.end).toEqual({ status: 'success' });
  const attempts = pending.sent.before + 1;
  expect(pending.end).toMatchObject({ code: 'wait_timeout', lastStatus: 'pending', attempts });
  expect([paid, lost, pending].map(({ sent }) => sent.after)).toEqual([1, 1, 1]);
});
