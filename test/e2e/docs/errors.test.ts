import type ts from 'typescript';
import { expect, test } from 'vitest';
import { entryPoints, listExports, publicTypes } from './public-types.ts';
import { codeIn, readPage, rowsOf, sectionOf } from './tables.ts';

const [main] = entryPoints;
if (!main) throw new Error('The package has no entry point.');
const exported = listExports(main);

/** The name of each error class that has a code of its own, with its type. */
const classes = new Map(
  exported
    .filter(({ name, isValue }) => isValue && name.endsWith('Error') && name !== 'PaymentsError')
    .map(({ name, symbol }) => [name, publicTypes.getDeclaredTypeOfSymbol(symbol)]),
);
const base = exported.find(({ name }) => name === 'PaymentsError');
const codes = exported.find(({ name }) => name === 'PaymentsErrorCode');

const rows = rowsOf(sectionOf(readPage('docs/reference/errors.md'), 'Find an error by its code'));

const fieldsOf = (type: ts.Type) => publicTypes.getPropertiesOfType(type).map(({ name }) => name);
const isPublic = (name: string) => !name.startsWith('__') && !name.startsWith('#');

/** The fields that a class has besides those of every error. */
function ownFields(type: ts.Type): string[] {
  const shared = base ? fieldsOf(publicTypes.getDeclaredTypeOfSymbol(base.symbol)) : [];
  return fieldsOf(type)
    .filter((name) => isPublic(name) && !shared.includes(name))
    .sort();
}

test('lists each exported error class, with its code, and no other', () => {
  const union = codes ? publicTypes.getDeclaredTypeOfSymbol(codes.symbol) : undefined;
  const all = union?.isUnion()
    ? union.types.map((type) => (type.isStringLiteral() ? type.value : '?')).sort()
    : [];
  expect(all).toHaveLength(19);
  expect(rows.map(([code = '']) => codeIn(code)[0]).sort()).toEqual(all);
  expect(rows.map(([, name = '']) => codeIn(name)[0]).sort()).toEqual([...classes.keys()].sort());
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

test.each(['code', 'operation', 'outcome', 'retryable', 'message', 'cause', 'requestId'])(
  'names the field of every error: %s',
  (field) => {
    const type = base && publicTypes.getDeclaredTypeOfSymbol(base.symbol);
    expect(type && fieldsOf(type)).toContain(field);
    expect(readPage('docs/reference/errors.md')).toContain(`\`${field}\``);
  },
);
