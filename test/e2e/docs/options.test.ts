import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { pages } from './pages.ts';
import { entryPoints, listExports, publicTypes } from './public-types.ts';

/** Options of a call whose type has another name, so that a merchant looks for them on the page too. */
const OTHERS = [
  'AttentionQuery',
  'Expectation',
  'JournalQuery',
  'ReconcileItem',
  'ResolutionNote',
  'Schedule',
];
const isOptionsType = (name: string) => /(?:Options|Input)$/.test(name) || OTHERS.includes(name);

/** A table of the page, and the types that it describes. */
interface OptionsTable {
  readonly types: readonly string[];
  /** Types whose options have tables of their own. */
  readonly inherited: readonly string[];
  readonly rows: ReadonlyMap<string, { readonly type: string; readonly byDefault: string }>;
}

const page = pages.find(({ path }) => path === 'docs/reference/options.md')?.text ?? '';
const tables = listTables(page);
const types = listOptionsTypes();

test('finds the options types of each entry point', () => {
  expect(types.size).toBeGreaterThan(25);
  expect(entryPoints.length).toBeGreaterThan(10);
});

test('has a table for each public options type, and for no other', () => {
  expect(tables.flatMap((table) => table.types).sort()).toEqual([...types.keys()].sort());
});

describe.each(tables.map((table) => [table.types.join(', '), table] as const))('%s', (_, table) => {
  const options = new Map(table.types.flatMap((name) => [...(types.get(name) ?? [])]));
  const inherited = table.inherited.flatMap((name) => [...(types.get(name)?.keys() ?? [])]);

  test('lists every option, and no other', () => {
    const own = [...options.keys()].filter((name) => table.rows.has(name) || !inherited.includes(name));
    expect([...table.rows.keys()].sort()).toEqual(own.sort());
    for (const name of table.types) {
      expect(inherited.filter((option) => !types.get(name)?.has(option))).toEqual([]);
    }
  });

  test.each([...table.rows])('gives type and default of %s', (name, row) => {
    const option = options.get(name);
    if (!option) throw new Error(`There is no option ${name}.`);
    expect(row.byDefault).toBe(option.byDefault);
    expect(row.type).toMatch(option.type);
  });
});

interface Option {
  /** What its type begins with on the page. */
  readonly type: RegExp;
  readonly byDefault: string;
}

/** Lists the options of each type, read from the types that a merchant's editor shows. */
function listOptionsTypes(): Map<string, Map<string, Option>> {
  const found = new Map<string, Map<string, Option>>();
  for (const entry of entryPoints) {
    for (const { name, symbol, isValue } of listExports(entry)) {
      if (isValue || !isOptionsType(name)) continue;
      const members = publicTypes.getPropertiesOfType(publicTypes.getDeclaredTypeOfSymbol(symbol));
      found.set(name, new Map(members.map((member) => [member.name, describeOption(member)])));
    }
  }
  return found;
}

function describeOption(symbol: ts.Symbol): Option {
  const isRequired = (symbol.flags & ts.SymbolFlags.Optional) === 0;
  const tag = symbol.getJsDocTags(publicTypes).find(({ name }) => name === 'default');
  // One of three types of this argument requires the key, so the page says when it is required.
  const isKey = symbol.name === 'idempotencyKey';
  const written = isKey ? 'required for a charge, if the client has a journal' : undefined;
  const byDefault = written ?? (isRequired ? 'required' : ts.displayPartsToString(tag?.text));
  if (byDefault === '') throw new Error(`${symbol.name} has no @default.`);
  return { type: nameType(symbol), byDefault: normalize(byDefault) };
}

/** What a type begins with on the page, for the types that have one name there. */
function nameType(symbol: ts.Symbol): RegExp {
  const type = publicTypes.getNonNullableType(publicTypes.getTypeOfSymbol(symbol));
  const text = publicTypes.typeToString(type);
  if (text === 'number') return /^number/;
  if (text === 'boolean') return /^boolean$/;
  if (text === 'string') return /^string/;
  if (type.getCallSignatures().length > 0) return /^function$/;
  if (publicTypes.isArrayType(type)) return /^array of /;
  return /./;
}

/** Reads `Type: …` and the table below it, for each of them. */
function listTables(text: string): OptionsTable[] {
  const found = text.matchAll(/^Types?: (?<names>.+)\n\n?(?<table>(?:\|.*\n)*)/gm);
  return [...found].map(({ groups }) => {
    const [own = '', inherited = ''] = (groups?.names ?? '').split('with all of');
    const [, , ...rows] = (groups?.table ?? '').trim().split('\n');
    const cells = rows.map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()));
    return {
      types: listCode(own),
      inherited: listCode(inherited),
      rows: new Map(
        cells.map(([, name = '', type = '', byDefault = '']) => [
          listCode(name)[0] ?? name,
          { type: type.replaceAll('`', ''), byDefault: normalize(byDefault) },
        ]),
      ),
    };
  });
}

function listCode(text: string): string[] {
  return [...text.matchAll(/`(?<code>[^`]+)`/g)].map(({ groups }) => groups?.code ?? '');
}

/** Without what is only there for people: code, links, and a number in another unit. */
function normalize(text: string): string {
  return text
    .replace(/\{@link (?<name>\w+)\}/g, '$<name>')
    .replaceAll('`', '')
    .replace(/ \(\d+ (?:s|min)\)$/, '')
    .replace(/^\[\] every case .*/, '[]')
    .trim();
}
