import { execFile, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { REFERENCE } from '../../helpers/calls.ts';
import { PATIENCE } from '../../helpers/patience.ts';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';

const programs = fileURLToPath(new URL('programs', import.meta.url));
/** Runs a program until it ends by itself. One that does not is killed, and fails the test. */
const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { timeout: PATIENCE });

/** Starts a process that waits, given only the reference, the time of the charge and the deadline. */
function startWaiting(baseUrl: string, startedAt: number, timeout: number) {
  const args = [`${programs}/waits.ts`, baseUrl, REFERENCE, String(startedAt), String(timeout)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, output: text(child.stdout) };
}

/**
 * Runs a process that waits, and stops it from its first check until its deadline has passed. The service responds to
 * the first check with `first`, or not at all, and to the checks after the stop with `then`.
 */
async function frozen(first: string | undefined, then: string) {
  // Long enough for this process, which must stop the other one before its deadline.
  const timeout = 10_000;
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
  const { child, output } = startWaiting(service.baseUrl, Date.now() + 600_000, timeout);
  await start.promise;
  child.kill('SIGSTOP');
  stopped = true;
  await passed(timeout + 1_500);
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

test.each(['abort', 'close', 'deadline', 'break'])(
  'exits by itself and sends nothing after all waits ended by %s',
  async (ending) => {
    const service = await startService((response, { path }) => {
      const reference = path.slice(path.lastIndexOf('/') + 1);
      const index = Number(reference.replace('TXN-', ''));
      if (index % 2 !== 1)
        sendJson(response, 200, successBodies.verify({ reference, status: 'pending', paid_at: null }));
    });
    // A wait, a request or a connection that is left would keep the process alive.
    const { stdout } = await run(`${programs}/ends.ts`, service.baseUrl, ending);
    const rejected =
      ending === 'break' ? Array(20).fill('rejected').concat('fulfilled') : Array(21).fill('rejected');
    expect(JSON.parse(stdout)).toEqual({ statuses: rejected, requestsAfter: 0 });
  },
);

test('holds nothing of a reconcile that has ended', async () => {
  const { stdout } = await run('--expose-gc', `${programs}/reconciles.ts`);
  expect(JSON.parse(stdout)).toEqual({ held: [], gc: 'function' });
});
