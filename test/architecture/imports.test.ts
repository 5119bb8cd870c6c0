import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

/** From the bottom up: a file imports from its own layer and from those below it. */
const layers: [string, RegExp][] = [
  ['contract and money', /^(?:contract\/|money|version|longest-timer|polling\/schedule)/],
  [
    'errors',
    /^(?:errors|api-errors|request-errors|wait-timeout-error|events|decoded-text|redact|printable|unknown-option|or-nothing)\./,
  ],
  ['journal', /^journal\//],
  ['options', /^(?:options|polling-options|resolve-options)\./],
  ['operations', /^operations\./],
  ['transport', /^transport\//],
  ['at most once', /^at-most-once\//],
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
  expect(imports.length).toBeGreaterThan(100);
  expect(imports.map(({ file }) => file).filter((file) => layerOf(file) === -1)).toEqual([]);
});

test('imports point down only', () => {
  expect(imports.filter(({ file, imported }) => layerOf(imported) > layerOf(file))).toEqual([]);
});

test('the mock builds on operations and contract, not on the client it tests', () => {
  const above = imports.filter(
    ({ file, imported }) => file.startsWith('testing/') && /^(?:client|transport|index)/.test(imported),
  );
  expect(above).toEqual([]);
});
