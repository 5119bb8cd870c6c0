import { inspect } from 'node:util';
import { compileFunction, constants } from 'node:vm';
import { type Block, findFile } from './blocks.ts';
import { root } from './pages.ts';
import { toFunctionBody } from './to-function-body.ts';

/** What a block printed, with the line of the page. */
export interface Print {
  readonly line: number;
  readonly text: string;
}

interface RunOptions {
  /** The blocks of the page: those that are files can be imported. */
  readonly blocks?: readonly Block[];
  /** Returns what is imported instead of a package. */
  resolve?(specifier: string): string;
  /** Is called after each line that is printed. */
  onPrint?(): void;
}

/**
 * Runs a block as a module, with the built package and the line numbers of its page. A file of the page that it imports is
 * run first. Returns what all of them printed.
 */
export async function runBlock(
  block: Block,
  { blocks = [], resolve = (specifier) => specifier, onPrint }: RunOptions = {},
): Promise<Print[]> {
  const { page } = block;
  const printed: Print[] = [];
  const print = (...values: unknown[]) => {
    printed.push({ line: findLine(new Error('here'), page), text: values.map(formatValue).join(' ') });
    onPrint?.();
  };
  const console = { log: print, debug: print, info: print, warn: print, error: print };
  const modules = new Map<Block, Promise<object>>();
  /** Runs a block once, however many others import it. */
  const load = (file: Block): Promise<object> => {
    const before = modules.get(file);
    if (before) return before;
    const module = evaluate(file);
    modules.set(file, module);
    return module;
  };
  const evaluate = async (file: Block): Promise<object> => {
    const { line, code } = file;
    const find = (specifier: string) => findFile(file, specifier, blocks);
    const body = toFunctionBody(code, (specifier) =>
      find(specifier)
        ? `importFile(${JSON.stringify(specifier)})`
        : `import(${JSON.stringify(resolve(specifier))})`,
    );
    const importFile = (specifier: string) => load(find(specifier) ?? file);
    try {
      const run = compileFunction(`return (async () => {${body}\n})();`, ['console', 'importFile'], {
        filename: root + page,
        lineOffset: line - 1,
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
      return await run(console, importFile);
    } catch (error) {
      if (error instanceof BlockError) throw error;
      throw new BlockError(`${page}:${findLine(error, page) || line} ${error}`, { cause: error });
    }
  };
  await load(block);
  return printed;
}

/** An error of a block, with its line of the page. */
class BlockError extends Error {}

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
