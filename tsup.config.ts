import { readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Options } from 'tsup';

const shared = {
  entry: {
    index: 'src/index.ts',
    schedule: 'src/polling/schedule.ts',
    journal: 'src/journal/index.ts',
    'journal-sqlite': 'src/journal/sqlite.ts',
    'journal-postgres': 'src/journal/postgres.ts',
    'journal-redis': 'src/journal/redis.ts',
    testing: 'src/testing/index.ts',
    sandbox: 'src/sandbox/index.ts',
  },
  external: [/^node:/],
  removeNodeProtocol: false,
  target: 'es2023',
  platform: 'neutral',
  // `Symbol.dispose` is newer than the library that a consumer's tsconfig may name.
  dts: { banner: '/// <reference lib="esnext.disposable" />' },
  treeshake: true,
} satisfies Options;

// A CommonJS module cannot wait at its top for the optional peer.
const requireMsw: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'require-msw',
  setup({ onResolve }) {
    const path = fileURLToPath(new URL('src/testing/msw-commonjs.ts', import.meta.url));
    onResolve({ filter: /\/msw\.ts$/ }, () => ({ path }));
  },
};

/** What is bundled is given away with its licence. */
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
    entry: { ...shared.entry, 'payment-sandbox': 'src/sandbox/cli.ts' },
    format: 'esm',
    splitting: true,
    dts: { ...shared.dts, entry: shared.entry },
    onSuccess: writeLicenses,
  },
  // ky is an ES module only; inside the CommonJS build it also works in Jest, which cannot require one.
  { ...shared, format: 'cjs', noExternal: ['ky'], esbuildPlugins: [requireMsw] },
]);
