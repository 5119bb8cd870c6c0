import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createMerchantProject, runCode } from '../../helpers/installed-package.ts';

const use = `console.log(JSON.stringify(parseGhanaPhone('+233 24 412 3456')));`;

test.each([
  ['module', `import { parseGhanaPhone } from 'payment-collection-client/phone';`],
  ['commonjs', `const { parseGhanaPhone } = require('payment-collection-client/phone');`],
] as const)('the built helper reads a number, as %s', async (system, load) => {
  const project = await createMerchantProject('libphonenumber-js');
  const { stdout, stderr } = await runCode(project, system, load + use);
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual({ phone: '0244123456', network: 'mtn' });
});

describe('without libphonenumber-js', () => {
  test.each([
    [
      'module',
      `import('payment-collection-client/phone').catch(({ message }) => console.log(message));`,
      /^Cannot find package 'libphonenumber-js' imported from .*payment-collection-client.dist.phone\.js/,
    ],
    [
      'commonjs',
      `try { require('payment-collection-client/phone') } catch ({ message }) { console.log(message) }`,
      /^Cannot find module 'libphonenumber-js\/mobile'/,
    ],
  ] as const)("names it in Node's own error, as %s", async (system, code, message) => {
    const project = await createMerchantProject();
    expect((await runCode(project, system, code)).stdout).toMatch(message);
  });

  test('no other file of the build needs it', () => {
    const files = globSync('dist/*.{js,cjs,cts,ts}');
    expect(files.length).toBeGreaterThan(30);
    const needing = files.filter((file) =>
      /\b(?:from|require\(|import\() ?['"]libphonenumber-js/.test(readFileSync(file, 'utf8')),
    );
    expect(needing.sort()).toEqual(['dist/phone.cjs', 'dist/phone.js']);
  });
});
