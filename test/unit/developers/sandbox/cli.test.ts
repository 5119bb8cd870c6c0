import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { PaymentsClient, PermissionError } from '../../../../src/index.ts';
import { charge, createStatePath, payment } from './start-sandbox.ts';

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
  while (!output.out.includes('Ctrl-C')) {
    if (child.exitCode !== null) throw new Error(output.err);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const shown = (name: string) => new RegExp(`${name} +(\\S+)`).exec(output.out)?.[1] ?? '';
  const payments = new PaymentsClient({
    baseUrl: shown('base URL'),
    apiKey: shown('test key'),
    maxRetries: 0,
  });
  return { child, ended, shown, payments, out: output.out };
}

test('prints what a shop needs when it starts', async () => {
  const { payments, shown, out } = await startCommand();
  const { reference } = await payments.initialize(payment);
  expect(shown('live key')).toBe('sandbox-live-key');
  const checkout = shown('checkout').replace('<reference>', reference);
  for (const address of [shown('transactions'), shown('phone'), checkout, shown('script API')]) {
    expect((await fetch(address)).status).toBe(200);
  }
  expect(out).not.toMatch(/return|webhook/);

  // Its test key does not charge. With the line to paste, a client needs no options.
  expect(out).toContain('does not charge Mobile Money');
  await expect(payments.chargeMobileMoney(charge)).rejects.toBeInstanceOf(PermissionError);
  const line = /^ {2}(export .+)$/m.exec(out)?.[1] ?? '';
  const print = 'echo "$PAYMENTS_BASE_URL $PAYMENTS_API_KEY"';
  const { stdout } = await promisify(execFile)('sh', ['-c', `${line}; ${print}`]);
  const [baseUrl, apiKey] = stdout.trim().split(' ');
  const charged = new PaymentsClient({ baseUrl, apiKey }).chargeMobileMoney(charge);
  await expect(charged).resolves.toMatchObject({ status: 'processing' });
});

test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
  'ends on %s with open connections, and keeps transactions with --state',
  async (signal) => {
    const state = ['--state', createStatePath()];
    const { child, ended, shown, payments } = await startCommand(...state);
    const { reference } = await payments.initialize(payment);
    const events = await fetch(`${shown('transactions')}events/dashboard`);
    child.kill(signal);
    await expect(ended).resolves.toMatchObject({ code: signal === 'SIGKILL' ? null : 0, err: '' });
    await expect(events.text()).rejects.toThrow();
    const again = await startCommand(...state);
    await expect(again.payments.verify(reference)).resolves.toMatchObject({ status: 'pending', ...payment });
  },
);

test.each([
  [['--host', '0.0.0.0'], 'not a loopback address'],
  [['--prot', '4010'], "Unknown option '--prot'"],
  [['4010'], "Unexpected argument '4010'"],
  [['--port', 'http'], '--port takes a whole number from 0 to 65535, not "http"'],
  [['--keep', '-1'], '--keep'],
  [['--deviate', 'clocks'], 'deviate must be one of address, clock, idle-connections'],
  [['--return-url', 'javascript:alert(1)'], 'returnUrl must be an http or https address'],
])('exits with 1 and a clear line for %o', async (args, message) => {
  const { code, out, err } = await runCommand(...args).ended;
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(message);
  expect(err).not.toContain('    at ');
});

test('shows every option and exit code with --help, and starts with its last example', async () => {
  const { code, out } = await runCommand('--help').ended;
  expect(code).toBe(0);
  const list = (pattern: RegExp) => [...out.matchAll(pattern)].map(([, name]) => name).join(' ');
  expect(list(/^ {2}--([\w-]+) /gm)).toBe(
    'port host allow-remote public-url allow-host return-url webhook-url allow-test-charges state keep expiry deviate help version',
  );
  expect(list(/^ {2}(\d) {2}\S/gm)).toBe('0 1');
  const [, example = ''] = /\n {2}npx payment-sandbox (--port .*)$/s.exec(out.replaceAll('\\\n', '')) ?? [];
  const { shown } = await startCommand(...example.trim().split(/\s+/), '--port', '0');
  expect(shown('webhooks')).toBe('http://127.0.0.1:3000/webhooks/payments');
});
