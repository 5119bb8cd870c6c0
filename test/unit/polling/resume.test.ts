import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';
import { isExhaustive } from '../../helpers/sized.ts';

const program = fileURLToPath(new URL('programs/waits.ts', import.meta.url));
const REFERENCE = 'TXN-8f2c61d0';
/** Long enough for a second process to start within it on a busy machine. */
const TIMEOUT = 12_000;

/** A service that records when each check came, in milliseconds after the charge. After `paid` the status is success. */
async function startRecordingService(paid: number) {
  const startedAt = Date.now();
  const sent: number[] = [];
  const service = await startService((response) => {
    const since = Date.now() - startedAt;
    sent.push(since);
    const status = since < paid ? 'pending' : 'success';
    sendJson(response, 200, successBodies.verify({ reference: REFERENCE, status }));
  });
  return { sent, startedAt, baseUrl: service.baseUrl };
}

/** Starts a process that waits, given only the reference and the time of the charge. */
function startWaiting({ baseUrl, startedAt }: { baseUrl: string; startedAt: number }) {
  const child = spawn(process.execPath, [program, baseUrl, REFERENCE, String(startedAt), String(TIMEOUT)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, output: text(child.stdout) };
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  const [, signal] = await gone;
  expect(signal).toBe('SIGKILL');
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await passed(10);
}

if (isExhaustive)
  test('continues schedule and deadline in a new process after a kill', async () => {
    const service = await startRecordingService(Number.POSITIVE_INFINITY);
    const first = startWaiting(service);
    await until(() => service.sent.length >= 2);
    await killed(first.child);
    const before = service.sent.length;
    const { output } = startWaiting(service);
    const end: unknown = JSON.parse(await output);

    // A deadline counted from the second process's own start would be later by the time of the first.
    const restarted = service.sent[before] ?? 0;
    const inTime = (elapsed: number) => elapsed >= TIMEOUT && elapsed < TIMEOUT + restarted / 2;
    expect(end).toMatchObject({ code: 'wait_timeout', reference: REFERENCE, startedAt: service.startedAt });
    expect(end).toMatchObject({ lastStatus: 'pending', elapsed: expect.toSatisfy(inTime) });
    expect(end).toHaveProperty(
      'at',
      expect.toSatisfy((at: number) => inTime(at - service.startedAt)),
    );
    const after = service.sent.slice(before);
    // It checks at once, since its first check is long due, and continues: a new wait would pause for 300 ms.
    const [restart = 0, next = 0] = after;
    expect(next - restart).toBeGreaterThan(500);
    expect(after.at(-1)).toBeLessThan(TIMEOUT);
  });

test('continues in a new process after a kill and detects the payment', async () => {
  const service = await startRecordingService(1_800);
  const first = startWaiting(service);
  await until(() => service.sent.length >= 1);
  await killed(first.child);
  const { output } = startWaiting(service);
  expect(JSON.parse(await output)).toEqual({ status: 'success' });
  expect(service.sent.at(-1)).toBeGreaterThanOrEqual(1_800);
  expect(service.sent.at(-1)).toBeLessThan(TIMEOUT);
});
