import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PaymentsClient } from '../../../src/index.ts';
import { payment, startTestSandbox } from './start-sandbox.ts';

/** Runs the built command. `npm test` builds first. */
function runCommand(...args: string[]) {
  const child = spawn(process.execPath, ['dist/payment-sandbox.js', ...args], { stdio: 'pipe' });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err += text;
  });
  const ended = once(child, 'close').then(([code]: unknown[]) => ({ code, ...output }));
  return { child, output, ended };
}

async function startCommand(...args: string[]) {
  const { child, output, ended } = runCommand('--port', '0', ...args);
  const startedAt = Date.now();
  while (!output.out.includes('Ctrl-C')) {
    if (Date.now() - startedAt > 10_000 || child.exitCode !== null) throw new Error(output.err);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const shown = (name: string) => new RegExp(`${name} +(\\S+)`).exec(output.out)?.[1] ?? '';
  const payments = new PaymentsClient({
    baseUrl: shown('base URL'),
    apiKey: shown('test key'),
    maxRetries: 0,
  });
  return { child, ended, shown, payments };
}

test('prints what a shop needs when it starts', async () => {
  const { payments, shown } = await startCommand();
  const { reference } = await payments.initialize(payment);
  expect(shown('live key')).toBe('sk_live_sandbox');
  const checkout = shown('checkout').replace('<reference>', reference);
  for (const address of [shown('transactions'), shown('phone'), checkout]) {
    expect((await fetch(address)).status).toBe(200);
  }
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'exits with 0 on %s, also with open connections',
  async (signal) => {
    const { child, ended, shown } = await startCommand();
    const events = await fetch(`${shown('transactions')}events/dashboard`);
    child.kill(signal);
    await expect(ended).resolves.toMatchObject({ code: 0, err: '' });
    await expect(events.text()).rejects.toThrow();
  },
);

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'keeps transactions over a restart with --state, after %s',
  async (signal) => {
    const directory = await mkdtemp(join(tmpdir(), 'sandbox-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const state = ['--state', join(directory, 'state.db')];
    const first = await startCommand(...state);
    const { reference } = await first.payments.initialize(payment);
    first.child.kill(signal);
    await first.ended;
    const { payments } = await startCommand(...state);
    await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending', ...payment });
  },
);

test('exits with 1 and one line when the port is in use', async () => {
  const { sandbox } = await startTestSandbox();
  const { port } = new URL(sandbox.url);
  await expect(runCommand('--port', port).ended).resolves.toEqual({
    code: 1,
    out: '',
    err: `payment-sandbox: Port ${port} on 127.0.0.1 is in use. Choose another with --port, or stop the program that uses it.\n`,
  });
});

test.each([
  [['--host', '0.0.0.0'], 'not a loopback address'],
  [['--prot', '4010'], "Unknown option '--prot'"],
  [['4010'], "Unexpected argument '4010'"],
  [['--port', 'http'], '--port takes a whole number from 0 to 65535, not "http"'],
  [['--port', '65536'], '--port takes'],
  [['--keep', '-1'], '--keep'],
  [['--state', '/nowhere/state.db'], 'The state file /nowhere/state.db cannot be used'],
])('exits with 1 and a clear line for %o', async (args, message) => {
  const { code, out, err } = await runCommand(...args).ended;
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(message);
  expect(err).not.toContain('    at ');
});

test('shows every option with --help', async () => {
  const { code, out } = await runCommand('--help').ended;
  expect(code).toBe(0);
  for (const name of ['port', 'host', 'allow-remote', 'public-url', 'state', 'keep', 'expiry']) {
    expect(out).toContain(`--${name}`);
  }
});
