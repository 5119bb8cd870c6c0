/** Loads the source so that each function says when it is called: `--import ./test/walks/trace.ts`. */

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const SOURCE = new URL('../../src/', import.meta.url).href;

const calls: string[] = [];
Reflect.set(globalThis, 'enterFile', (file: string) => void calls.push(file));

/** Runs a call, and returns the files of the functions that it entered, in order. */
export async function traceCall(call: () => Promise<unknown>): Promise<string[]> {
  calls.length = 0;
  await call();
  return [...calls];
}

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(SOURCE) || !url.endsWith('.ts')) return nextLoad(url, context);
    const text = readFileSync(fileURLToPath(url), 'utf8');
    const traced = addCalls(text, url.slice(SOURCE.length));
    const { outputText } = ts.transpileModule(traced, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext },
    });
    return { format: 'module', source: outputText, shortCircuit: true };
  },
});

/** Puts a statement at the start of each function that has a body. One without is an expression of its caller. */
function addCalls(text: string, file: string): string {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const starts: number[] = [];
  const visit = (node: ts.Node): void => {
    const body = isFunction(node) ? node.body : undefined;
    if (body && ts.isBlock(body)) starts.push(body.getStart() + 1);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return starts
    .sort((a, b) => b - a)
    .reduce((all, at) => `${all.slice(0, at)}enterFile(${JSON.stringify(file)});${all.slice(at)}`, text);
}

const isFunction = (node: ts.Node) =>
  ts.isFunctionDeclaration(node) ||
  ts.isFunctionExpression(node) ||
  ts.isArrowFunction(node) ||
  ts.isMethodDeclaration(node) ||
  ts.isConstructorDeclaration(node) ||
  ts.isAccessor(node);
