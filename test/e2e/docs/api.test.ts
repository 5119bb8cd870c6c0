import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { PaymentsClient } from '../../../src/index.ts';
import { entryPoints, listExports } from './public-types.ts';
import { codeIn, readPage, rowsOf, sectionOf } from './tables.ts';

const page = readPage('docs/reference/api.md');
const [introduction = ''] = page.split('\n## ');
const rows = rowsOf(introduction).map(([path = '', exported = '']) => ({
  path: codeIn(path)[0] ?? '',
  names: codeIn(exported),
}));

/** The classes that the page leaves to the page of errors. */
const errorClasses = rowsOf(sectionOf(readPage('docs/reference/errors.md'), 'Find an error by its code')).map(
  ([, name = '']) => codeIn(name)[0] ?? '',
);

// The API report holds the types.
test('has a row for each entry point, and for no other', () => {
  const paths = entryPoints.map(({ path }) => path.replace('./', '/'));
  expect([...new Set(rows.map(({ path }) => path))].sort()).toEqual(paths.sort());
});

test.each(entryPoints.map((entry) => [entry.path.replace('./', '/'), entry] as const))(
  'lists each function, class and constant, and no other: %s',
  (path, entry) => {
    const listed = rows
      .flatMap((row) => (row.path === path ? row.names : []))
      .filter((name) => name !== 'null');
    const exported = listExports(entry).flatMap(({ name, isValue }) => (isValue ? [name] : []));
    expect([...listed, ...(path === '.' ? errorClasses : [])].sort()).toEqual(exported.sort());
  },
);

test('lists each method of a client, and no other', () => {
  const named = rowsOf(sectionOf(page, 'Call the methods of a client')).flatMap(([cell = '']) =>
    codeIn(cell),
  );
  const methods = Object.getOwnPropertyNames(PaymentsClient.prototype).filter(
    (name) => name !== 'constructor',
  );
  expect(named.sort()).toEqual(methods.sort());
});

test('names each command', () => {
  const links = sectionOf(page, 'Run the commands').matchAll(/\[(?<name>[\w-]+)\]\((?<file>[\w-]+)\.md\)/g);
  const named = [...links].map(({ groups }) => groups?.name);
  expect(named.sort()).toEqual(Object.keys(packageJson.bin).sort());
});
