import { stripTypeScriptTypes } from 'node:module';
import { inspect } from 'node:util';
import { compileFunction, constants } from 'node:vm';
import type { Block } from './blocks.ts';
import { root } from './pages.ts';

const IMPORT = /^import (?<what>\{[^}]*\}|\w+) from (?<from>'[^'\n]+');$/gm;

/** One line that a block printed, and where. */
export interface Print {
  readonly line: number;
  readonly text: string;
}

/**
 * Runs a block as a module: its imports by Node itself, so of the package as built, and each line where it stands on the
 * page. Names that it declares itself hide those it is given.
 */
export async function runBlock(block: Block, names: object): Promise<Print[]> {
  const { page, line, code } = block;
  const printed: Print[] = [];
  const print = (...values: unknown[]) => {
    printed.push({ line: lineOf(new Error('here'), page), text: values.map(textOf).join(' ') });
  };
  const given = new Map<string, unknown>(Object.entries(names));
  given.set('console', { log: print, info: print, warn: print, error: print });
  // The types leave blanks behind, and an import stays on its lines: nothing moves.
  const script = stripTypeScriptTypes(code).replace(IMPORT, (_, what: string, from: string) => {
    const wanted = what.startsWith('{') ? what.replaceAll(' as ', ': ') : `{ default: ${what} }`;
    return `const ${wanted} = await import(${from});`;
  });
  try {
    const run = compileFunction(`return (async () => {${script}\n})();`, [...given.keys()], {
      filename: root + page,
      lineOffset: line - 1,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    await run(...given.values());
  } catch (error) {
    throw new Error(`${page}:${lineOf(error, page) || line} ${error}`, { cause: error });
  }
  return printed;
}

/** Where in the page this came from; 0 where it did not. */
function lineOf(error: unknown, page: string): number {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const [, after = ''] = stack.split(`${root}${page}:`);
  return Number.parseInt(after, 10) || 0;
}

/** Text alone is quoted, as the pages write it; within a line it is not. */
function textOf(value: unknown, _: number, values: unknown[]): string {
  return typeof value === 'string' && values.length > 1 ? value : inspect(value, { breakLength: Infinity });
}

/**
 * What a page says that a line prints and it does not. `console.log(x); // 1: why` says that it prints `1`, with or
 * without a reason behind it.
 */
export function falseComments({ page, line, code }: Block, printed: readonly Print[]): string[] {
  return code.split('\n').flatMap((text, index) => {
    const said = /console\.log\(.*\/\/ (?<said>.+)$/.exec(text)?.groups?.said;
    if (said === undefined) return [];
    const here = printed.filter((print) => print.line === line + index).map((print) => print.text);
    const holds = here.length > 0 && here.every((print) => said === print || said.startsWith(`${print}: `));
    return holds ? [] : [`${page}:${line + index} says ${said}, but prints ${here.join(', ') || 'nothing'}`];
  });
}
