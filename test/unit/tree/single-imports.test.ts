import { readdir, readFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, transform } from 'esbuild';
import { rollup } from 'rollup';
import { describe, expect, test } from 'vitest';

// Made by `npm run build`, which `npm test` runs first.
const dist = fileURLToPath(new URL('../../../dist/', import.meta.url));

const read = (name: string, entry: string) =>
  `import { ${name} } from './${entry}.js'; console.log(${name});`;

/** Returns a bundle of one import, minified, as esbuild makes it with every dependency. */
async function bundleByEsbuild(name: string, entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: read(name, entry), resolveDir: dist },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    external: ['libphonenumber-js', 'node:*'],
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}

/** Returns a bundle of one import, minified, as Rollup makes it with zod and without ky. */
async function bundleByRollup(name: string, entry: string): Promise<string> {
  const bundle = await rollup({
    input: 'entry',
    external: (id) => !(id === 'entry' || id === 'zod/mini' || id.startsWith('.') || isAbsolute(id)),
    // As `sideEffects` of both packages says, which a plugin of Rollup reads.
    treeshake: { moduleSideEffects: (id) => id.endsWith('/entry.js') },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) =>
          id === 'entry'
            ? `${dist}entry.js`
            : id === 'zod/mini'
              ? fileURLToPath(import.meta.resolve(id))
              : null,
        load: (id) => (id.endsWith('/entry.js') ? read(name, entry) : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm' });
  return (await transform(output[0].code, { minify: true })).code;
}

const small: [name: string, entry: string, bytes: number][] = [
  ['networks', 'index', 500],
  ['transactionStatuses', 'index', 500],
  ['nextDelay', 'schedule', 1_000],
  ['isFinal', 'schedule', 500],
  ['defaultSchedule', 'schedule', 500],
  ['parseGhanaPhone', 'phone', 1_000],
  ['isPaymentsError', 'index', 3_000],
  ['PaymentsError', 'index', 3_000],
  ['RateLimitError', 'index', 4_000],
];

/** With zod, compressed as a server sends it. */
const schemas: [name: string, bytes: number][] = [
  ['referenceSchema', 5_000],
  ['initializeInputSchema', 9_000],
  ['chargeMobileMoneyInputSchema', 9_000],
  ['expectationSchema', 9_000],
  ['transactionSchema', 9_000],
];

describe('bundles what is imported and no more', () => {
  test.each(small)('%s of %s: under %i bytes', async (name, entry, bytes) => {
    expect((await bundleByEsbuild(name, entry)).length).toBeLessThan(bytes);
    expect((await bundleByRollup(name, entry)).length).toBeLessThan(bytes);
  });

  test.each(schemas)('%s: under %i bytes', async (name, bytes) => {
    expect(gzipSync(await bundleByEsbuild(name, 'index')).length).toBeLessThan(bytes);
    expect(gzipSync(await bundleByRollup(name, 'index')).length).toBeLessThan(bytes);
  });

  test('the client, without what only a journal needs: under 55,500 bytes', async () => {
    const code = await bundleByEsbuild('PaymentsClient', 'index');
    expect(code.length).toBeGreaterThan(50_000);
    expect(gzipSync(code).length).toBeLessThan(55_500);
  });
});

const codesOf = async (end: string) => {
  const files = (await readdir(dist)).filter((file) => file.endsWith(end));
  return await Promise.all(files.map((file) => readFile(dist + file, 'utf8')));
};

test('imports ky and zod from an ES module, and has no copy of them', async () => {
  const codes = await codesOf('.js');
  const imported = codes.flatMap((code) =>
    [...code.matchAll(/from ['"]([^'".]+)['"]/g)].map(([, name]) => name),
  );
  expect(imported).toEqual(expect.arrayContaining(['ky', 'zod/mini']));
  expect(codes.filter((code) => /node_modules\/(?:ky|zod)\//.test(code))).toEqual([]);
});

test('requires nothing of ky and zod from CommonJS but what is bundled', async () => {
  const codes = await codesOf('.cjs');
  const required = codes.flatMap((code) =>
    [...code.matchAll(/require\('([^']+)'\)/g)].map(([, name]) => name),
  );
  expect(required).toContain('./ky.cjs');
  expect(required.filter((name) => /^(?:ky|zod)\b/.test(name ?? ''))).toEqual([]);
  expect(codes.filter((code) => code.includes('/zod/v4/locales/'))).toEqual([]);
});
