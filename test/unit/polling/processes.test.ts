import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PATIENCE } from '../../helpers/patience.ts';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';

const programs = fileURLToPath(new URL('programs', import.meta.url));
/** Runs a program until it ends by itself. One that does not is killed, and fails the test. */
const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { timeout: PATIENCE });

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
