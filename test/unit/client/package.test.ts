import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { version } from '../../../src/support/version.ts';

// Made by `npm run build`, which `npm test` runs first.
const dist = new URL('../../../dist/', import.meta.url);
const built = (name: string) => readFileSync(new URL(name, dist), 'utf8');

/** A file of the build, and every file of the build that it imports, as one text. */
function whole(name: string, seen = new Set<string>()): string {
  if (seen.has(name)) return '';
  seen.add(name);
  const text = built(name);
  const imports = [...text.matchAll(/(?:from|require\() ?["']\.\/([\w.-]+)["']/g)].map(
    ([, path = '']) => path,
  );
  const files = imports.map((path) => (name.includes('.d.') ? path.replace(/\.(c?)js$/, '.d.$1ts') : path));
  return [text, ...files.map((file) => whole(file, seen))].join('\n');
}

const importedBy = (text: string) =>
  [...text.matchAll(/(?:from|require\(|import\() ?["']([^"']+)["']/g)]
    .map(([, path = '']) => path)
    .filter((path) => !path.startsWith('.'));

test('sends the version of the package as its User-Agent', () => {
  expect(version).toBe(packageJson.version);
});

test('has libphonenumber-js, msw and undici as optional peers', () => {
  const peers = ['libphonenumber-js', 'msw', 'undici'];
  expect(Object.keys(packageJson.peerDependencies)).toEqual(peers);
  const optional = peers.map((name) => [name, { optional: true }]);
  expect(packageJson.peerDependenciesMeta).toEqual(Object.fromEntries(optional));
});

test('does not require ky, an ES module, in the CommonJS build', () => {
  const files = readdirSync(dist).filter((file) => file.endsWith('.cjs'));
  expect(files).toContain('index.cjs');
  for (const file of files) expect(built(file)).not.toMatch(/(?:require|import)\(\s*["']ky["']/);
});

test.each([
  ['index.js', ['ky', 'zod/mini']],
  ['index.cjs', []],
  ['schedule.js', []],
  ['schedule.cjs', []],
])('%s imports nothing but %j', (file, imported) => {
  expect([...new Set(importedBy(whole(file)))].sort()).toEqual(imported);
});

test('lists what is copied into the build, by the versions of the lock file', () => {
  const bomSchema = z.object({ components: z.array(z.object({ name: z.string(), version: z.string() })) });
  const { components } = bomSchema.parse(JSON.parse(built('bom.cdx.json')));
  const codes = readdirSync(dist)
    .filter((file) => /js$/.test(file))
    .map(built);
  const origins = codes.flatMap((code) => [
    ...code.matchAll(/^ *\/\/ .*node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm),
  ]);
  const copied = new Set(origins.map(([, name]) => name));
  expect(copied).toContain('ky');
  expect(new Set(components.map(({ name }) => name))).toEqual(copied);

  const licences = built('THIRD-PARTY-LICENSES.txt');
  const lockSchema = z.object({ packages: z.record(z.string(), z.object({ version: z.string() })) });
  const { packages } = lockSchema.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')));
  const locked = Object.entries(packages).map(
    ([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`,
  );
  for (const { name, version } of components) {
    expect(locked).toContain(`${name} ${version}`);
    expect(licences).toMatch(new RegExp(`^${name} ${version}$`, 'm'));
  }
});

describe('the public types of the package itself', () => {
  test.each(['index.d.ts', 'index.d.cts'])('mention no ky, no msw and no database: %s', (file) => {
    const types = whole(file).replace(/\/\*.*?\*\//gs, '');
    expect(types).toContain('PaymentsClient');
    expect(importedBy(types).filter((name) => !name.startsWith('zod'))).toEqual([]);
    expect(types).not.toMatch(/\b(?:ky|Ky\w*|msw|pg|redis|ioredis|sqlite)\b/);
  });
});

type Package = typeof import('../../../src/index.ts');

const loadBoth = async (): Promise<[Package, Package]> => [
  await import(new URL('index.js', dist).href),
  createRequire(import.meta.url)(new URL('index.cjs', dist).pathname),
];

test('has schemas that can be part of a schema of another zod', async () => {
  const transaction = { reference: 'TXN-8f2c61d0', status: 'success', amount: '25.5', currency: 'GHS' };
  for (const { transactionSchema } of await loadBoth()) {
    const orderSchema = z.object({ transaction: transactionSchema });
    expect(orderSchema.parse({ transaction })).toMatchObject({ transaction: { amount: '25.50' } });
    const { error } = orderSchema.safeParse({ transaction: { ...transaction, amount: '25.555' } });
    expect(error?.issues.map(({ path }) => path)).toEqual([['transaction', 'amount']]);
  }
});
