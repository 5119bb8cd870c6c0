import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

/** From the bottom up: a file imports from its own layer and from those below it. */
const layers: [string, RegExp][] = [
  ['values and time', /^(?:version|max-timeout|untrusted|loopback|timing|schedule)\./],
  ['API', /^api\//],
  ['errors and events', /^(?:errors|events|decoded-text|redact|unknown-option)\./],
  ['journal', /^journal\//],
  ['options', /^(?:options|resolve-options)\./],
  ['HTTP', /^http\//],
  ['idempotency', /^idempotency\//],
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

test('the mock builds on operations and contract, not on the client it tests', () => {
  const above = imports.filter(
    ({ file, imported }) => file.startsWith('testing/') && /^(?:client|http|index)/.test(imported),
  );
  expect(above).toEqual([]);
});
