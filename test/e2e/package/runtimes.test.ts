import { createContext, runInContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { entriesProgram, expectEntries } from './entries.ts';
import { fileNames, moduleSystems } from './loading.ts';
import { project } from './project.ts';
import { run } from './run.ts';
import { bunAndDeno } from './runtimes.ts';
import { expectShopRun, shopProgram } from './shop.ts';
import { bundle, edgeProgram, runInWorkerd } from './workerd.ts';

const cells = bunAndDeno.flatMap((runtime) => moduleSystems.map((system) => ({ ...runtime, system })));

test.each(cells)(
  'charges, polls and handles errors on $name, as $system',
  async ({ command, flags, system }) => {
    const file = fileNames[system];
    const folder = await project({ [file]: await shopProgram(system) }, 'bare');
    await expectShopRun((...to) => run(command, [...flags, file, ...to], folder));
  },
);

// undici, which `/node` needs, requires a later Deno.
const current = cells.filter(({ name }) => name !== 'Deno 2.0.0');

test.each(current)('loads every entry point on $name, as $system', async ({ command, flags, system }) => {
  const file = fileNames[system];
  const folder = await project({ [file]: entriesProgram(system) });
  expectEntries(await run(command, [...flags, file], folder));
});

const readsPhone = `import { parseGhanaPhone } from 'payment-collection-client/phone';
  const phones = ['+233 (0)24 412 3456', '٠٢٤٤١٢٣٤٥٦', '030 212 3456'].map(parseGhanaPhone);`;
const mtn = { phone: '0244123456', network: 'mtn' };

test.each(bunAndDeno)('reads a phone number on $name', async ({ command, flags }) => {
  const folder = await project({ 'program.mjs': `${readsPhone}\nconsole.log(JSON.stringify(phones));` });
  expect(JSON.parse(await run(command, [...flags, 'program.mjs'], folder))).toEqual([mtn, mtn, null]);
});

test('reads a phone number in workerd', async () => {
  const printed = await runInWorkerd(readsPhone + edgeProgram('phones', ''), {}, '', 'shop');
  expect(JSON.parse(printed)).toEqual([mtn, mtn, null]);
});

test.each(bunAndDeno.filter(({ name }) => name.startsWith('Bun')))(
  'refuses undiciTransport on $name with its reason',
  async ({ command, flags }) => {
    const text = `import { undiciTransport } from 'payment-collection-client/node';
      try { undiciTransport(); } catch ({ code, message }) { console.log(code, message); }`;
    const folder = await project({ 'program.mjs': text });
    expect(await run(command, [...flags, 'program.mjs'], folder)).toMatch(
      /^configuration_error undiciTransport cannot work here/,
    );
  },
);

test.each(bunAndDeno.filter(({ name }) => name.startsWith('Deno')))(
  'works on $name without --allow-env, and says what is missing',
  async ({ name, command, flags }) => {
    const text = `import { PaymentsClient } from 'payment-collection-client';
      const [baseUrl, apiKey] = Deno.args;
      for (const options of [undefined, { apiKey }]) {
        try { new PaymentsClient(options); } catch ({ code, message }) { console.log(code, message); }
      }
      const { mode, initialize } = new PaymentsClient({ baseUrl, apiKey });
      console.log(mode, typeof initialize);`;
    const folder = await project({ 'program.mjs': text });
    const allowed = flags.map((flag) => (flag === '--allow-all' ? '--no-prompt' : flag));
    const to = ['https://payments.example/api/v1', 'sk_test_x'];
    // Deno 2.0 shows an environment without any variable.
    const says = name === 'Deno 2.0.0' ? 'There is no .*' : '.*cannot be read.*--allow-env=';
    expect((await run(command, [...allowed, 'program.mjs', ...to], folder)).trim().split('\n')).toEqual([
      expect.stringMatching(`^configuration_error ${says}PAYMENTS_API_KEY`),
      expect.stringMatching(`^configuration_error ${says}PAYMENTS_BASE_URL`),
      'test function',
    ]);
  },
);

describe('a bundle for the edge', () => {
  test('charges, polls and handles errors in workerd', async () => {
    const program = await shopProgram(
      'module',
      edgeProgram('shop({ main, schedule, journals }, baseUrl, apiKey)'),
    );
    await expectShopRun((baseUrl, apiKey) => runInWorkerd(program, { baseUrl, apiKey }));
  });

  test('charges, polls and handles errors with web globals only', async () => {
    const text = await bundle(
      await shopProgram('module', 'globalThis.visit = (...to) => shop({ main, schedule, journals }, ...to);'),
      'iife',
    );
    const context = createContext({ ...web });
    runInContext(text, context);
    await expectShopRun(async (baseUrl, apiKey) => {
      const seen: unknown = await runInContext(`visit('${baseUrl}', '${apiKey}')`, context);
      return JSON.stringify(seen);
    });
  });
});

const web = {
  AbortController,
  AbortSignal,
  DOMException,
  Event,
  EventTarget,
  Headers,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  TransformStream,
  URL,
  URLSearchParams,
  Blob,
  FormData,
  clearInterval,
  clearTimeout,
  console,
  crypto,
  fetch,
  performance,
  queueMicrotask,
  setInterval,
  setTimeout,
  structuredClone,
};
