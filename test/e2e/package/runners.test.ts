import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { program, project, tool } from './project.ts';
import { run } from './run.ts';

const shops = [
  { msw: 2, shop: 'olderShop' },
  { msw: 3, shop: 'shop' },
] as const;

const unmocked = {
  'payment-collection-client': 'PaymentsClient, NotFoundError, InvalidInputError',
  'payment-collection-client/sandbox': 'startSandbox',
};

/** What a shop asks beside the mock, and its test. */
const STOCK = `import { HttpResponse, http } from 'msw';
export const stock = http.get('https://stock.example/17', () => HttpResponse.json({ left: 3 }));
`;
const STOCK_TEST = `import { expect, test } from 'vitest';
import { PaymentsClient } from 'payment-collection-client';
import { mock } from './mock-payments.ts';

test('starts a payment for what is in stock', async () => {
  const payments = new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  const { left } = await (await fetch('https://stock.example/17')).json();
  await payments.initialize({ amount: 5 * left, customer_email: 'ama@example.com' });
  expect(mock.transactions).toHaveLength(1);
});
`;

const required = (modules: Record<string, string>) =>
  Object.entries(modules).map(([path, names]) => `const { ${names} } = require('${path}');\n`);
describe('Jest, in CommonJS', () => {
  test.each(['22', '24', '26'])(
    'runs the client, the sandbox and the recipe for the mock without settings, on Node %s',
    async (version) => {
      const [recipe = ''] = await readRecipes('Use Jest');
      const folder = await project(
        {
          'package.json': '{ "jest": { "transform": {} } }',
          'shop.test.js': required(unmocked).join('') + (await program('no-mock.test.js')),
          'order.test.js': recipe,
        },
        'bare',
      );
      const args = [tool('jest/bin/jest.js'), '--json', '--outputFile=seen.json'];
      await passes(tool(`node-${version}/bin/node`), args, folder, 3);
    },
  );
});

test.each([{ msw: 'no MSW', shop: 'bare' } as const, ...shops])(
  'runs the recipe for the mock in Jest as an ES module, with $msw',
  async ({ shop }) => {
    const [recipe = ''] = await readRecipes('Use Jest');
    const module = recipe.replaceAll(
      /^const (?<names>\{.+\}) = require\((?<path>.+)\);$/gm,
      'import $<names> from $<path>;',
    );
    expect(module).not.toContain('require');
    const files = { 'order.test.js': `import { jest } from '@jest/globals';\n${module}` };
    const folder = await project(
      { 'package.json': '{ "type": "module", "jest": { "transform": {} } }', ...files },
      shop,
    );
    const args = ['--experimental-vm-modules', tool('jest/bin/jest.js'), '--json', '--outputFile=seen.json'];
    await passes(tool('node-22/bin/node'), args, folder, 1);
  },
);

describe.each(shops)('Vitest, with MSW $msw', ({ shop }) => {
  const vitest = async (files: Record<string, string>, count: number) => {
    const folder = await project({ 'package.json': '{ "type": "module" }', ...files }, shop);
    const args = [tool('vitest/vitest.mjs'), 'run', '--reporter=json', '--outputFile=seen.json'];
    await passes(process.execPath, args, folder, count);
  };

  test('runs the recipe for a mock that two files share', async () => {
    const [shared = ''] = await readRecipes('Test your shop');
    const [recipe = ''] = await readRecipes('Test what can go wrong');
    const files = { 'orders.test.ts': recipe, 'checkout.test.ts': recipe };
    await vitest({ 'mock-payments.ts': shared, ...files }, 10);
  });

  test('runs the recipe for the mock beside other handlers', async () => {
    const [recipe = ''] = await readRecipes('Use MSW');
    const shared = `import { stock } from './stock.ts';\n${recipe.replace('setupServer(', 'setupServer(stock, ')}`;
    await vitest({ 'mock-payments.ts': shared, 'stock.ts': STOCK, 'stock.test.ts': STOCK_TEST }, 1);
  });
});

// The process ends by itself: nothing is open after `close`.
test.each(['22.0', '22', '24', '26'])(
  'runs the recipe for the mock in node:test, on Node %s',
  async (version) => {
    const [recipe = ''] = await readRecipes('Use node:test');
    const folder = await project({ 'order.test.mjs': recipe }, 'bare');
    const printed = await run(tool(`node-${version}/bin/node`), ['--test', '--test-reporter=tap'], folder);
    expect(printed).toMatch(/^# pass 1$/m);
    expect(printed).toMatch(/^# fail 0$/m);
  },
);

test('runs the recipe for a shared mock in the test runner of Bun', async () => {
  const recipes = [
    ...(await readRecipes('Test your shop')),
    ...(await readRecipes('Test what can go wrong')),
  ];
  const [shared = '', recipe = ''] = recipes.map((code) => code.replace("'vitest'", "'bun:test'"));
  const files = { 'orders.test.ts': recipe, 'checkout.test.ts': recipe };
  const folder = await project({ 'mock-payments.ts': shared, ...files }, 'bare');
  // Bun reports on stderr, and exits with an error if a test fails.
  const test = 'bun test --preload ./mock-payments.ts --reporter=junit --reporter-outfile=seen.xml';
  const [, ...args] = test.split(' ');
  await run(tool('bun/bin/bun.exe'), args, folder);
  expect(await readFile(`${folder}/seen.xml`, 'utf8')).toMatch(
    /<testsuites [^>]*tests="10"[^>]*failures="0"/,
  );
});

/** Lists the code of the page on tests that is below a heading. */
async function readRecipes(heading: string): Promise<string[]> {
  const text = await readFile(new URL('../../../docs/guides/testing.md', import.meta.url), 'utf8');
  const section = text.split(/^##? /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/^```(?:js|ts)\n(?<code>.*?)^```$/gms)].map(({ groups }) => groups?.code ?? '');
}

async function passes(
  command: string,
  args: readonly string[],
  folder: string,
  count: number,
): Promise<void> {
  await run(command, args, folder);
  const seen: unknown = JSON.parse(await readFile(`${folder}/seen.json`, 'utf8'));
  expect(seen).toMatchObject({ success: true, numPassedTests: count, numTotalTests: count });
}
