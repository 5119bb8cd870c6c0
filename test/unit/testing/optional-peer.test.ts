import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

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
  const { stdout } = await promisify(execFile)(process.execPath, [`--input-type=${kind}`, '-e', code], {
    cwd,
  });
  return stdout.trim();
}

const useMock = `
  const mock = createMockPayments();
  const server = setupServer(...mock.handlers);
  server.listen();
  new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey })
    .initialize({ amount: 5, customer_email: 'ama@example.com' })
    .then(({ reference }) => {
      console.log(reference);
      server.close();
    });`;

test('with MSW, the built mock works as an ES module and as CommonJS', async () => {
  const merchant = await project('msw');
  const imported = `
    import { setupServer } from 'msw/node';
    import { PaymentsClient } from 'payment-collection-client';
    import { createMockPayments } from 'payment-collection-client/testing';`;
  const required = `
    const { setupServer } = require('msw/node');
    const { PaymentsClient } = require('payment-collection-client');
    const { createMockPayments } = require('payment-collection-client/testing');`;
  expect(await output(merchant, 'module', imported + useMock)).toBe('TXN-000001');
  expect(await output(merchant, 'commonjs', required + useMock)).toBe('TXN-000001');
});

test('without MSW, importing the mock says what to install', async () => {
  const merchant = await project();
  const imported = `import('payment-collection-client/testing').catch(({ message }) => console.log(message));`;
  const required = `try { require('payment-collection-client/testing') } catch ({ message }) { console.log(message) }`;
  const advice =
    'payment-collection-client/testing needs MSW, which could not be loaded. Install it: npm install --save-dev msw';
  expect(await output(merchant, 'module', imported)).toBe(advice);
  expect(await output(merchant, 'commonjs', required)).toBe(advice);
});

test('without MSW, the client itself works', async () => {
  const merchant = await project();
  const imported = `import { PaymentsClient } from 'payment-collection-client'; console.log(PaymentsClient.name);`;
  const required = `console.log(require('payment-collection-client').PaymentsClient.name);`;
  expect(await output(merchant, 'module', imported)).toBe('PaymentsClient');
  expect(await output(merchant, 'commonjs', required)).toBe('PaymentsClient');
});
