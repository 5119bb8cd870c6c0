import { describe, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { createMerchantProject, runCode } from '../../helpers/installed-package.ts';

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

test.each([
  [
    'module',
    `import { setupServer } from 'msw/node';
     import { PaymentsClient } from 'payment-collection-client';
     import { createMockPayments } from 'payment-collection-client/testing';`,
  ],
  [
    'commonjs',
    `const { setupServer } = require('msw/node');
     const { PaymentsClient } = require('payment-collection-client');
     const { createMockPayments } = require('payment-collection-client/testing');`,
  ],
] as const)('the built mock works with MSW, as %s', async (system, load) => {
  const project = await createMerchantProject('msw');
  expect((await runCode(project, system, load + useMock)).stdout).toBe('TXN-000001');
});

describe('without MSW', () => {
  const load = {
    module: (entry: string) => `import('${entry}').catch((error) => error)`,
    commonjs: (entry: string) =>
      `new Promise((resolve) => resolve(require('${entry}'))).catch((error) => error)`,
  };

  test.each([
    ['module', 'ERR_MODULE_NOT_FOUND', "Cannot find package 'msw' imported from "],
    ['commonjs', 'MODULE_NOT_FOUND', "Cannot find module 'msw'"],
  ] as const)("the mock fails with Node's own message, as %s", async (system, code, message) => {
    const project = await createMerchantProject();
    const print = '.then(({ code, message }) => console.log(JSON.stringify({ code, message })))';
    const { stdout } = await runCode(
      project,
      system,
      load[system]('payment-collection-client/testing') + print,
    );
    expect(JSON.parse(stdout)).toEqual({ code, message: expect.stringContaining(message) });
  });

  test.each(['module', 'commonjs'] as const)('every other entry point loads, as %s', async (system) => {
    // The other optional peers are there.
    const project = await createMerchantProject('undici', 'libphonenumber-js');
    const entries = Object.keys(packageJson.exports)
      .filter((path) => path !== './testing' && path !== './package.json')
      .map((path) => `payment-collection-client${path.slice(1)}`);
    expect(entries.length).toBeGreaterThan(6);
    const loaded = entries.map((entry) => load[system](entry)).join(', ');
    const code = `Promise.all([${loaded}]).then((all) => console.log(all.map((one) => String(one?.message))));`;
    const { stdout } = await runCode(project, system, code);
    expect(stdout.match(/'[^']*'/g)).toEqual(entries.map(() => "'undefined'"));
  });
});
