import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { printTable, ratio } from '../table.ts';

/** A package in an application's bundle, in bytes. */
export interface Row {
  label: string;
  minified: number;
  compressed: number;
}

const source = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)));

const entries: readonly (readonly [label: string, code: string])[] = [
  ['ours', `export { PaymentsClient } from ${source('index.ts')}`],
  ['ours, /schedule', `export { nextDelay } from ${source('polling/schedule.ts')}`],
  ['paystack-sdk', `export { Paystack } from 'paystack-sdk'`],
  ['@mollie/api-client', `export { createMollieClient } from '@mollie/api-client'`],
  ['stripe', `export { default } from 'stripe'`],
  ['openai', `export { default } from 'openai'`],
  ['square', `export { SquareClient } from 'square'`],
];

/** What each package with all its dependencies adds to a bundle for Node, as esbuild makes it. */
export async function benchSize(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { plot: { type: 'boolean', default: false } } });
  const rows = await Promise.all(entries.map(([label, code]) => measured(label, code)));
  const [own] = rows;
  printTable('kB in a bundle for Node, by esbuild, minified; brotli at its best', rows, [
    ['package', ({ label }) => label],
    ['minified', ({ minified }) => minified / 1_000],
    ['compressed', ({ compressed }) => compressed / 1_000],
    ['to ours', ({ compressed }) => ratio(compressed, own?.compressed)],
  ]);
  if (values.plot) (await import('./plot.ts')).plotSize(rows);
}

async function measured(label: string, code: string): Promise<Row> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: fileURLToPath(new URL('..', import.meta.url)) },
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
  if (!file) throw new Error(`esbuild made nothing of ${label}.`);
  const { contents } = file;
  return { label, minified: contents.byteLength, compressed: brotliCompressSync(contents).byteLength };
}
