import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { sqliteFile } from '../../helpers/journals.ts';
import { charged, KEY, replayOf } from '../../helpers/keyed-calls.ts';
import { PATIENCE } from '../../helpers/patience.ts';
import { startService, successBodies } from '../../helpers/service.ts';

const charge = fileURLToPath(new URL('programs/charge.ts', import.meta.url));
const run = promisify(execFile);

/** As a merchant loads the package: what `npm run build` made, which `npm test` runs first. */
const asBuilt = {
  module: (name: string) => `await import('${name}')`,
  commonjs: (name: string) => `require('${name}')`,
};

/** A process of the built package that makes the charge and prints its result. It must end by itself. */
async function chargeFromBuild(
  kind: keyof typeof asBuilt,
  baseUrl: string,
  path: string,
  journalKind = kind,
): Promise<object> {
  const [load, loadJournal] = [asBuilt[kind], asBuilt[journalKind]];
  const code = `(async () => {
    const { createRequire } = await import('node:module');
    const require = createRequire(process.cwd() + '/any.js');
    const { DatabaseSync } = ${load('node:sqlite')};
    const { PaymentsClient } = ${load('payment-collection-client')};
    const { sqliteJournal } = ${loadJournal('payment-collection-client/journal/sqlite')};
    const journal = sqliteJournal(new DatabaseSync(${JSON.stringify(path)}));
    const payments = new PaymentsClient({ apiKey: 'sk_test_4vK9qLm2Xw7RtZ', baseUrl: '${baseUrl}', journal });
    const input = {
      amount: 25.5, customer_email: 'ama.serwaa@example.com', phone: '024 412 3456', network: 'mtn',
    };
    console.log(JSON.stringify(await payments.chargeMobileMoney(input, { idempotencyKey: '${KEY}' })));
  })()`;
  const { stdout } = await run(process.execPath, [`--input-type=${kind}`, '-e', code]);
  return JSON.parse(stdout);
}

describe.each(['module', 'commonjs'] as const)('a process that loads the build as %s', (kind) => {
  test('replays the result of another process', async () => {
    const file = sqliteFile();
    const service = await startService();
    const first = await charged(service.client({ journal: file.journal() }));
    expect(await chargeFromBuild(kind, service.baseUrl, file.path)).toEqual(replayOf(first));
    expect(service.requests).toHaveLength(1);
  });

  test('charges once with the journal of the other build', async () => {
    const file = sqliteFile();
    const service = await startService();
    const other = kind === 'module' ? 'commonjs' : 'module';
    const first = await chargeFromBuild(kind, service.baseUrl, file.path, other);
    expect(await chargeFromBuild(kind, service.baseUrl, file.path, other)).toEqual(replayOf(first));
    expect(service.requests).toHaveLength(1);
  });
});

test.each([
  ['a charge', 200, { reference: 'TXN-8f2c61d0' }],
  ['a rejection', 422, { code: 'invalid_request' }],
  ['an unknown outcome', 500, { code: 'outcome_unknown' }],
])('lets the process end by itself after %s with a journal', async (_what, status, end) => {
  const file = sqliteFile();
  const body = status === 200 ? successBodies.chargeMobileMoney() : {};
  const service = await startService(status, body, { connection: 'close' });
  // A heartbeat left behind would keep the process alive.
  const { stdout, stderr } = await run(process.execPath, [charge, service.baseUrl, file.path, KEY], {
    timeout: PATIENCE,
  });
  expect(JSON.parse(stdout)).toMatchObject(end);
  expect(stderr).toBe('');
});
