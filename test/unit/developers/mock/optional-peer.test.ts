import { describe, expect, test } from 'vitest';
import packageJson from '../../../../package.json' with { type: 'json' };
import { createMerchantProject, runCode } from '../../../helpers/installed-package.ts';

const pay = `
  new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey })
    .initialize({ amount: 5, customer_email: 'ama@example.com' })
    .then(({ reference }) => console.log(reference))`;

const load = {
  module: (names: string, entry: string) => `import { ${names} } from '${entry}';\n`,
  commonjs: (names: string, entry: string) => `const { ${names} } = require('${entry}');\n`,
};

const loadMock = (system: 'module' | 'commonjs') =>
  `${load[system]('PaymentsClient', 'payment-collection-client')}
   ${load[system]('createMockPayments', 'payment-collection-client/testing')}
   const mock = createMockPayments();`;

const systems = ['module', 'commonjs'] as const;

test.each(systems)('the built mock works with MSW, as %s', async (system) => {
  const project = await createMerchantProject('msw');
  const code = `${load[system]('setupServer', 'msw/node')}${loadMock(system)}
    const server = setupServer(...mock.handlers);
    server.listen();
    ${pay}.then(() => server.close());`;
  expect((await runCode(project, system, code)).stdout).toBe('TXN-000001');
});

describe('without MSW', () => {
  test.each(systems)('the mock listens, and the process ends, as %s', async (system) => {
    const project = await createMerchantProject();
    const { stdout, stderr } = await runCode(project, system, `${loadMock(system)} mock.listen(); ${pay};`);
    expect([stdout, stderr]).toEqual(['TXN-000001', '']);
  });

  test.each(systems)('the handlers say what to install, as %s', async (system) => {
    const project = await createMerchantProject();
    const code = `${loadMock(system)}
      try { mock.handlers } catch ({ message, cause }) { console.log(message); console.log(cause.code); }`;
    const [message, cause] = (await runCode(project, system, code)).stdout.split('\n');
    expect(message).toBe(
      'mock.handlers needs MSW 2.10 or later, or 3, and it cannot be loaded. Run npm install --save-dev msw, or use mock.listen(), which needs no MSW.',
    );
    expect(cause).toBe(system === 'module' ? 'ERR_MODULE_NOT_FOUND' : 'MODULE_NOT_FOUND');
  });

  test.each(systems)('every entry point loads, as %s', async (system) => {
    // The other optional peers are there.
    const project = await createMerchantProject('undici', 'libphonenumber-js');
    const entries = Object.keys(packageJson.exports)
      .filter((path) => path !== './package.json')
      .map((path) => `payment-collection-client${path.slice(1)}`);
    expect(entries.length).toBeGreaterThan(6);
    const loaded = entries.map((entry) =>
      system === 'module'
        ? `import('${entry}').catch((error) => error)`
        : `new Promise((resolve) => resolve(require('${entry}'))).catch((error) => error)`,
    );
    const code = `Promise.all([${loaded}]).then((all) => console.log(all.map((one) => String(one?.message))));`;
    const { stdout } = await runCode(project, system, code);
    expect(stdout.match(/'[^']*'/g)).toEqual(entries.map(() => "'undefined'"));
  });
});
