import { describe, test } from 'vitest';
import { program, project, tool } from './project.ts';
import { run } from './run.ts';

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
  target: 'ES2023',
  lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  types: ['node'],
};

const ESM = 'typed.mts';
const COMMONJS = 'typed.cts';

const everyEntry = [
  {
    name: 'nodenext, as an ES module and as CommonJS',
    files: [ESM, COMMONJS],
    options: { module: 'NodeNext' },
  },
  { name: 'bundler', files: [ESM], options: { module: 'ESNext', moduleResolution: 'Bundler' } },
];

const toCommonJS = {
  name: 'bundler, compiled to CommonJS',
  files: [COMMONJS],
  options: { module: 'CommonJS', moduleResolution: 'Bundler' },
};

describe.each([
  { version: '5.9', settings: everyEntry },
  { version: '6.0', settings: [...everyEntry, toCommonJS] },
  { version: '7.0', settings: [...everyEntry, toCommonJS] },
])('TypeScript $version', ({ version, settings }) => {
  test.each(settings)('reads the types of every entry point: $name', async ({ files, options }) => {
    await compile(version, files, options, await program('typed.ts'));
  });
});

// The old resolution without entry points, which 7.0 no longer has.
test.each([
  { version: '5.9', ignoreDeprecations: '5.0' },
  { version: '6.0', ignoreDeprecations: '6.0' },
])(
  'TypeScript $version reads the types of the package itself: node10',
  async ({ version, ignoreDeprecations }) => {
    const text = `import { PaymentsClient } from 'payment-collection-client';
    const status = new PaymentsClient().verify('TXN-1').then((transaction) => transaction.status);
    export const known: Promise<string> = status;
    // @ts-expect-error: a transaction is never paid
    export const paid: Promise<'paid'> = status;`;
    await compile(
      version,
      [COMMONJS],
      { module: 'CommonJS', moduleResolution: 'Node10', esModuleInterop: true, ignoreDeprecations },
      text,
    );
  },
);

async function compile(version: string, files: string[], options: object, text: string): Promise<void> {
  const compilerOptions = { ...strict, ...options };
  const folder = await project({
    ...Object.fromEntries(files.map((file) => [file, text])),
    'tsconfig.json': JSON.stringify({ compilerOptions, files }),
  });
  await run(process.execPath, [tool(`typescript-${version}/bin/tsc`), '-p', '.'], folder);
}
