import { describe, expect, test } from 'vitest';
import { entriesProgram, expectEntries } from './entries.ts';
import { fileNames, loading, moduleSystems } from './loading.ts';
import { payingSandbox, program, project, tool } from './project.ts';
import { run } from './run.ts';
import { expectShopRun, shopProgram } from './shop.ts';

const versions = ['22.0', '22', '24', '26'];
const cells = versions.flatMap((version) => moduleSystems.map((system) => ({ version, system })));
// MSW 3 and undici need a later 22, and `node:sqlite` came with 22.13.
const current = cells.filter(({ version }) => version !== '22.0');
const node = (version: string) => tool(`node-${version}/bin/node`);

test.each(cells)(
  'charges, polls and handles errors on Node $version, as $system',
  async ({ version, system }) => {
    const file = fileNames[system];
    const folder = await project({ [file]: await shopProgram(system) }, 'bare');
    await expectShopRun((...to) => run(node(version), [file, ...to], folder));
  },
);

test.each(versions)('matches errors across both module systems on Node %s', async (version) => {
  const folder = await project({ 'both.mjs': await program('both.mjs') }, 'bare');
  const sandbox = await payingSandbox();
  const printed = await run(node(version), ['both.mjs', sandbox.baseUrl, sandbox.liveKey], folder);
  const caught = [true, true, false];
  expect(JSON.parse(printed)).toEqual({
    copies: 2,
    caught: [caught, caught, caught, caught],
    chargedOnce: true,
  });
  expect(sandbox.charges).toHaveLength(1);
});

describe('the mock', () => {
  const mocks = [
    // MSW 2 needs `require` of an ES module itself, from 22.12 on.
    { version: '22.0', system: 'module', shop: 'olderShop', msw: 2 } as const,
    ...current.map((cell) => ({ ...cell, shop: 'olderShop', msw: 2 }) as const),
    ...current.map((cell) => ({ ...cell, shop: 'shop', msw: 3 }) as const),
  ];

  test.each(mocks)('works on Node $version with MSW $msw, as $system', async ({ version, system, shop }) => {
    const modules = {
      main: 'payment-collection-client',
      testing: 'payment-collection-client/testing',
      msw: 'msw/node',
    };
    const go = 'mocked({ ...main, ...testing, ...msw }).then((seen) => console.log(JSON.stringify(seen)));';
    const text = loading(system, modules) + (await program('mocked.js')) + go;
    const folder = await project({ [fileNames[system]]: text }, shop);
    const seen: unknown = JSON.parse(await run(node(version), [fileNames[system]], folder));
    expect(seen).toEqual([true, 'unknown', 'success']);
  });
});

test.each(current)('runs the SQLite journal on Node $version, as $system', async ({ version, system }) => {
  const modules = {
    main: 'payment-collection-client',
    journal: 'payment-collection-client/journal/sqlite',
    sqlite: 'node:sqlite',
  };
  const go = 'orders({ ...main, ...journal, ...sqlite }, ...process.argv.slice(2)).then(console.log);';
  const text = loading(system, modules) + (await program('orders.js')) + go;
  const folder = await project({ [fileNames[system]]: text });
  const sandbox = await payingSandbox();
  const to = [sandbox.baseUrl, sandbox.liveKey];
  expect(await run(node(version), [fileNames[system], ...to], folder)).toBe('true\n');
  expect(sandbox.charges).toHaveLength(1);
});

test.each(current)('loads every entry point on Node $version, as $system', async ({ version, system }) => {
  const folder = await project({ [fileNames[system]]: entriesProgram(system) });
  expectEntries(await run(node(version), [fileNames[system]], folder));
});

test('names the required Node version for the sandbox state on 22.0', async () => {
  const text = `import { SandboxError, startSandbox } from 'payment-collection-client/sandbox';
    const sandbox = await startSandbox();
    await sandbox.close();
    await startSandbox({ state: 'state.db' }).catch((error) => console.log(error instanceof SandboxError, error.message));`;
  const folder = await project({ 'state.mjs': text }, 'bare');
  const message = 'To keep state the sandbox needs node:sqlite: Node 22.13 or later, not v22.0.0.';
  expect(await run(node('22.0'), ['state.mjs'], folder)).toBe(`true ${message}\n`);
});
