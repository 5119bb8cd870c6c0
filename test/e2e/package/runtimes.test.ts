import { expect, test } from 'vitest';
import { entriesProgram, expectEntries } from './entries.ts';
import { payingSandbox, program } from './project.ts';
import { expectShopRun, named, readShop, runProgram, runtimes, withSystems } from './runtimes.ts';

/** Prints a result as JSON. */
const print = (call: string) => `${call}.then((seen) => console.log(JSON.stringify(seen)));`;

test.each(withSystems(runtimes))('charges, polls and handles errors on $name, as $system', async (cell) => {
  const shop = await readShop((call) => print(`${call}, ...process.argv.slice(2))`));
  await expectShopRun((...to) => runProgram(cell, shop, ...to));
});

// MSW 3 and undici need a later Node 22, `node:sqlite` came with 22.13, and undici requires a later Deno.
test.each(withSystems(named(/^(?!Node 22.0|Deno 2.0)/)))(
  'loads every entry point on $name, as $system',
  async (cell) =>
    expectEntries(await runProgram(cell, { text: entriesProgram(cell.system), inside: 'shop' })),
);

test.each(named(/Node/))('matches errors across both module systems on $name', async (node) => {
  const sandbox = await payingSandbox();
  const text = await program('both.mjs');
  const caught = [true, true, false];
  expect(JSON.parse(await runProgram(node, { text }, sandbox.baseUrl, sandbox.liveKey))).toEqual({
    copies: 2,
    caught: [caught, caught, caught, caught],
    chargedOnce: true,
  });
  expect(sandbox.charges).toHaveLength(1);
});

const current = withSystems(named(/Node (?!22.0)/));

test.each([
  // MSW 2 needs `require` of an ES module itself, from 22.12 on.
  ...withSystems(named(/Node 22.0/)).flatMap((cell) =>
    cell.system === 'module' ? { ...cell, msw: 2, inside: 'olderShop' as const } : [],
  ),
  ...current.map((cell) => ({ ...cell, msw: 2, inside: 'olderShop' as const })),
  ...current.map((cell) => ({ ...cell, msw: 3, inside: 'shop' as const })),
])('runs the mock on $name with MSW $msw, as $system', async ({ inside, ...cell }) => {
  const text = (await program('mocked.js')) + print('mocked({ ...main, ...testing, ...msw })');
  const printed = await runProgram(cell, { loads: ['main', 'testing', 'msw'], text, inside });
  expect(JSON.parse(printed)).toEqual([true, 'unknown', 'success']);
});

test.each(current)('runs the SQLite journal on $name, as $system', async (cell) => {
  const sandbox = await payingSandbox();
  const call = 'orders({ ...main, ...sqliteJournals, ...sqlite }, ...process.argv.slice(2))';
  const text = (await program('orders.js')) + print(call);
  const loads = ['main', 'sqliteJournals', 'sqlite'];
  expect(await runProgram(cell, { loads, text }, sandbox.baseUrl, sandbox.liveKey)).toBe('true\n');
  expect(sandbox.charges).toHaveLength(1);
});

test('names the required Node version for the sandbox state on 22.0', async () => {
  const text = `import { SandboxError, startSandbox } from 'payment-collection-client/sandbox';
    const sandbox = await startSandbox();
    await sandbox.close();
    await startSandbox({ state: 'state.db' }).catch((error) => console.log(error instanceof SandboxError, error.message));`;
  const [node] = withSystems(named(/Node 22.0/));
  const message = 'To keep state the sandbox needs node:sqlite: Node 22.13 or later, not v22.0.0.';
  expect(node && (await runProgram(node, { text }))).toBe(`true ${message}\n`);
});

test.each(named(/Bun/))('refuses undiciTransport on $name with its reason', async (bun) => {
  const text = `import { undiciTransport } from 'payment-collection-client/node';
    try { undiciTransport(); } catch ({ code, message }) { console.log(code, message); }`;
  expect(await runProgram(bun, { text, inside: 'shop' })).toMatch(
    /^configuration_error undiciTransport cannot work here/,
  );
});

test.each(named(/Deno/))('works on $name without --allow-env, and says what is missing', async (deno) => {
  const text = `import { PaymentsClient } from 'payment-collection-client';
    const [baseUrl, apiKey] = Deno.args;
    for (const options of [undefined, { apiKey }]) {
      try { new PaymentsClient(options); } catch ({ code, message }) { console.log(code, message); }
    }
    const { mode, initialize } = new PaymentsClient({ baseUrl, apiKey });
    console.log(mode, typeof initialize);`;
  const flags = deno.flags.map((flag) => (flag === '--allow-all' ? '--no-prompt' : flag));
  const to = ['https://payments.example/api/v1', 'sk_test_x'];
  // Deno 2.0 shows an environment without any variable.
  const says = deno.name === 'Deno 2.0.0' ? 'There is no .*' : '.*cannot be read.*--allow-env=';
  expect((await runProgram({ ...deno, flags }, { text }, ...to)).trim().split('\n')).toEqual([
    expect.stringMatching(`^configuration_error ${says}PAYMENTS_API_KEY`),
    expect.stringMatching(`^configuration_error ${says}PAYMENTS_BASE_URL`),
    'test function',
  ]);
});
