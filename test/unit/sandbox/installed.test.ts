import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

/** A merchant's project that has the built package and what it depends on, and neither MSW nor Hono. */
async function project(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'merchant-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const installed = join(directory, 'node_modules/payment-collection-client');
  await mkdir(installed, { recursive: true });
  await cp('dist', join(installed, 'dist'), { recursive: true });
  await cp('package.json', join(installed, 'package.json'));
  for (const name of ['ky', 'zod']) {
    await symlink(resolve('node_modules', name), join(directory, 'node_modules', name));
  }
  return directory;
}

const visit = `startSandbox().then(async (sandbox) => {
  const { status } = await fetch(sandbox.url);
  console.log(status, sandbox.transactions.length);
  await sandbox.close();
});`;

test.each([
  ['module', `import { startSandbox } from 'payment-collection-client/sandbox'; ${visit}`],
  ['commonjs', `const { startSandbox } = require('payment-collection-client/sandbox'); ${visit}`],
])('the built sandbox needs nothing that a merchant did not install, as %s', async (kind, code) => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [`--input-type=${kind}`, '-e', code],
    {
      cwd: await project(),
    },
  );
  expect([stdout, stderr]).toEqual(['200 0\n', '']);
});
