import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { entries } from './entries.ts';
import { run } from './run.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const installed = join(inject('bare'), 'node_modules/payment-collection-client');

/** Every file of the tarball, as npm unpacked it. */
async function filesOf(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).sort();
}

const text = (file: string) => readFile(join(installed, file), 'utf8');

const entryNames = [
  'index',
  'journal',
  'journal-postgres',
  'journal-redis',
  'journal-sqlite',
  'node',
  'sandbox',
  'schedule',
  'testing',
];

test('the tarball has these files and no other', async () => {
  // What several entry points share has a hash in its name.
  const shared = /^dist\/(?:chunk|controls|input|journal|options|transaction)-[\w-]{8}(\.js|\.cjs|\.d\.cts)$/;
  const files = await filesOf(installed);
  const others = files.filter(
    (file) => entryNames.some((name) => file.startsWith(`dist/${name}.`)) || !shared.test(file),
  );
  expect(others).toEqual(
    [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'package.json',
      'dist/THIRD-PARTY-LICENSES.txt',
      'dist/ky.cjs',
      'dist/payment-sandbox.js',
      ...entryNames.flatMap((name) => ['.js', '.cjs', '.d.ts', '.d.cts'].map((end) => `dist/${name}${end}`)),
    ].sort(),
  );
  const kinds = files.flatMap((file) => shared.exec(file)?.[1] ?? []);
  expect(new Set(kinds)).toEqual(new Set(['.js', '.cjs', '.d.cts']));
});

test('no file has a source map, or names a path, a host or a user of the machine that built it', async () => {
  const traces = [root.slice(0, -1), homedir(), hostname(), 'sourceMappingURL', 'sourcesContent', 'file:///'];
  for (const file of await filesOf(installed)) {
    const content = await text(file);
    expect([file, traces.filter((trace) => content.includes(trace))]).toEqual([file, []]);
    expect([file, content.match(/["'`(\s](?:\/home|\/root|\/Users|\/work|\/tmp|[A-Z]:\\)\/?\w+/)]).toEqual([
      file,
      null,
    ]);
  }
});

test('code is shipped as a person can read it', async () => {
  const code = (await filesOf(installed)).filter((file) => /^dist\/.+\.c?js$/.test(file));
  expect(code.length).toBeGreaterThan(20);
  for (const file of code) {
    const lines = (await text(file)).split('\n');
    const longest = Math.max(...lines.map((line) => line.length));
    const average = lines.reduce((sum, line) => sum + line.length, 0) / lines.length;
    expect([file, longest < 500, average < 60]).toEqual([file, true, true]);
    // What keeps names through minification would stand in front of each function.
    expect([file, lines.some((line) => line.includes('__name('))]).toEqual([file, false]);
  }
});

test('every entry point that is named is there, and has been tried', async () => {
  const { exports }: typeof manifest = JSON.parse(await text('package.json'));
  const { './package.json': own, ...rest } = exports;
  expect(own).toBe('./package.json');
  expect(Object.keys(rest)).toEqual(Object.keys(entries));
});

test('the command can be run', async () => {
  expect((await text('dist/payment-sandbox.js')).startsWith('#!/usr/bin/env node\n')).toBe(true);
  const command = join(inject('bare'), 'node_modules/.bin/payment-sandbox');
  expect((await stat(command)).mode & 0o111).toBe(0o111);
  expect(await run(command, ['--help'], inject('bare'))).toContain('--port <number>');
});

test('what is bundled comes with its licence', async () => {
  const licences = await text('dist/THIRD-PARTY-LICENSES.txt');
  for (const file of ['ky/license', 'hono/LICENSE', '@hono/node-server/LICENSE']) {
    expect(licences).toContain((await readFile(join(root, 'node_modules', file), 'utf8')).trim());
  }
});

describe('what a merchant takes in with it', () => {
  interface Installed {
    packages: Record<
      string,
      { dependencies?: object; optionalDependencies?: object; hasInstallScript?: boolean }
    >;
  }
  const packages = async (): Promise<Installed['packages']> => {
    const { packages }: Installed = JSON.parse(
      await readFile(join(inject('bare'), 'node_modules/.package-lock.json'), 'utf8'),
    );
    return packages;
  };

  test('is ky and zod, neither of which needs anything', async () => {
    const all = await packages();
    expect(Object.keys(all).sort()).toEqual([
      'node_modules/ky',
      'node_modules/payment-collection-client',
      'node_modules/zod',
    ]);
    for (const name of ['ky', 'zod']) {
      const { dependencies, optionalDependencies } = all[`node_modules/${name}`] ?? {
        dependencies: { none: 'found' },
      };
      expect([name, dependencies, optionalDependencies]).toEqual([name, undefined, undefined]);
    }
  });

  test('runs nothing when it is installed', async () => {
    for (const [name, { hasInstallScript }] of Object.entries(await packages())) {
      expect([name, hasInstallScript]).toEqual([name, undefined]);
      const own: { scripts?: object } = JSON.parse(
        await readFile(join(inject('bare'), name, 'package.json'), 'utf8'),
      );
      const scripts = Object.keys(own.scripts ?? {});
      expect([name, scripts.filter((script) => /^(?:pre|post)?install$/.test(script))]).toEqual([name, []]);
    }
  });

  test('is signed by the registry', async ({ skip }) => {
    const outcome = await run('npm', ['audit', 'signatures', '--fetch-retries=0'], inject('bare')).catch(
      String,
    );
    skip(
      /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT/.test(outcome),
      `the keys cannot be had here: ${outcome}`,
    );
    expect(outcome).toMatch(/2 packages have verified registry signatures/);
  });
});

test('publint finds nothing', async () => {
  const { publint } = await import('publint');
  const { buffer, byteOffset, byteLength } = await readFile(inject('tarball'));
  const tarball = buffer.slice(byteOffset, byteOffset + byteLength);
  if (!(tarball instanceof ArrayBuffer)) throw new TypeError('no plain buffer');
  expect((await publint({ pack: { tarball }, strict: true })).messages).toEqual([]);
});

test('are-the-types-wrong finds nothing, in either module system', async () => {
  const attw = join(root, 'node_modules/.bin/attw');
  const printed = await run(attw, [inject('tarball'), '--profile', 'node16', '--format', 'ascii'], root);
  const found = (system: string) => printed.match(new RegExp(`from ${system}\\): 🟢 \\(${system}\\)`, 'g'));
  expect(found('ESM')).toHaveLength(entryNames.length);
  expect(found('CJS')).toHaveLength(entryNames.length);
});
