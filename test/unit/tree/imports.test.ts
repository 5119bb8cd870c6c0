import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

/** From the bottom up: a file imports from its own layer and from those below it. */
const layers: [string, RegExp][] = [
  ['values and time', /^(?:version|max-timeout|untrusted|loopback|timing|schedule)\./],
  ['API', /^api\//],
  ['errors and events', /^(?:errors|events|decoded-text|redact|sanitize-error|unknown-option)\./],
  ['journal interface', /^(?:journal\/(?:journal|record|store|warnings)|idempotency\/keyed-call)\./],
  ['options', /^(?:options|resolve-options)\./],
  ['at-most-once protocol', /^idempotency\//],
  ['journal', /^journal\//],
  ['HTTP', /^http\//],
  ['polling', /^polling\//],
  ['client', /^client\./],
  ['index', /^index\./],
  ['node', /^node\//],
  ['testing', /^testing\//],
  ['sandbox', /^sandbox\//],
];

const layerOf = (file: string) => layers.findIndex(([, pattern]) => pattern.test(file));

const imports = globSync('**/*.ts', { cwd: 'src' }).flatMap((file) =>
  [...readFileSync(join('src', file), 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) => ({
    file,
    imported: normalize(join(dirname(file), path)),
  })),
);

test('every source file has a layer', () => {
  expect(imports.length).toBeGreaterThan(200);
  expect(imports.map(({ file }) => file).filter((file) => layerOf(file) === -1)).toEqual([]);
});

test('imports point down only', () => {
  expect(imports.filter(({ file, imported }) => layerOf(imported) > layerOf(file))).toEqual([]);
});

test('the client reaches protocol and journals by their types only', () => {
  const values = globSync('{client,index,options,resolve-options,{http,polling}/*}.ts', {
    cwd: 'src',
  }).flatMap((file) =>
    [
      ...readFileSync(join('src', file), 'utf8').matchAll(
        /^(?:im|ex)port (?!type )[^;]*? from '(\.[^']+)'/gm,
      ),
    ].map(([, path = '']) => normalize(join(dirname(file), path))),
  );
  expect(values.length).toBeGreaterThan(60);
  expect(values.filter((imported) => /^(?:idempotency|journal)\//.test(imported))).toEqual([]);
});

test('the mock builds on operations and contract, not on the client it tests', () => {
  const above = imports.filter(
    ({ file, imported }) => file.startsWith('testing/') && /^(?:client|http|index)/.test(imported),
  );
  expect(above).toEqual([]);
});
