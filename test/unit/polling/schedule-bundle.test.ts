import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import ts from 'typescript';
import { expect, test } from 'vitest';

// Made by `npm run build`, which `npm test` runs first.
const dist = new URL('../../../dist/', import.meta.url);

interface Bundle {
  /** The files that it is made of, parsed. */
  files: ts.SourceFile[];
  /** What it imports that is not a file of the build. */
  foreign: string[];
}

/** A file of the build with all that it imports. */
function bundleOf(name: string, bundle: Bundle = { files: [], foreign: [] }): Bundle {
  if (bundle.files.some(({ fileName }) => fileName === name)) return bundle;
  const text = readFileSync(new URL(name, dist), 'utf8');
  bundle.files.push(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS));
  for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
    if (fileName.startsWith('./')) bundleOf(fileName.slice(2), bundle);
    else bundle.foreign.push(fileName);
  }
  return bundle;
}

/** Every name that the code uses and does not give itself: what it takes from the runtime. */
function globalsOf(files: ts.SourceFile[]): string[] {
  const used = new Set<string>();
  const own = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) (isOwn(node) ? own : used).add(nameOf(node));
    ts.forEachChild(node, visit);
  };
  for (const file of files) visit(file);
  return [...used].filter((name) => !own.has(name));
}

/** What is declared, what names a property, what belongs to a value that was made here, and what is handed on by name. */
function isOwn(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && ts.isArrayLiteralExpression(parent.expression)) return true;
  if (ts.isExportSpecifier(parent) || ts.isImportSpecifier(parent)) return true;
  if (ts.isBindingElement(parent)) return parent.name === node || parent.propertyName === node;
  const declares =
    ts.isVariableDeclaration(parent) ||
    ts.isFunctionDeclaration(parent) ||
    ts.isParameter(parent) ||
    ts.isPropertyAssignment(parent);
  return declares && parent.name === node;
}

function nameOf(node: ts.Identifier): string {
  const { parent } = node;
  return ts.isPropertyAccessExpression(parent) && parent.name === node
    ? parent.getText().replace(/\s/g, '')
    : node.text;
}

test.each(['schedule.js', 'schedule.cjs'])('%s imports nothing but files of the build', (name) => {
  expect(bundleOf(name).foreign).toEqual([]);
});

test.each(['schedule.js', 'schedule.cjs'])(
  '%s takes nothing from the runtime but arithmetic: no clock, no chance, no timers',
  (name) => {
    const taken = globalsOf(bundleOf(name).files).filter(
      (global) => !/^(?:exports|(?:exports|defaultSchedule|finalStatuses|given)\..*)$/.test(global),
    );
    expect(taken.sort()).toEqual([
      'Math',
      'Math.ceil',
      'Math.floor',
      'Math.max',
      'Math.min',
      'Math.sqrt',
      'Number',
      'Number.isNaN',
      'RangeError',
    ]);
  },
);

test('schedule.cjs runs where there is no clock, no chance and no timer, as in the sandbox of an engine', () => {
  const code = readFileSync(new URL('schedule.cjs', dist), 'utf8');
  const script = `delete globalThis.Date; delete Math.random; const exports = {}; ${code}
    exports.nextDelay({ elapsed: 60000, retryAfter: 9000 })`;
  expect(runInNewContext(script)).toBe(9_000);
});
