import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';

/** A merchant's project that has the built package and these others. */
async function project(...others: string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'merchant-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const installed = join(directory, 'node_modules/payment-collection-client');
  await mkdir(installed, { recursive: true });
  await cp('dist', join(installed, 'dist'), { recursive: true });
  await cp('package.json', join(installed, 'package.json'));
  for (const name of ['ky', 'zod', ...others]) {
    await symlink(resolve('node_modules', name), join(directory, 'node_modules', name));
  }
  return directory;
}

/** What a module or a script prints. */
async function output(cwd: string, kind: 'module' | 'commonjs', code: string): Promise<string> {
  const run = promisify(execFile)(process.execPath, [`--input-type=${kind}`, '-e', code], { cwd });
  return (await run).stdout.trim();
}

const verify = (baseUrl: string) => `
  new PaymentsClient({ baseUrl: '${baseUrl}', apiKey: 'sk_test_x', transport: undiciTransport() })
    .verify('TXN-8f2c61d0')
    .then(({ status }) => console.log(status));`;

test('sends as an ES module and as CommonJS, and lets the process end', async () => {
  const merchant = await project('undici');
  const { baseUrl } = await startService((response) => sendJson(response, 200, successBodies.verify()));
  const imported = `
    import { PaymentsClient } from 'payment-collection-client';
    import { undiciTransport } from 'payment-collection-client/node';`;
  const required = `
    const { PaymentsClient } = require('payment-collection-client');
    const { undiciTransport } = require('payment-collection-client/node');`;
  expect(await output(merchant, 'module', imported + verify(baseUrl))).toBe('success');
  expect(await output(merchant, 'commonjs', required + verify(baseUrl))).toBe('success');
});

test("shows Node's own error if undici is not installed", async () => {
  const merchant = await project();
  const imported = `import('payment-collection-client/node').catch(({ message }) => console.log(message));`;
  const required = `try { require('payment-collection-client/node') } catch ({ message }) { console.log(message) }`;
  expect(await output(merchant, 'module', imported)).toMatch(
    /^Cannot find package 'undici' imported from .*payment-collection-client.dist.node\.js/,
  );
  expect(await output(merchant, 'commonjs', required)).toMatch(/^Cannot find module 'undici'/);
});
