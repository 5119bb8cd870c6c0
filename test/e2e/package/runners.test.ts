import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { program, project, tool } from './project.ts';
import { run } from './run.ts';

const shops = [
  { msw: 2, shop: 'olderShop' },
  { msw: 3, shop: 'shop' },
] as const;

const mocked = {
  'payment-collection-client': 'PaymentsClient, OutcomeUnknownError',
  'payment-collection-client/testing': 'createMockPayments',
  'msw/node': 'setupServer',
};
const unmocked = {
  'payment-collection-client': 'PaymentsClient, NotFoundError, InvalidInputError',
  'payment-collection-client/sandbox': 'startSandbox',
};

const required = (modules: Record<string, string>) =>
  Object.entries(modules).map(([path, names]) => `const { ${names} } = require('${path}');\n`);
const imported = (modules: Record<string, string>) =>
  Object.entries(modules).map(([path, names]) => `import { ${names} } from '${path}';\n`);

describe('Jest, in CommonJS', () => {
  const node = (version: string) => tool(`node-${version}/bin/node`);
  const jest = (version: string, options: readonly string[], folder: string, count = 2) => {
    const args = [...options, tool('jest/bin/jest.js'), '--json', '--outputFile=seen.json'];
    return passes(node(version), args, folder, count);
  };

  test.each(['22', '24', '26'])(
    'runs the client and the sandbox without settings, on Node %s',
    async (version) => {
      const folder = await project(
        {
          'package.json': '{ "jest": { "transform": {} } }',
          'shop.test.js': required(unmocked).join('') + (await program('no-mock.test.js')),
        },
        'bare',
      );
      await jest(version, [], folder);
    },
  );

  test('runs the recipe for a wait under fake timers', async () => {
    const page = await readFile(new URL('../../../docs/testing.md', import.meta.url), 'utf8');
    const recipe = /^With Jest, .*?^```js\n(?<code>.*?)^```$/ms.exec(page)?.groups?.code ?? '';
    const folder = await project(
      { 'package.json': '{ "jest": { "transform": {} } }', 'wait.test.js': recipe },
      'bare',
    );
    await jest('24', [], folder, 1);
  });

  // MSW is an ES module. Jest can require it from Node 24.9 on, with this option.
  test.each(shops)('runs the mock with MSW $msw if Jest can require ES modules', async ({ shop }) => {
    const folder = await project(
      {
        'package.json': '{ "jest": { "transform": {} } }',
        'shop.test.js': required(mocked).join('') + (await program('runner.test.js')),
      },
      shop,
    );
    await jest('24', ['--experimental-vm-modules'], folder);
  });

  test('runs the mock with MSW 2 on Node 22 if Jest transforms ES modules', async () => {
    const folder = await project(
      {
        'package.json':
          '{ "jest": { "transform": { "\\\\.m?js$": "<rootDir>/transform.cjs" }, "transformIgnorePatterns": ["payment-collection-client"] } }',
        'transform.cjs': `const { transformSync } = require(${JSON.stringify(fileURLToPath(import.meta.resolve('esbuild')))});
          exports.process = (text) => ({ code: transformSync(text, { format: 'cjs' }).code });`,
        'shop.test.js': required(mocked).join('') + (await program('runner.test.js')),
      },
      'olderShop',
    );
    await jest('22', [], folder);
  });
});

test.each(shops)('runs the mock with MSW $msw in Vitest', async ({ shop }) => {
  const folder = await project(
    {
      'package.json': '{ "type": "module" }',
      'vitest.config.js': 'export default { test: { globals: true } };',
      'shop.test.js': imported(mocked).join('') + (await program('runner.test.js')),
    },
    shop,
  );
  const args = [tool('vitest/vitest.mjs'), 'run', '--reporter=json', '--outputFile=seen.json'];
  await passes(process.execPath, args, folder);
});

async function passes(command: string, args: readonly string[], folder: string, count = 2): Promise<void> {
  await run(command, args, folder);
  const seen: unknown = JSON.parse(await readFile(`${folder}/seen.json`, 'utf8'));
  expect(seen).toMatchObject({ success: true, numPassedTests: count, numTotalTests: count });
}
