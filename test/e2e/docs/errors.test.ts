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
/** Each code with its class, and the next steps of a create and of a read. */
const codeRows = rowsOf(sectionOf(page, 'Find an error by its code'));

const fieldsOf = (type: ts.Type) => publicTypes.getPropertiesOfType(type).map(({ name }) => name);

const union = codes ? publicTypes.getDeclaredTypeOfSymbol(codes.symbol) : undefined;
const all = union?.isUnion()
  ? union.types.map((type) => (type.isStringLiteral() ? type.value : '?')).sort()
  : [];

test('lists each exported error class, with its code, and no other', () => {
  expect(all).toHaveLength(19);
  expect(codeRows.map(([code = '']) => codeIn(code)[0]).sort()).toEqual(all);
  expect(codeRows.map(([, name = '']) => codeIn(name)[0]).sort()).toEqual([...classes.keys()].sort());
});

test('has a heading for each code on the page of troubleshooting', () => {
  const headings = readPage('docs/troubleshooting.md').matchAll(/^### `(?<code>\w+)`$/gm);
  expect([...headings].map(({ groups }) => groups?.code).sort()).toEqual(all);
});

test.each(codeRows)('gives the code of the class: %s', (code, name) => {
  const [className = ''] = codeIn(name);
  const type = classes.get(className);
  if (!type) throw new Error(`There is no class ${name}.`);
  expect(codeIn(code)).toEqual(literalsOf(type));
});

/** The code of a class. That of `APIError` is any code for the types, since it is the class of its subclasses too. */
function literalsOf(type: ts.Type): string[] {
  const property = publicTypes.getPropertyOfType(type, 'code');
  const code = property && publicTypes.getTypeOfSymbol(property);
  return code?.isStringLiteral() ? [code.value] : ['api_error'];
}

test.each(['code', 'nextStep', 'outcome', 'cause', 'requestId'])(
  'names the field of every error: %s',
  (field) => {
    const type = base && publicTypes.getDeclaredTypeOfSymbol(base.symbol);
    expect(type && fieldsOf(type)).toContain(field);
    expect(page).toMatch(new RegExp(`\`(?:error\\.)?${field}\``));
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

/** Codes whose error is `retryable`, always or in some cases. Of the last ones it is so for a read only. */
const RETRYABLE = ['connection_error', 'request_timeout', 'rate_limited', 'server_error', 'wait_timeout'];
const SOMETIMES_RETRYABLE = ['configuration_error', 'journal_error'];
const RETRYABLE_READS = ['api_error', 'unexpected_response'];

/** Lists the next steps of a code with these outcomes, by whether its error is `retryable`. */
function stepsOf(code: string, outcomes: readonly (Outcome | null)[]): NextStep[] {
  const found = outcomes.flatMap((outcome) => {
    const isSometimes =
      (SOMETIMES_RETRYABLE.includes(code) && outcome !== 'unknown') ||
      (RETRYABLE_READS.includes(code) && outcome === null);
    const flags = isSometimes ? [true, false] : [RETRYABLE.includes(code)];
    return flags.map((isRetryable) => nextStepFor(code, outcome, isRetryable));
  });
  return [...new Set(found)].sort();
}

test('lists each next step, in the README too', () => {
  const [introduction = ''] = page.split('\n## ');
  expect(rowsOf(introduction).map(([step = '']) => codeIn(step)[0])).toEqual(nextSteps);
  const inReadme = rowsOf(sectionOf(readPage('README.md'), 'Handle errors'));
  expect(inReadme.map(([step = '']) => codeIn(step)[0])).toEqual(nextSteps);
});

const isOutcome = (name: string): name is Outcome => ['not_sent', 'rejected', 'unknown'].includes(name);

test.each(codeRows)('gives the next steps of %s', (cell = '', _name, create = '', read = '') => {
  const [code = ''] = codeIn(cell);
  const stepsIn = (text: string) =>
    codeIn(text)
      .filter((name) => nextSteps.includes(name))
      .sort();
  expect(stepsIn(create)).toEqual(stepsOf(code, codeIn(create).filter(isOutcome)));
  expect(stepsIn(read)).toEqual(read === '' ? [] : stepsOf(code, [null]));
});
