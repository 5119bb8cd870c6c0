import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { printTable, ratio } from '../table.ts';

/** The size of a package in a bundle and in `node_modules`, in bytes. */
interface Row {
  label: string;
  minified: number;
  compressed: number;
  /** Without dependencies. `undefined` for an entry point. */
  unpacked: number | undefined;
  /** Of ours: the part that is code. The rest is pages and examples. */
  code?: number | undefined;
}

const source = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)));

const bench = fileURLToPath(new URL('..', import.meta.url));

const entries: readonly (readonly [label: string, code: string])[] = [
  ['ours', `export { PaymentsClient } from ${source('index.ts')}`],
  ['ours, /schedule', `export { nextDelay } from ${source('schedule.ts')}`],
  ['paystack-sdk', `export { Paystack } from 'paystack-sdk'`],
  ['@mollie/api-client', `export { createMollieClient } from '@mollie/api-client'`],
  ['stripe', `export { default } from 'stripe'`],
  ['openai', `export { default } from 'openai'`],
  ['square', `export { SquareClient } from 'square'`],
];

/** Measures what each package with all its dependencies adds to a bundle for Node, by esbuild. */
export async function benchSize(): Promise<void> {
  if (!existsSync(new URL('../../dist/index.js', import.meta.url)))
    throw new Error('dist is missing. Run npm run build first.');
  const rows = await Promise.all(entries.map(([label, code]) => measurePackage(label, code)));
  const [own] = rows;
  const title =
    'kB in a bundle for Node with all dependencies, by esbuild, minified; brotli at its highest level; unpacked by npm, without dependencies';
  printTable(title, rows, [
    ['package', ({ label }) => label],
    ['minified', ({ minified }) => minified / 1_000],
    ['compressed', ({ compressed }) => compressed / 1_000],
    ['to ours', ({ compressed }) => ratio(compressed, own?.compressed)],
    ['unpacked', ({ unpacked }) => (unpacked === undefined ? '-' : unpacked / 1_000)],
    ['to ours', ({ unpacked }) => (unpacked === undefined ? '-' : ratio(unpacked, own?.unpacked))],
    ['of it code', ({ code }) => (code === undefined ? '-' : code / 1_000)],
  ]);
}

async function measurePackage(label: string, code: string): Promise<Row> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: bench },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    legalComments: 'none',
    logLevel: 'error',
  });
  const [file] = outputFiles;
  if (!file) throw new Error(`esbuild has no output for ${label}.`);
  const { contents } = file;
  return {
    label,
    minified: contents.byteLength,
    compressed: brotliCompressSync(contents).byteLength,
    ...(label === 'ours' ? await measureOwnPackage() : { unpacked: await measureInstalled(label) }),
  };
}

async function measureOwnPackage(): Promise<Pick<Row, 'unpacked' | 'code'>> {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: `${bench}/..`,
    maxBuffer: 16 * 1024 * 1024,
  });
  const [packed]: { unpackedSize: number; files: { path: string; size: number }[] }[] = Object.values(
    JSON.parse(stdout),
  );
  const code = packed?.files.filter(({ path }) => path.startsWith('dist/'));
  return { unpacked: packed?.unpackedSize, code: code?.reduce((sum, { size }) => sum + size, 0) };
}

async function measureInstalled(name: string): Promise<number | undefined> {
  const folder = join(bench, 'node_modules', name);
  if (!existsSync(folder)) return undefined;
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter(
    (entry) => entry.isFile() && !/node_modules/.test(relative(folder, entry.parentPath)),
  );
  const sizes = files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
