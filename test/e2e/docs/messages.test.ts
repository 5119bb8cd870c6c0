import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { REASONS } from '../../../src/operators/words.ts';
import { codeIn, fencedIn, readPage, rowsOf, sectionOf } from './tables.ts';

/** The texts of the code, longest first: literals, and the parts of templates between two values. */
const texts = globSync('src/**/*.ts')
  .flatMap((path) => listTexts(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)))
  .filter((text) => text.length > 3)
  .sort((a, b) => b.length - a.length);

function listTexts(node: ts.Node): string[] {
  const found: string[] = [];
  ts.forEachChild(node, (child) => void found.push(...listTexts(child)));
  const isText =
    ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
  return isText ? [node.text.trim(), ...found] : found;
}

/** Returns the words of a message that no text of the code has. The cause in brackets is of a runtime or of a shop. */
function listOtherWords(message: string): string[] {
  const own = message.replace(/\((?:connect )?[A-Z_]{5,}.*?\)(?=\.)|(?<=Error: ).*(?=, key)/, '()');
  return texts.reduce((rest, text) => rest.replaceAll(text, ' '), own).match(/[A-Za-z]{3,}/g) ?? [];
}

const messages = fencedIn(readPage('docs/troubleshooting.md'), 'text').flatMap((lines) =>
  lines.trim().split('\n'),
);

test('quotes the messages of the code in troubleshooting', () => {
  expect(messages.length).toBeGreaterThan(15);
  const values = ['key', 'network', 'mtn', 'apikey', 'example', 'mjs'];
  expect(
    messages.filter((message) => listOtherWords(message).some((word) => !values.includes(word))),
  ).toEqual([]);
});

test('quotes the messages of the code in the runbook', () => {
  const said = rowsOf(sectionOf(readPage('docs/runbook.md'), 'If resolve refuses')).flatMap(([cell = '']) =>
    codeIn(cell),
  );
  expect(said.length).toBeGreaterThan(5);
  const isOfCode = (part: string) => texts.some((text) => text.includes(part.trim()));
  expect(said.filter((message) => !message.split('…').every(isOfCode))).toEqual([]);
});

test('begins the runbook with every reason that needs a person', () => {
  const rows = rowsOf(sectionOf(readPage('docs/runbook.md'), 'Decide by its reason'));
  expect(rows.flatMap(([reason = '']) => codeIn(reason))).toEqual(Object.keys(REASONS));
});
