import { describe, expect, test } from 'vitest';
import { entries } from './entries.ts';
import { payingSandbox, program, project, tool } from './project.ts';
import { run } from './run.ts';

interface Settings {
  name: string;
  type: string;
  files?: string[];
  options: object;
}

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

const everyEntry: Settings[] = [
  {
    name: 'nodenext, as an ES module and as CommonJS',
    type: 'module',
    files: ['typed.ts', 'typed.cts'],
    options: { module: 'NodeNext' },
  },
  { name: 'bundler', type: 'module', options: { module: 'ESNext', moduleResolution: 'Bundler' } },
];

const toCommonJS: Settings = {
  name: 'bundler, compiled to CommonJS',
  type: 'commonjs',
  options: { module: 'CommonJS', moduleResolution: 'Bundler' },
};

describe.each([
  { version: '5.9', settings: everyEntry },
  { version: '6.0', settings: [...everyEntry, toCommonJS] },
  { version: '7.0', settings: [...everyEntry, toCommonJS] },
])('TypeScript $version', ({ version, settings }) => {
  test.each(settings)('reads the types of every entry point: $name', async ({ type, options, files }) => {
    await compile(version, type, options, await program('typed.ts'), files);
  });
});

// The old resolution, which reads `typesVersions` in place of `exports`, and which 7.0 no longer has.
test.each([
  { version: '5.9', ignoreDeprecations: '5.0' },
  { version: '6.0', ignoreDeprecations: '6.0' },
])(
  'TypeScript $version reads the types of every entry point: node10',
  async ({ version, ignoreDeprecations }) => {
    const exported = Object.entries(entries).map(
      ([entry, module], index) =>
        `export { ${Object.keys(module)[0]} as e${index} } from 'payment-collection-client${entry.slice(1)}';`,
    );
    const text = `${exported.join('\n')}
    import { PaymentsClient } from 'payment-collection-client';
    import { createOrderPayments } from 'payment-collection-client/orders';
    // @ts-expect-error: it has options
    createOrderPayments();
    const status = new PaymentsClient().verify('TXN-1').then((transaction) => transaction.status);
    export const known: Promise<string> = status;
    // @ts-expect-error: a transaction is never paid
    export const paid: Promise<'paid'> = status;`;
    await compile(
      version,
      'commonjs',
      {
        module: 'CommonJS',
        moduleResolution: 'Node10',
        esModuleInterop: true,
        ignoreDeprecations,
        types: [],
      },
      text,
      ['typed.ts'],
      // MSW's own types cannot be read so.
      'bare',
    );
  },
);

// Of a class with decorators, TypeScript writes the metadata that a container reads.
test.each(['5.9', '6.0', '7.0'])(
  'injects the client into a decorated class, by TypeScript %s',
  async (version) => {
    const decorated = { noEmit: false, experimentalDecorators: true, emitDecoratorMetadata: true };
    const options = { module: 'NodeNext', skipLibCheck: true, ...decorated };
    const folder = await compile(version, 'commonjs', options, await program('nest.ts'));
    const sandbox = await payingSandbox();
    const printed = await run(process.execPath, ['typed.js', sandbox.baseUrl, sandbox.liveKey], folder);
    expect(JSON.parse(printed)).toEqual([true, 'success', 'missing']);
  },
);

async function compile(
  version: string,
  type: string,
  options: object,
  text: string,
  files: readonly string[] = ['typed.ts'],
  inside: 'bare' | 'shop' = 'shop',
): Promise<string> {
  const compilerOptions = { ...strict, ...options };
  const folder = await project(
    {
      'package.json': JSON.stringify({ type }),
      ...Object.fromEntries(files.map((file) => [file, text])),
      'tsconfig.json': JSON.stringify({ compilerOptions, files }),
    },
    inside,
  );
  await run(process.execPath, [tool(`typescript-${version}/bin/tsc`), '-p', '.'], folder);
  return folder;
}
