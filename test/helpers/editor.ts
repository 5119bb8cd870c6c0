import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Parses each library file once for all editors. */
const files = ts.createDocumentRegistry();

/** The strictest consumer: what compiles here compiles everywhere. It has no types of Node. */
const strictest: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  isolatedModules: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  noEmit: true,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
  types: [],
};

interface Hover {
  /** The type, as an editor shows it. */
  type: string;
  /** The prose below it. */
  prose: string;
}

export interface Editor {
  /** The compiler's errors in the consumer's file and in the types that it uses. */
  faults: string[];
  /** The packages whose types the consumer's file uses. */
  packages: Set<string>;
  /** Returns what an editor shows for the first match of this text. A `|` in `at` marks the start of the word. */
  hover(at: string): Hover;
}

/** Opens a consumer's file beside the built package. An editor shows merchants the same. */
export function openInEditor(name: string, text: string, options: ts.CompilerOptions = {}): Editor {
  const file = `${root}test/unit/types/${name}`;
  const read = (path: string) => (path === file ? text : ts.sys.readFile(path));
  const host: ts.LanguageServiceHost = {
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const content = read(path);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => ({ ...strictest, ...options }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => path === file || ts.sys.fileExists(path),
    readFile: read,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  };
  const service = ts.createLanguageService(host, files);
  const program = service.getProgram();
  if (!program) throw new Error('The file cannot be opened.');
  const paths = program.getSourceFiles().map(({ fileName }) => fileName);
  return {
    faults: ts.getPreEmitDiagnostics(program).map(({ file: where, messageText }) => {
      return `${where?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    }),
    packages: new Set(paths.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])),
    hover(at) {
      const [before = '', word = ''] = at.split('|');
      const position = text.indexOf(before + word);
      if (position < 0) throw new Error(`No match for ${at}.`);
      const info = service.getQuickInfoAtPosition(file, position + before.length);
      return {
        type: ts.displayPartsToString(info?.displayParts),
        prose: ts.displayPartsToString(info?.documentation),
      };
    },
  };
}
