import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { catchError, charge } from '../../helpers/service.ts';
import { runCommand, startShop } from '../../unit/operators/command/run-command.ts';
import { fencedIn, readPage } from './tables.ts';

const page = readPage('docs/reference/payment-journal.md');

/** Two unresolved keys of a night, and one that a person has resolved. */
async function startNight() {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const shop = await startShop();
  const fail = async (key: string, time: string, amount: string, id: string) => {
    vi.setSystemTime(`2026-11-22T${time}Z`);
    const options = { idempotencyKey: key, headers: { 'X-Request-Id': id } };
    await catchError(shop.payments.chargeMobileMoney({ ...charge, amount }, options));
  };
  await fail('order-16/1', '01:40:51', '80.00', 'b7e1d0a4-6c1f-4a57-9d3e-2f80c5a91b64');
  await fail('order-17/1', '02:12:09', '25.50', '1f0c2b77-5a3e-4d61-9a0c-8d2b7e4f1c55');
  await fail('order-23/2', '04:55:30', '1200.00', '0d93aa15-7b28-4c0e-8f6d-51e9a3c7d042');
  const note = { by: 'ama@shop.example', reason: 'the service has no such charge: ticket 4711' };
  await shop.journal.resolve('order-16/1', 'not_charged', note);
  vi.setSystemTime('2026-11-22T05:20:00Z');
  return shop;
}

const withoutDigest = (text: string) => text.replace(/\b[\da-f]{64}\b/g, '(digest)');

/** Splits a command of the page, which can have quotes and go on in the next line. */
function splitWords(command: string): string[] {
  const words = command.replaceAll('\\\n', ' ').match(/"[^"]*"|\S+/g) ?? [];
  return words.map((word) => word.replaceAll('"', ''));
}

test('shows what the command really prints', async () => {
  const shop = await startNight();
  const sessions = fencedIn(page, 'text').filter((text) => text.startsWith('$ payment-journal '));
  expect(sessions.length).toBeGreaterThan(3);
  for (const text of sessions) {
    const [, command = '', printed = ''] =
      /^\$ payment-journal ((?:[^\n]*\\\n)*[^\n]*)\n(.*)$/s.exec(text) ?? [];
    const { out, err } = await runCommand(splitWords(command), { ...shop, env: { NO_COLOR: '1' } });
    expect(withoutDigest(err + out)).toBe(withoutDigest(printed));
  }
});

test('lists every exit code and field', async () => {
  const shop = await startNight();
  const { out } = await runCommand(['show', 'order-16/1', '--json'], shop);
  const optional = ['reference', 'error', 'status', 'checkedAt', 'nextCheckAt', 'attention'];
  const { lines } = await runCommand(['list', '--json'], shop);
  const [item = '{}'] = lines;
  for (const field of [...Object.keys({ ...JSON.parse(out), ...JSON.parse(item) }), ...optional, 'order'])
    expect(page).toContain(`\`${field}\``);
  for (const code of [0, 3, 1]) expect(page).toMatch(new RegExp(`^\\| ${code} \\|`, 'm'));
});

describe('the script for cron', () => {
  const script = fencedIn(page, 'sh').find((text) => text.startsWith('#!/bin/sh')) ?? '';

  /** Runs the script with programs that write down what they get. */
  function runScript(text: string, code: number) {
    const folder = mkdtempSync(join(tmpdir(), 'cron-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const writeProgram = (name: string, lines: string) => {
      writeFileSync(join(folder, name), `#!/bin/sh\n${lines}\n`);
      chmodSync(join(folder, name), 0o755);
    };
    writeProgram('npx', `echo "$@"; echo "from the environment: $PAYMENTS_API_KEY" >&2; exit ${code}`);
    writeProgram('mail', `{ printf '%s\\n' "$@"; cat; } > ${folder}/mail.log`);
    writeFileSync(join(folder, 'payments.env'), 'PAYMENTS_API_KEY=loaded\n');
    const local = text
      .replaceAll('/etc/shop/payments.env', join(folder, 'payments.env'))
      .replaceAll('/opt/shop', folder);
    writeProgram('alert.sh', local);
    const env = { PATH: `${folder}:/usr/bin:/bin` };
    const { status, stdout, stderr } = spawnSync('/bin/sh', [join(folder, 'alert.sh')], {
      env,
      encoding: 'utf8',
      input: '',
    });
    const log = join(folder, 'mail.log');
    const mail = existsSync(log) ? readFileSync(log, 'utf8') : undefined;
    return { status, output: stdout + stderr, mail };
  }

  test('says nothing if nothing needs a person', () => {
    expect(runScript(script, 0)).toEqual({ status: 0, output: '', mail: undefined });
  });

  test.each([
    [3, 'Payments need a person'],
    [1, 'payment-journal failed'],
    [127, 'payment-journal failed'],
  ])('mails what was printed if the exit code is %i', (code, subject) => {
    const { output, mail } = runScript(script, code);
    expect(output).toBe('');
    expect(mail).toContain(subject);
    expect(mail).toContain('payment-journal list');
    expect(mail).toContain('from the environment: loaded');
  });
});
