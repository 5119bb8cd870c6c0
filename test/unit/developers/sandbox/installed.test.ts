import { expect, test } from 'vitest';
import { createMerchantProject, runCode } from '../../../helpers/installed-package.ts';

const visit = `startSandbox().then(async (sandbox) => {
  const { status } = await fetch(sandbox.url);
  console.log(status, sandbox.transactions.length);
  await sandbox.close();
});`;

test.each([
  ['module', `import { startSandbox } from 'payment-collection-client/sandbox'; ${visit}`],
  ['commonjs', `const { startSandbox } = require('payment-collection-client/sandbox'); ${visit}`],
] as const)('the built sandbox runs without MSW and Hono, as %s', async (system, code) => {
  const project = await createMerchantProject();
  expect(await runCode(project, system, code)).toEqual({ stdout: '200 0', stderr: '' });
});
