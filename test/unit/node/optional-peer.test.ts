import { expect, test } from 'vitest';
import { createMerchantProject, runCode } from '../../helpers/installed-package.ts';
import { startService } from '../../helpers/service.ts';

const verify = (baseUrl: string) => `
  new PaymentsClient({ baseUrl: '${baseUrl}', apiKey: 'sk_test_x', transport: undiciTransport() })
    .verify('TXN-8f2c61d0')
    .then(({ status }) => console.log(status));`;

test('sends as an ES module and as CommonJS, and lets the process end', async () => {
  const merchant = await createMerchantProject('undici');
  const { baseUrl } = await startService();
  const imported = `
    import { PaymentsClient } from 'payment-collection-client';
    import { undiciTransport } from 'payment-collection-client/node';`;
  const required = `
    const { PaymentsClient } = require('payment-collection-client');
    const { undiciTransport } = require('payment-collection-client/node');`;
  expect((await runCode(merchant, 'module', imported + verify(baseUrl))).stdout).toBe('success');
  expect((await runCode(merchant, 'commonjs', required + verify(baseUrl))).stdout).toBe('success');
});

test("shows Node's own error if undici is not installed", async () => {
  const merchant = await createMerchantProject();
  const imported = `import('payment-collection-client/node').catch(({ message }) => console.log(message));`;
  const required = `try { require('payment-collection-client/node') } catch ({ message }) { console.log(message) }`;
  expect((await runCode(merchant, 'module', imported)).stdout).toMatch(
    /^Cannot find package 'undici' imported from .*payment-collection-client.dist.node\.js/,
  );
  expect((await runCode(merchant, 'commonjs', required)).stdout).toMatch(/^Cannot find module 'undici'/);
});
