import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';
import { type Block, findFile } from './blocks.ts';
import { root } from './pages.ts';

/** The repository's options. But a page can show a value that is not used. */
const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
const options: ts.CompilerOptions = {
  ...ts.parseJsonConfigFileContent(config, ts.sys, root).options,
  noUnusedLocals: false,
  noUnusedParameters: false,
  // A file of a page has another name here.
  rewriteRelativeImportExtensions: false,
};

/** Declares for a block the members of the interface `Names` in a file of this folder, and others that it inherits. */
export function assuming(file: string, inherited: readonly string[] = []): string {
  const source = readFileSync(new URL(file, import.meta.url), 'utf8');
  const [, members = ''] = /^export interface Names [^{]*\{\n(.*?)^\}$/ms.exec(source) ?? [];
  const own = [...members.matchAll(/^ {2}(?<name>\w+)[(:]/gm)].map(({ groups }) => groups?.name ?? '');
  const declared = [...inherited, ...own].map((name) => `  const ${name}: Names['${name}'];`);
  return [`import type { Names } from '${file}';`, 'declare global {', ...declared, '}'].join('\n');
}

/** Returns the block as a file with the same line numbers as its page. */
function toFile({ line, code }: Block): string {
  return `export {};${'\n'.repeat(line - 1)}${code}`;
}

/**
 * Lists the compiler's errors in each block, with the built package: `README.md:57 Cannot find name …`. A block can import
 * the files of its page. Other packages are those of the root, or of `packages`, the path of a file in another folder.
 */
export function faultsOf(
  blocks: readonly Block[],
  assumed = 'export {};',
  packages?: string,
): Map<Block, string[]> {
  const named = new Map(
    blocks.map((block) => [
      `${root}test/e2e/docs/${block.page.replaceAll('/', '-')}.${block.line}.ts`,
      block,
    ]),
  );
  const texts = new Map([...named].map(([name, block]) => [name, toFile(block)]));
  texts.set(`${root}test/e2e/docs/assumed.ts`, assumed);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (name) => texts.has(name) || fileExists(name);
  host.readFile = (name) => texts.get(name) ?? readFile(name);
  host.getSourceFile = (name, language, ...rest) => {
    const text = texts.get(name);
    return text === undefined
      ? getSourceFile(name, language, ...rest)
      : ts.createSourceFile(name, text, language, true);
  };
  const nameOf = new Map([...named].map(([name, block]) => [block, name]));
  const cache = ts.createModuleResolutionCache(root, (name) => name, options);
  host.resolveModuleNameLiterals = (literals, containingFile, redirected, ownOptions, file) =>
    literals.map(({ text }, index) => {
      const literal = literals[index] as ts.StringLiteralLike;
      const mode = ts.getModeForUsageLocation(file, literal, ownOptions);
      const block = named.get(containingFile);
      if (!block) {
        return ts.resolveModuleName(text, containingFile, ownOptions, host, cache, redirected, mode);
      }
      const shown = nameOf.get(findFile(block, text, blocks) ?? block);
      if (shown !== undefined && shown !== containingFile) {
        return { resolvedModule: { resolvedFileName: shown, extension: ts.Extension.Ts } };
      }
      const from = packages !== undefined && isOtherPackage(text) ? packages : containingFile;
      return ts.resolveModuleName(resolveExample(text), from, ownOptions, host, cache, redirected, mode);
    });
  const program = ts.createProgram([...texts.keys()], options, host);
  const others = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
  if (others.length > 0) throw new Error(others.map(textOf).join('\n'));
  return new Map([...named].map(([name, block]) => [block, faultsIn(program, name, block.page)]));
}

/** Whether a block imports it from a package that is not this one. */
export function isOtherPackage(specifier: string): boolean {
  return !/^(?:\.|node:|payment-collection-client(?:\/|$))/.test(specifier);
}

/** A page shows the import of a file that a reader has copied: `./journals/mongodb.ts` of the folder `examples`. */
export function resolveExample(specifier: string): string {
  return specifier.startsWith('./journals/') ? `${root}examples/${specifier.slice(2)}` : specifier;
}

function faultsIn(program: ts.Program, name: string, page: string): string[] {
  const file = program.getSourceFile(name);
  if (!file) throw new Error(`${basename(name)} was not compiled`);
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((fault) => {
    const { line } = file.getLineAndCharacterOfPosition(fault.start ?? 0);
    return `${page}:${line + 1} ${textOf(fault)}`;
  });
}

function textOf({ messageText }: ts.Diagnostic): string {
  return ts.flattenDiagnosticMessageText(messageText, ' ');
}
