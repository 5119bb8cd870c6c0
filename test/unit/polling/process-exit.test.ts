import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';

const program = fileURLToPath(new URL('programs/ends.ts', import.meta.url));

test.each(['abort', 'close', 'deadline', 'break'])(
  'exits at once and sends nothing after all waits ended by %s',
  async (ending) => {
    const service = await startService((response, { path }) => {
      const reference = path.slice(path.lastIndexOf('/') + 1);
      const index = Number(reference.replace('TXN-', ''));
      if (index % 2 !== 1)
        sendJson(response, 200, successBodies.verify({ reference, status: 'pending', paid_at: null }));
    });
    const { stdout } = await promisify(execFile)(process.execPath, [program, service.baseUrl, ending], {
      // A wait, a request or a connection that is left would keep the process until it is killed.
      timeout: 120_000,
    });
    const rejected =
      ending === 'break' ? Array(20).fill('rejected').concat('fulfilled') : Array(21).fill('rejected');
    expect(JSON.parse(stdout)).toEqual({ statuses: rejected, requestsAfter: 0 });
  },
);
