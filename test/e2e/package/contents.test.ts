import { cp, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { isPacked } from '../docs/packed.ts';
import { entries } from './entries.ts';
import { project, tool } from './project.ts';
import { run } from './run.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const installed = join(inject('bare'), 'node_modules/payment-collection-client');

/** Lists every file in a folder, such as the tarball as npm unpacked it. */
async function listFiles(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).sort();
}

const readText = (file: string) => readFile(join(installed, file), 'utf8');

const entryNames = [
  'follow-ups',
  'index',
  'journal',
  'journal-mysql',
  'journal-postgres',
  'journal-redis',
  'journal-sqlite',
  'node',
  'orders',
  'phone',
  'review',
  'sandbox',
  'schedule',
  'testing',
];

test('packs these files and no other', async () => {
  // Code that several entry points share is in a file with a hash in its name: `chunk`, or a module of the source.
  const modules = await readdir(join(root, 'src'), { recursive: true });
  const names = ['chunk', ...modules.flatMap((path) => /([^/\\]+)\.ts$/.exec(path)?.[1] ?? [])];
  const shared = new RegExp(`^dist/(?:${names.join('|')})-[\\w-]{8}(\\.js|\\.cjs|\\.d\\.cts)$`);
  const files = await listFiles(installed);
  const others = files.filter(
    (file) => entryNames.some((name) => file.startsWith(`dist/${name}.`)) || !shared.test(file),
  );
  const versioned = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], root);
  expect(others).toEqual(
    [
      ...versioned.split('\0').filter(isPacked),
      'LICENSE',
      'package.json',
      'dist/THIRD-PARTY-LICENSES.txt',
      'dist/bom.cdx.json',
      'dist/ky.cjs',
      'dist/payment-journal.js',
      'dist/payment-probe.js',
      'dist/payment-sandbox.js',
      ...entryNames.flatMap((name) => ['.js', '.cjs', '.d.ts', '.d.cts'].map((end) => `dist/${name}${end}`)),
    ].sort(),
  );
  const kinds = files.flatMap((file) => shared.exec(file)?.[1] ?? []);
  expect(new Set(kinds)).toEqual(new Set(['.js', '.cjs', '.d.cts']));
});

test('builds before it packs, in a fresh clone', async () => {
  const clone = await project({});
  const versioned = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], root);
  const kept = versioned.split('\0').filter((file) => /^(?:src\/|[^/]+$)/.test(file));
  await Promise.all(kept.filter(Boolean).map((file) => cp(join(root, file), join(clone, file))));
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'));
  const printed = await run('npm', ['pack', '--dry-run', '--json'], clone, { DIST_IS_BUILT: '' });
  const packed = Object.values<{ files: { path: string }[] }>(JSON.parse(printed));
  // The hashes in the names of chunks are of paths too, and those of the symbolic link are longer.
  const builtFiles = (paths: readonly string[]) =>
    paths
      .filter((path) => path.startsWith('dist/'))
      .map((path) => path.replace(/-[\w-]{8}(?=\.)/, ''))
      .sort();
  const paths = packed.flatMap(({ files }) => files.map(({ path }) => path));
  expect(builtFiles(paths)).toEqual(builtFiles(await listFiles(installed)));
});

test('has no source map, and no path, host or user of the build machine', async () => {
  const paths = [root.slice(0, -1), `${homedir()}/`];
  const traces = [...paths, 'sourceMappingURL', 'sourcesContent', 'file:///'];
  for (const file of await listFiles(installed)) {
    const content = await readText(file);
    // Pages and examples are not built, and name paths of a merchant.
    const isBuilt = file.startsWith('dist/');
    const found = (isBuilt ? traces : paths).filter((trace) => content.includes(trace));
    expect([file, found]).toEqual([file, []]);
    if (!isBuilt) continue;
    // As a word: the hash in the name of a chunk can have the letters of a short name.
    expect([file, content.split(/[^\w.-]+/).includes(hostname())]).toEqual([file, false]);
    expect([file, content.match(/["'`(\s](?:\/home|\/root|\/Users|\/work|\/tmp|[A-Z]:\\)\/?\w+/)]).toEqual([
      file,
      null,
    ]);
  }
});

test('ships code that a person can read', async () => {
  const code = (await listFiles(installed)).filter((file) => /^dist\/.+\.c?js$/.test(file));
  expect(code.length).toBeGreaterThan(20);
  for (const file of code) {
    const lines = (await readText(file)).split('\n');
    // A list of imports, of exports or of numbers is one line, and no error is thrown in it.
    const statements = lines.filter((line) => !/^(?:import|export) \{|^var \w+ = \[[\d, ]+\];$/.test(line));
    const longest = Math.max(...statements.map((line) => line.length));
    const average = lines.reduce((sum, line) => sum + line.length, 0) / lines.length;
    // Of a few lines, one message makes the average.
    const isShort = lines.length < 20;
    expect([file, longest < 500, isShort || average < 60]).toEqual([file, true, true]);
    // A helper that keeps names through minification would be in front of each function.
    expect([file, lines.some((line) => line.includes('__name('))]).toEqual([file, false]);
  }
});

test('has every entry point of package.json, each of which is tested', async () => {
  const { exports }: typeof manifest = JSON.parse(await readText('package.json'));
  const { './package.json': own, ...rest } = exports;
  expect(own).toBe('./package.json');
  expect(Object.keys(rest)).toEqual(Object.keys(entries));
});

test.each([
  ['payment-journal', '--config <file>'],
  ['payment-probe', '--compare <file>'],
  ['payment-sandbox', '--port <number>'],
])('installs the command %s', async (name, option) => {
  expect((await readText(`dist/${name}.js`)).startsWith('#!/usr/bin/env node\n')).toBe(true);
  const command = join(inject('bare'), 'node_modules/.bin', name);
  expect((await stat(command)).mode & 0o111).toBe(0o111);
  expect(await run(command, ['--help'], inject('bare'))).toContain(option);
});

// The limits here and in .size-limit.json are at most a tenth above the measured sizes, to detect a jump.
test('adds no more to a bundle than its limits, minified and compressed', async () => {
  const printed = await run(
    process.execPath,
    [tool('size-limit/bin.js'), '--json'],
    fileURLToPath(new URL('.', import.meta.url)),
  );
  const sizes: { name: string; passed: boolean; size: number }[] = JSON.parse(printed);
  console.log(sizes.map(({ name, size }) => `${name}: ${size} bytes`).join('\n'));
  expect(sizes).toHaveLength(6);
  for (const size of sizes) expect(size).toMatchObject({ passed: true });
});

test('unpacks to less than 1,900 kB of code, and 2,620 kB in all', async () => {
  const files = await listFiles(installed);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(installed, file))).size));
  const sum = (isCounted: (file: string) => boolean) =>
    sizes.reduce((total, size, index) => total + (isCounted(files[index] ?? '') ? size : 0), 0);
  const code = sum((file) => file.startsWith('dist/'));
  console.log(`${code} bytes of code, ${sum(() => true)} in all ${files.length} files`);
  expect(code).toBeLessThan(1_900_000);
  expect(sum(() => true)).toBeLessThan(2_620_000);
});

test('ships the licence of everything that is bundled', async () => {
  const licences = await readText('dist/THIRD-PARTY-LICENSES.txt');
  const files = [
    'ky/license',
    'hono/LICENSE',
    '@hono/node-server/LICENSE',
    'string-width/license',
    'wrap-ansi/license',
  ];
  for (const file of files) {
    expect(licences).toContain((await readFile(join(root, 'node_modules', file), 'utf8')).trim());
  }
});

describe('the dependencies', () => {
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

  test('are ky and zod, which have no dependencies', async () => {
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

  test('run no script when they are installed', async () => {
    for (const [name, { hasInstallScript }] of Object.entries(await packages())) {
      expect([name, hasInstallScript]).toEqual([name, undefined]);
      const own: { scripts?: object } = JSON.parse(
        await readFile(join(inject('bare'), name, 'package.json'), 'utf8'),
      );
      const scripts = Object.keys(own.scripts ?? {});
      expect([name, scripts.filter((script) => /^(?:pre|post)?install$/.test(script))]).toEqual([name, []]);
    }
  });

  test('are signed by the registry', async ({ skip }) => {
    const outcome = await run('npm', ['audit', 'signatures', '--fetch-retries=0'], inject('bare')).catch(
      String,
    );
    skip(
      /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT/.test(outcome),
      `The registry's keys cannot be loaded: ${outcome}`,
    );
    expect(outcome).toMatch(/2 packages have verified registry signatures/);
  });
});
