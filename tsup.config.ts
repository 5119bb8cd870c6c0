import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig, type Options } from 'tsup';

type EsbuildPlugin = NonNullable<Options['esbuildPlugins']>[number];

// Each as a property `entry`: that is where knip looks.
const schedule = { entry: { schedule: 'src/schedule.ts' } };
const sandbox = { entry: { sandbox: 'src/sandbox/index.ts' } };
const others = {
  entry: {
    index: 'src/index.ts',
    orders: 'src/orders/index.ts',
    'follow-ups': 'src/follow-ups/index.ts',
    journal: 'src/journal/index.ts',
    'journal-sqlite': 'src/journal/sqlite.ts',
    'journal-postgres': 'src/journal/postgres.ts',
    'journal-mysql': 'src/journal/mysql.ts',
    'journal-redis': 'src/journal/redis.ts',
    node: 'src/node/index.ts',
    phone: 'src/phone.ts',
    testing: 'src/testing/index.ts',
  },
};
const commands = {
  entry: {
    'payment-journal': 'src/journal-cli/cli.ts',
    'payment-sandbox': 'src/sandbox/cli.ts',
  },
};
const all = { ...others.entry, ...schedule.entry, ...sandbox.entry };

// zod is a part of the build, of which only what is used: `zod/mini` also loads each of its 63 languages.
const shared = {
  external: [/^node:/, 'undici'],
  removeNodeProtocol: false,
  target: 'es2023',
  platform: 'neutral',
  // Splitting leaves imports of files of which nothing is used.
  treeshake: { moduleSideEffects: 'no-external' },
} satisfies Options;

/** What is loaded from a file of the build beside it. */
const beside = (filter: RegExp, path: string): EsbuildPlugin => ({
  name: `beside-${path}`,
  setup({ onResolve }) {
    onResolve({ filter }, ({ kind }) => (kind === 'entry-point' ? undefined : { path, external: true }));
  },
});

/** In place of the file that awaits `import('msw')`: CommonJS has no such await. */
const requireMsw: EsbuildPlugin = {
  name: 'require-msw',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/msw\.ts$/ }, () => ({ path: resolve('src/testing/msw-commonjs.ts') }));
  },
};

/** Puts the texts of the sandbox's styles and script into the build, because no file beside it has them. */
const inlineTexts: EsbuildPlugin = {
  name: 'inline-texts',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]sandbox[\\/]assets[\\/]texts\.ts$/ }, async ({ path }) => {
      const { texts } = await import(pathToFileURL(path).href);
      const quote = (text: string) => `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``;
      const entries = Object.entries<string>(texts).map(
        ([name, text]) => `${JSON.stringify(name)}: ${quote(text)},`,
      );
      return { contents: `export const texts = {\n${entries.join('\n')}\n};` };
    });
  },
};

/** Both module systems load the one file. */
async function finishSandbox(): Promise<void> {
  await writeFile('dist/sandbox.js', "export { SandboxError, startSandbox } from './sandbox.cjs';\n");
}

/** An ES module may take its types from a CommonJS one: they are there once. */
async function shareTypes(): Promise<void> {
  const names = Object.keys(all);
  await Promise.all(names.map((name) => writeFile(`dist/${name}.d.ts`, `export * from './${name}.cjs';\n`)));
}

/** What is bundled is given away with its licence. */
async function writeLicenses(): Promise<void> {
  const files = [
    'ky/license',
    'zod/LICENSE',
    'hono/LICENSE',
    '@hono/node-server/LICENSE',
    ...['string-width', 'wrap-ansi', 'ansi-styles', 'ansi-regex', 'strip-ansi', 'get-east-asian-width'].map(
      (name) => `${name}/license`,
    ),
  ];
  const texts = files.map(
    async (file) => `${dirname(file)}\n\n${await readFile(`node_modules/${file}`, 'utf8')}`,
  );
  await writeFile('dist/THIRD-PARTY-LICENSES.txt', (await Promise.all(texts)).join('\n---\n\n'));
}

export default defineConfig([
  // Splitting keeps one copy of each error class across `.` and `./testing`.
  {
    ...shared,
    entry: {
      ...others.entry,
      ...schedule.entry,
      ...commands.entry,
      // Nothing but zod: so zod has a chunk of its own, which a bundler can leave out.
      zod: 'node_modules/zod/v4/mini/iso.js',
    },
    format: 'esm',
    splitting: true,
    noExternal: ['zod'],
    esbuildPlugins: [beside(/^\.\/index\.ts$/, './sandbox.cjs')],
    onSuccess: async () => {
      await Promise.all([shareTypes(), writeLicenses(), rm('dist/zod.js')]);
    },
  },
  {
    ...shared,
    entry: { ...others.entry, ...sandbox.entry },
    format: 'cjs',
    splitting: true,
    noExternal: ['ky', 'zod'],
    esbuildPlugins: [beside(/^ky$/, './ky.cjs'), requireMsw, inlineTexts],
    // `Symbol.dispose` is newer than the library that a consumer's tsconfig may name.
    dts: {
      banner: '/// <reference lib="esnext.disposable" />',
      entry: all,
    },
    onSuccess: finishSandbox,
  },
  // Engines run it where there is nothing else, not even `require`.
  { ...shared, ...schedule, format: 'cjs' },
  // ky is an ES module only; as CommonJS it also works in Jest, which cannot require one.
  {
    ...shared,
    entry: { ky: 'node_modules/ky/distribution/index.js' },
    format: 'cjs',
    noExternal: ['ky'],
  },
]);
