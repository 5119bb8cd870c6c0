import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import ts from 'typescript';
import { expect, test } from 'vitest';

// Built by `npm run build`, which `npm test` runs first.
const dist = new URL('../../../dist/', import.meta.url);

interface Bundle {
  /** Its files, parsed. */
  files: ts.SourceFile[];
  /** Its imports of anything but files of the build. */
  foreign: string[];
}

/** Reads a file of the build with all its imports. */
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

/** Returns each name that the code uses and does not declare: what it needs from the runtime. */
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

/** Whether a name is declared here, names a property, belongs to a local value or is exported. */
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

test.each(['schedule.js', 'schedule.cjs'])('%s uses no clock, no randomness and no timers', (name) => {
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
});

test('schedule.cjs runs without a clock, randomness or timers', () => {
  const code = readFileSync(new URL('schedule.cjs', dist), 'utf8');
  const script = `delete globalThis.Date; delete Math.random; const exports = {}; ${code}
    exports.nextDelay({ elapsed: 60000, retryAfter: 9000 })`;
  expect(runInNewContext(script)).toBe(9_000);
});
