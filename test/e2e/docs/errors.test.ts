import type ts from 'typescript';
import { expect, test } from 'vitest';
import { type NextStep, type Outcome, PaymentsError, type PaymentsErrorCode } from '../../../src/errors.ts';
import { entryPoints, listExports, publicTypes } from './public-types.ts';
import { codeIn, readPage, rowsOf, sectionOf } from './tables.ts';

const [main] = entryPoints;
if (!main) throw new Error('The package has no entry point.');
const exported = listExports(main);

/** The name of each error class that has a code of its own, with its type. */
const classes = new Map(
  exported
    .filter(({ name, isValue }) => isValue && /^[A-Z]\w*(?<!Payments)Error$/.test(name))
    .map(({ name, symbol }) => [name, publicTypes.getDeclaredTypeOfSymbol(symbol)]),
);
const base = exported.find(({ name }) => name === 'PaymentsError');
const codes = exported.find(({ name }) => name === 'PaymentsErrorCode');

const page = readPage('docs/reference/errors.md');

/** The second table says what the first one has no room for on a phone. */
const tables = rowsOf(sectionOf(page, 'Find an error by its code'));
const facts = tables.filter((row) => row.length === 4);
const rows = tables
  .filter((row) => row.length === 3)
  .map((row) => [...row, ...(facts.find(([code]) => code === row[0])?.slice(1) ?? [])]);

const fieldsOf = (type: ts.Type) => publicTypes.getPropertiesOfType(type).map(({ name }) => name);
const isPublic = (name: string) => !name.startsWith('__') && !name.startsWith('#');

/** The fields that a class has besides those of every error. */
function ownFields(type: ts.Type): string[] {
  const shared = base ? fieldsOf(publicTypes.getDeclaredTypeOfSymbol(base.symbol)) : [];
  return fieldsOf(type)
    .filter((name) => isPublic(name) && !shared.includes(name))
    .sort();
}

const union = codes ? publicTypes.getDeclaredTypeOfSymbol(codes.symbol) : undefined;
const all = union?.isUnion()
  ? union.types.map((type) => (type.isStringLiteral() ? type.value : '?')).sort()
  : [];

test('lists each exported error class, with its code, and no other', () => {
  expect(all).toHaveLength(19);
  for (const table of [rows, facts]) expect(table.map(([code = '']) => codeIn(code)[0]).sort()).toEqual(all);
  expect(rows.map(([, name = '']) => codeIn(name)[0]).sort()).toEqual([...classes.keys()].sort());
});

test('has a heading for each code on the page of troubleshooting', () => {
  const headings = readPage('docs/troubleshooting.md').matchAll(/^### `(?<code>\w+)`$/gm);
  expect([...headings].map(({ groups }) => groups?.code).sort()).toEqual(all);
});

test.each(rows)('gives code and own fields: %s', (code, name, _thrownBy, _outcome, _retryable, fields) => {
  const [className = ''] = codeIn(name);
  const type = classes.get(className);
  if (!type) throw new Error(`There is no class ${name}.`);
  expect(codeIn(code)).toEqual(literalsOf(type));
  const api = classes.get('APIError');
  if (fields === 'as `APIError`') expect(ownFields(type)).toEqual(api && ownFields(api));
  else expect(codeIn(fields).sort()).toEqual(ownFields(type));
});

/** The code of a class. That of `APIError` is any code for the types, since it is the class of its subclasses too. */
function literalsOf(type: ts.Type): string[] {
  const property = publicTypes.getPropertyOfType(type, 'code');
  const code = property && publicTypes.getTypeOfSymbol(property);
  return code?.isStringLiteral() ? [code.value] : ['api_error'];
}

test.each(['code', 'nextStep', 'operation', 'outcome', 'retryable', 'message', 'cause', 'requestId'])(
  'names the field of every error: %s',
  (field) => {
    const type = base && publicTypes.getDeclaredTypeOfSymbol(base.symbol);
    expect(type && fieldsOf(type)).toContain(field);
    expect(page).toContain(`\`${field}\``);
  },
);

const [introduction = ''] = page.split('\n## ');
const steps = rowsOf(introduction);

/** Returns the next step of an error with these facts. The class of a code makes no difference to it. */
function nextStepFor(code: string, outcome: Outcome | null, retryable: boolean): NextStep {
  class Made extends PaymentsError {
    static override readonly code = code as PaymentsErrorCode;
  }
  return new Made('', { outcome, retryable }).nextStep;
}

/** Lists the codes that have this next step, by the outcomes and the `retryable` that the table of codes gives them. */
function codesWith(step: string, isRead: boolean): string[] {
  return rows.flatMap(([code = '', , , outcome = '', retryable = '']) => {
    const given = (cell: string) => {
      const [create = '', read] = cell.split('; read:');
      return { create: codeIn(create), read: codeIn(read ?? create) };
    };
    const outcomes = isRead
      ? given(outcome).read.filter((name) => name === 'null')
      : given(outcome).create.filter((name) => name !== 'null');
    const flags = isRead ? codeIn(retryable) : given(retryable).create;
    const found = outcomes.flatMap((name) =>
      flags.map((flag) =>
        nextStepFor(codeIn(code)[0] ?? '', name === 'null' ? null : (name as Outcome), flag === 'true'),
      ),
    );
    return found.includes(step as NextStep) ? codeIn(code) : [];
  });
}

test('lists each next step, in the README too', () => {
  const all = ['retry', 'correct', 'review', 'check'];
  expect(steps.map(([step = '']) => codeIn(step)[0])).toEqual(all);
  const inReadme = rowsOf(sectionOf(readPage('README.md'), 'Handle errors'));
  expect(inReadme.map(([step = '']) => codeIn(step)[0])).toEqual(all);
});

test.each(steps)('lists the errors with the next step %s', (step = '', _meaning, create = '', read = '') => {
  const isCode = (text: string) => rows.some(([code = '']) => codeIn(code)[0] === text);
  const [name = ''] = codeIn(step);
  expect(codeIn(create).filter(isCode).sort()).toEqual(codesWith(name, false).sort());
  expect(codeIn(read).filter(isCode).sort()).toEqual(codesWith(name, true).sort());
});
