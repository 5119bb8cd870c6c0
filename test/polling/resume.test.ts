import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { answers, json, startService } from '../support/service.ts';

const program = fileURLToPath(new URL('programs/waits.ts', import.meta.url));
const REFERENCE = 'TXN-8f2c61d0';

/** A service that notes when it was asked, in milliseconds after the charge; `paid` from then on it says success. */
async function startNotingService(paid: number) {
  const startedAt = Date.now();
  const asked: number[] = [];
  const service = await startService((response) => {
    const since = Date.now() - startedAt;
    asked.push(since);
    const status = since < paid ? 'pending' : 'success';
    json(response, 200, answers.verify({ reference: REFERENCE, status }));
  });
  return { asked, startedAt, baseUrl: service.baseUrl };
}

/** A process that waits, from the reference and the time of the charge alone. */
function startWaiting({ baseUrl, startedAt }: { baseUrl: string; startedAt: number }) {
  const child = spawn(process.execPath, [program, baseUrl, REFERENCE, String(startedAt)], {
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

test('a wait that is killed goes on in a new process: at its place in the schedule, to its deadline', async () => {
  const service = await startNotingService(Number.POSITIVE_INFINITY);
  const first = startWaiting(service);
  await until(() => service.asked.length >= 2);
  await killed(first.child);
  const before = service.asked.length;
  const { output } = startWaiting(service);
  const end: unknown = JSON.parse(await output);

  // Another 3 s from its own start would end it much later.
  const deadline = service.startedAt + 3_000;
  expect(end).toMatchObject({ code: 'wait_timeout', reference: REFERENCE, startedAt: service.startedAt });
  expect(end).toMatchObject({ lastStatus: 'pending', elapsed: expect.closeTo(3_000, -2) });
  expect(end).toHaveProperty(
    'at',
    expect.toSatisfy((at: number) => at >= deadline && at < deadline + 150),
  );
  const after = service.asked.slice(before);
  // It asks at once, since its first check is long due, and not anew from the first delay on.
  const pauses = after.slice(1).map((moment, index) => moment - (after[index] ?? 0));
  expect(after.length).toBeGreaterThanOrEqual(2);
  for (const [index, pause] of pauses.slice(0, -1).entries()) {
    const root = Math.min(900, Math.sqrt((after[index] ?? 0) / 1000) * 1000);
    expect(pause).toBeGreaterThan(Math.max(300, 0.9 * root) - 60);
  }
  expect(after.at(-1)).toBeLessThan(3_000);
});

test('a wait that is killed goes on in a new process, and sees the payment', async () => {
  const service = await startNotingService(1_800);
  const first = startWaiting(service);
  await until(() => service.asked.length >= 1);
  await killed(first.child);
  const { output } = startWaiting(service);
  expect(JSON.parse(await output)).toEqual({ status: 'success' });
  expect(service.asked.at(-1)).toBeGreaterThanOrEqual(1_800);
  expect(service.asked.at(-1)).toBeLessThan(1_800 + 1_200);
});
