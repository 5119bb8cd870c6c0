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
/** Each code with its class and next steps, and each code with its fields. */
const codeRows = rowsOf(sectionOf(page, 'Find an error by its code'));
const fieldRows = rowsOf(sectionOf(page, 'Read the fields of an error'));

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
  for (const rows of [codeRows, fieldRows])
    expect(rows.map(([code = '']) => codeIn(code)[0]).sort()).toEqual(all);
  expect(codeRows.map(([, name = '']) => codeIn(name)[0]).sort()).toEqual([...classes.keys()].sort());
});

test('has a heading for each code on the page of troubleshooting', () => {
  const headings = readPage('docs/troubleshooting.md').matchAll(/^### `(?<code>\w+)`$/gm);
  expect([...headings].map(({ groups }) => groups?.code).sort()).toEqual(all);
});

test.each(codeRows)('gives code and own fields: %s', (code, name) => {
  const [className = ''] = codeIn(name);
  const type = classes.get(className);
  if (!type) throw new Error(`There is no class ${name}.`);
  expect(codeIn(code)).toEqual(literalsOf(type));
  const api = classes.get('APIError');
  const fields = fieldRows.find(([found]) => found === code)?.[3] ?? '';
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

const nextSteps = ['retry', 'correct', 'review', 'check'];

/** Returns the next step of an error with these facts. The class of a code makes no difference to it. */
function nextStepFor(code: string, outcome: Outcome | null, retryable: boolean): NextStep {
  class Made extends PaymentsError {
    static override readonly code = code as PaymentsErrorCode;
  }
  return new Made('', { outcome, retryable }).nextStep;
}

/** Lists the next steps of a code, by the outcomes and the `retryable` that the table of fields gives it. */
function stepsOf(code: string, isRead: boolean): NextStep[] {
  const [, outcome = '', retryable = ''] = fieldRows.find(([found]) => found === code) ?? [];
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
  return [...new Set(found)].sort();
}

test('lists each next step, in the README too', () => {
  const [introduction = ''] = page.split('\n## ');
  expect(rowsOf(introduction).map(([step = '']) => codeIn(step)[0])).toEqual(nextSteps);
  const inReadme = rowsOf(sectionOf(readPage('README.md'), 'Handle errors'));
  expect(inReadme.map(([step = '']) => codeIn(step)[0])).toEqual(nextSteps);
});

test.each(codeRows)('gives the next steps of %s', (code = '', _name, create = '', read = '') => {
  const stepsIn = (cell: string) =>
    codeIn(cell)
      .filter((name) => nextSteps.includes(name))
      .sort();
  expect(stepsIn(create)).toEqual(stepsOf(code, false));
  expect(stepsIn(read)).toEqual(stepsOf(code, true));
});
