import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { sqliteFile } from '../../helpers/journals.ts';
import { KEY } from '../../helpers/keyed-calls.ts';
import { PATIENCE } from '../../helpers/patience.ts';
import { startService, successBodies } from '../../helpers/service.ts';

const charge = fileURLToPath(new URL('programs/charge.ts', import.meta.url));
const run = promisify(execFile);

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
