import { stripTypeScriptTypes } from 'node:module';
import { inspect } from 'node:util';
import { compileFunction, constants } from 'node:vm';
import type { Block } from './blocks.ts';
import { root } from './pages.ts';

const IMPORT = /^import (?<what>\{[^}]*\}|\w+) from '(?<from>[^'\n]+)';$/gm;

/** A block is run as a function, which exports nothing. */
const EXPORT = /^export (?=const |function |async )/gm;

/** What a block printed, with the line of the page. */
export interface Print {
  readonly line: number;
  readonly text: string;
}

/**
 * Runs a block as a module, with the built package and the line numbers of its page. Names that it declares hide the given
 * ones. `resolve` returns what is imported instead of a package.
 */
export async function runBlock(
  block: Block,
  names: object,
  resolve = (specifier: string) => specifier,
): Promise<Print[]> {
  const { page, line, code } = block;
  const printed: Print[] = [];
  const print = (...values: unknown[]) => {
    printed.push({ line: findLine(new Error('here'), page), text: values.map(formatValue).join(' ') });
  };
  const given = new Map<string, unknown>(Object.entries(names));
  given.set('console', { log: print, debug: print, info: print, warn: print, error: print });
  // Types become blanks and imports stay on their lines, so that no line moves.
  const script = stripTypeScriptTypes(code.replace(EXPORT, '       ')).replace(
    IMPORT,
    (_, what: string, from: string) => {
      const wanted = what.startsWith('{') ? what.replaceAll(' as ', ': ') : `{ default: ${what} }`;
      return `const ${wanted} = await import(${JSON.stringify(resolve(from))});`;
    },
  );
  try {
    const run = compileFunction(`return (async () => {${script}\n})();`, [...given.keys()], {
      filename: root + page,
      lineOffset: line - 1,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    await run(...given.values());
  } catch (error) {
    throw new Error(`${page}:${findLine(error, page) || line} ${error}`, { cause: error });
  }
  return printed;
}

/** Returns the line of the page in an error's stack, or 0 without one. */
function findLine(error: unknown, page: string): number {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const [, after = ''] = stack.split(`${root}${page}:`);
  return Number.parseInt(after, 10) || 0;
}

/** Formats a printed value. A single text is quoted, as on the pages. */
function formatValue(value: unknown, _: number, values: unknown[]): string {
  return typeof value === 'string' && values.length > 1 ? value : inspect(value, { breakLength: Infinity });
}

/** Lists wrong comments about printed values. `console.log(x); // 1: why` states that the line prints `1`. */
export function findFalseComments({ page, line, code }: Block, printed: readonly Print[]): string[] {
  return code.split('\n').flatMap((text, index) => {
    const said = /console\.log\(.*\/\/ (?<said>.+)$/.exec(text)?.groups?.said;
    if (said === undefined) return [];
    const here = printed.filter((print) => print.line === line + index).map((print) => print.text);
    const holds = here.length > 0 && here.every((print) => said === print || said.startsWith(`${print}: `));
    return holds ? [] : [`${page}:${line + index} says ${said}, but prints ${here.join(', ') || 'nothing'}`];
  });
}
