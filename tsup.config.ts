import { readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Options } from 'tsup';

type EsbuildPlugin = NonNullable<Options['esbuildPlugins']>[number];

// knip looks for entries in properties of this name.
const schedule = { entry: { schedule: 'src/schedule.ts' } };
const sandbox = { entry: { sandbox: 'src/sandbox/index.ts' } };
const others = {
  entry: {
    index: 'src/index.ts',
    journal: 'src/journal/index.ts',
    'journal-sqlite': 'src/journal/sqlite.ts',
    'journal-postgres': 'src/journal/postgres.ts',
    'journal-redis': 'src/journal/redis.ts',
    node: 'src/node/index.ts',
    testing: 'src/testing/index.ts',
  },
};
const all = { ...others.entry, ...schedule.entry, ...sandbox.entry };

const shared = {
  external: [/^node:/, 'undici'],
  removeNodeProtocol: false,
  target: 'es2023',
  platform: 'neutral',
  // Splitting leaves imports of files from which nothing is used.
  treeshake: { moduleSideEffects: 'no-external' },
} satisfies Options;

// A CommonJS module cannot await an optional peer at its top level.
const requirePeers: EsbuildPlugin = {
  name: 'require-peers',
  setup({ onResolve }) {
    const twin = new URL('src/node/undici-commonjs.ts', import.meta.url);
    onResolve({ filter: /\/undici\.ts$/ }, () => ({ path: fileURLToPath(twin) }));
  },
};

/** Replaces an import with one of another file of the build. */
const importBuilt = (filter: RegExp, path: string): EsbuildPlugin => ({
  name: `import-${path}`,
  setup({ onResolve }) {
    onResolve({ filter }, ({ kind }) => (kind === 'entry-point' ? undefined : { path, external: true }));
  },
});

/** Makes both module systems load the same file. */
async function writeSandboxModule(): Promise<void> {
  await writeFile('dist/sandbox.js', "export { SandboxError, startSandbox } from './sandbox.cjs';\n");
}

/** Writes the types of the ES modules, which re-export those of the CommonJS modules. */
async function writeModuleTypes(): Promise<void> {
  const names = Object.keys(all);
  await Promise.all(names.map((name) => writeFile(`dist/${name}.d.ts`, `export * from './${name}.cjs';\n`)));
}

/** Writes the licences of the bundled packages. */
async function writeLicenses(): Promise<void> {
  const files = ['ky/license', 'hono/LICENSE', '@hono/node-server/LICENSE'];
  const texts = files.map(
    async (file) => `${dirname(file)}\n\n${await readFile(`node_modules/${file}`, 'utf8')}`,
  );
  await writeFile('dist/THIRD-PARTY-LICENSES.txt', (await Promise.all(texts)).join('\n---\n\n'));
}

export default defineConfig([
  // Splitting keeps one copy of each error class across `.` and `./testing`.
  {
    ...shared,
    entry: { ...others.entry, ...schedule.entry, 'payment-sandbox': 'src/sandbox/cli.ts' },
    format: 'esm',
    splitting: true,
    esbuildPlugins: [importBuilt(/^\.\/index\.ts$/, './sandbox.cjs')],
    onSuccess: async () => {
      await Promise.all([writeModuleTypes(), writeLicenses()]);
    },
  },
  {
    ...shared,
    entry: { ...others.entry, ...sandbox.entry },
    format: 'cjs',
    splitting: true,
    noExternal: ['ky'],
    esbuildPlugins: [requirePeers, importBuilt(/^ky$/, './ky.cjs')],
    // `Symbol.dispose` is newer than the library in many a consumer's tsconfig.
    dts: {
      banner: '/// <reference lib="esnext.disposable" />',
      entry: all,
    },
    onSuccess: writeSandboxModule,
  },
  // Workflow engines run it in an isolate that has no `require`.
  { ...shared, ...schedule, format: 'cjs' },
  // ky is an ES module only. Jest cannot require one, so ky is built as CommonJS too.
  {
    ...shared,
    entry: { ky: 'node_modules/ky/distribution/index.js' },
    format: 'cjs',
    noExternal: ['ky'],
  },
]);
