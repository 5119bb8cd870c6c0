import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { PaymentsClient } from '../../../src/index.ts';
import { entryPoints, listExports } from './public-types.ts';
import { codeIn, readPage, rowsOf, sectionOf } from './tables.ts';

const page = readPage('docs/reference/api.md');

// The API report holds the types.
test('has a section for each entry point, and for no other', () => {
  const headings = [...page.matchAll(/^## `(?<specifier>.+)`$/gm)].map(({ groups }) => groups?.specifier);
  expect(headings.sort()).toEqual(entryPoints.map(({ specifier }) => specifier).sort());
});

test.each(entryPoints.map((entry) => [entry.specifier, entry] as const))(
  'lists each function, class and constant, and no other: %s',
  (specifier, entry) => {
    const section = sectionOf(page, `\`${specifier}\``);
    const listed = rowsOf(section).flatMap(([names = '']) => codeIn(names));
    const exported = listExports(entry).flatMap(({ name, isValue }) => (isValue ? [name] : []));
    expect(listed.sort()).toEqual(exported.sort());
  },
);

test('tells classes, functions and constants apart', async () => {
  for (const { specifier } of entryPoints) {
    const module: Record<string, unknown> = await import(specifier);
    for (const [names = '', kind] of rowsOf(sectionOf(page, `\`${specifier}\``))) {
      expect(codeIn(names).map((name) => kindOf(module[name]))).toEqual(codeIn(names).map(() => kind));
    }
  }
});

function kindOf(value: unknown): string {
  if (typeof value !== 'function') return value === undefined ? 'missing' : 'constant';
  return /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'function';
}

test('lists each method of a client, and no other', () => {
  const rows = rowsOf(sectionOf(page, 'Call the methods of a client'));
  const methods = Object.getOwnPropertyNames(PaymentsClient.prototype).filter(
    (name) => name !== 'constructor',
  );
  expect(rows.map(([cell = '']) => codeIn(cell)[0]?.replace(/\(.*/, '')).sort()).toEqual(methods.sort());
});

test('lists each command', () => {
  const rows = rowsOf(sectionOf(page, 'Run the commands'));
  const named = rows.map(([cell = '']) => /^\[(?<name>[^\]]+)\]/.exec(cell)?.groups?.name);
  expect(named.sort()).toEqual(Object.keys(packageJson.bin).sort());
});
