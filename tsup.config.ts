import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig, type Options } from 'tsup';
import ownManifest from './package.json' with { type: 'json' };

type EsbuildPlugin = NonNullable<Options['esbuildPlugins']>[number];

// Each as a property `entry`: that is where knip looks.
const schedule = { entry: { schedule: 'src/schedule.ts' } };
const sandbox = { entry: { sandbox: 'src/developers/sandbox/index.ts' } };
const others = {
  entry: {
    index: 'src/index.ts',
    orders: 'src/orders/index.ts',
    'follow-ups': 'src/follow-ups/index.ts',
    journal: 'src/stores/index.ts',
    'journal-sqlite': 'src/stores/sqlite/index.ts',
    'journal-postgres': 'src/stores/postgres/index.ts',
    'journal-mysql': 'src/stores/mysql/index.ts',
    'journal-redis': 'src/stores/redis/index.ts',
    node: 'src/node/index.ts',
    phone: 'src/phone.ts',
    testing: 'src/developers/mock/index.ts',
    review: 'src/operators/desk/index.ts',
  },
};
const commands = {
  entry: {
    'payment-journal': 'src/operators/command/cli.ts',
    'payment-probe': 'src/developers/probe/cli.ts',
    'payment-sandbox': 'src/developers/sandbox/cli.ts',
  },
};
const all = { ...others.entry, ...schedule.entry, ...sandbox.entry };

const shared = {
  external: [/^node:/, 'undici'],
  removeNodeProtocol: false,
  target: 'es2023',
  platform: 'neutral',
  // Splitting leaves imports of files of which nothing is used.
  treeshake: { moduleSideEffects: 'no-external' },
} satisfies Options;

interface Manifest {
  name: string;
  version: string;
  license: string;
}

/** The folders of the packages whose code the build has copied so far, by any of its parts. */
const copied = new Set<string>();

/** Lists what is copied, with its version and its licence, for people and for the tools that look for known faults. */
const listCopied: EsbuildPlugin = {
  name: 'list-copied',
  setup({ onEnd }) {
    onEnd(({ metafile }) => {
      for (const { inputs } of Object.values(metafile?.outputs ?? {})) {
        for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
          const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
          if (folder && bytesInOutput > 0) copied.add(folder);
        }
      }
      // At once and whole: the last part of the build to end has them all.
      writeCopied([...copied].sort());
    });
  },
};

function writeCopied(folders: readonly string[]): void {
  const texts = folders.map((folder) => {
    const { name, version } = readManifest(folder);
    const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (!file) throw new Error(`${name} has no licence.`);
    return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8')}`;
  });
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: describeComponent(ownManifest) },
    components: folders.map((folder) => describeComponent(readManifest(folder))),
  };
  mkdirSync('dist', { recursive: true });
  writeFileSync('dist/THIRD-PARTY-LICENSES.txt', texts.join('\n---\n\n'));
  writeFileSync('dist/bom.cdx.json', `${JSON.stringify(bom, null, 2)}\n`);
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function describeComponent({ name, version, license }: Manifest) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return { type: 'library', 'bom-ref': purl, name, version, licenses: [{ license: { id: license } }], purl };
}

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
    onResolve({ filter: /^\.\/msw\.ts$/ }, () => ({ path: resolve('src/developers/mock/msw-commonjs.ts') }));
  },
};

/** Puts the texts of styles and scripts into the build, because no file beside it has them. */
const inlineTexts: EsbuildPlugin = {
  name: 'inline-texts',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]texts\.ts$/ }, async ({ path }) => {
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

export default defineConfig([
  // Splitting keeps one copy of each error class across `.` and `./testing`.
  {
    ...shared,
    entry: { ...others.entry, ...schedule.entry, ...commands.entry },
    format: 'esm',
    splitting: true,
    esbuildPlugins: [listCopied, beside(/^\.\/index\.ts$/, './sandbox.cjs'), inlineTexts],
    onSuccess: shareTypes,
  },
  {
    ...shared,
    entry: { ...others.entry, ...sandbox.entry },
    format: 'cjs',
    splitting: true,
    // Of zod what is used. `require('zod/mini')` also loads each of its 63 languages: 87 ms of CPU for the package in place of
    // 52, and 59 for stripe in the same run (`npm run bench -- imports --rounds 9`, 27 November 2026).
    noExternal: ['ky', 'zod'],
    esbuildPlugins: [listCopied, beside(/^ky$/, './ky.cjs'), requireMsw, inlineTexts],
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
    esbuildPlugins: [listCopied],
  },
]);
