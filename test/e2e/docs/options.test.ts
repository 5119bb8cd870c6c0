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

/** What a table of the page, or a row of the shorter tables, says of the options of some types. */
interface Described {
  readonly types: readonly string[];
  /** Types whose options are described elsewhere. */
  readonly inherited: readonly string[];
  /** The default of each option. */
  readonly defaults: ReadonlyMap<string, string>;
  /** How the default of an option reads here. */
  readonly format: (byDefault: string) => string;
}

const page = pages.find(({ path }) => path === 'docs/reference/options.md')?.text ?? '';
const tables = [...listTables(page), ...listShortRows(page)];
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
    const own = [...options.keys()].filter((name) => table.defaults.has(name) || !inherited.includes(name));
    expect([...table.defaults.keys()].sort()).toEqual(own.sort());
    for (const name of table.types) {
      expect(inherited.filter((option) => !types.get(name)?.has(option))).toEqual([]);
    }
  });

  test.each([...table.defaults])('gives the default of %s', (name, byDefault) => {
    const known = options.get(name);
    if (known === undefined) throw new Error(`There is no option ${name}.`);
    expect(byDefault).toBe(table.format(known));
  });
});

/** Lists the options of each type with their defaults, read from the types that a merchant's editor shows. */
function listOptionsTypes(): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const entry of entryPoints) {
    for (const { name, symbol, isValue } of listExports(entry)) {
      if (isValue || !isOptionsType(name)) continue;
      const members = publicTypes.getPropertiesOfType(publicTypes.getDeclaredTypeOfSymbol(symbol));
      found.set(name, new Map(members.map((member) => [member.name, readDefault(member)])));
    }
  }
  return found;
}

function readDefault(symbol: ts.Symbol): string {
  const isRequired = (symbol.flags & ts.SymbolFlags.Optional) === 0;
  const tag = symbol.getJsDocTags(publicTypes).find(({ name }) => name === 'default');
  // One of three types of this argument requires the key, so the page says when it is required.
  const isKey = symbol.name === 'idempotencyKey';
  const written = isKey ? 'required for a charge, if the client has a journal' : undefined;
  const byDefault = written ?? (isRequired ? 'required' : ts.displayPartsToString(tag?.text));
  if (byDefault === '') throw new Error(`${symbol.name} has no @default.`);
  return normalize(byDefault);
}

/** Reads `Type: …` and the table below it, for each of them. */
function listTables(text: string): Described[] {
  const found = text.matchAll(/^Types?: (?<names>.+)\n\n?(?<table>(?:\|.*\n)*)/gm);
  return [...found].map(({ groups }) => {
    const [own = '', inherited = ''] = (groups?.names ?? '').split('with all of');
    const [, , ...rows] = (groups?.table ?? '').trim().split('\n');
    const cells = rows.map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()));
    return {
      types: listCode(own),
      inherited: listCode(inherited),
      defaults: new Map(
        cells.map(([, name = '', byDefault = '']) => [listCode(name)[0] ?? name, normalize(byDefault)]),
      ),
      format: (byDefault) => byDefault,
    };
  });
}

const LITERAL = /^(?:[\d_]+|Infinity|true|false|'[^']*'|\[.*\])$/;

/** Reads each row of the shorter tables: `signal?` can be left out, and `limit: Infinity` shows its default. */
function listShortRows(text: string): Described[] {
  const rows = [...text.matchAll(/^\| `(?<type>\w+)` \| (?<options>(?:all of )?`.*) \|$/gm)];
  return rows.flatMap(({ groups }) => {
    const { type = '', options = '' } = groups ?? {};
    if (!isOptionsType(type)) return [];
    const [, inherited = '', own = ''] = /^(?:all of ((?:`\w+`(?:, )?)+)(?:: )?)?(.*)$/.exec(options) ?? [];
    const described = listCode(own.replace(/\[[^\]]*\]\([^)]*\)/g, '').replace(/\([^)]*\)/g, ''));
    const named = described.filter((code) => /^\w+(?:\?|: .+)?$/.test(code));
    return {
      types: [type],
      inherited: listCode(inherited),
      defaults: new Map(named.map((code) => [/^\w+/.exec(code)?.[0] ?? code, code.replace(/^\w+/, '')])),
      format: (byDefault) =>
        byDefault === 'required' ? '' : LITERAL.test(byDefault) ? `: ${byDefault}` : '?',
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
    .replace(/^\[\]:? every case .*/, '[]')
    .trim();
}
