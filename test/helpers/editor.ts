import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Each library file is read and parsed once for all editors. */
const files = ts.createDocumentRegistry();

/** The strictest consumer: what compiles here compiles anywhere. It has no types of Node. */
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
  /** What the compiler finds wrong, in the consumer's file and in the types it uses. */
  faults: string[];
  /** The packages whose types the consumer's file uses. */
  packages: Set<string>;
  /** What an editor shows for the first place where this text stands; `at` marks the word in it. */
  hover(at: string): Hover;
}

/** Opens a consumer's file beside the built package: what an editor shows of it is what merchants see. */
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
  if (!program) throw new Error('the file cannot be opened');
  const paths = program.getSourceFiles().map(({ fileName }) => fileName);
  return {
    faults: ts.getPreEmitDiagnostics(program).map(({ file: where, messageText }) => {
      return `${where?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    }),
    packages: new Set(paths.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])),
    hover(at) {
      const [before = '', word = ''] = at.split('|');
      const place = text.indexOf(before + word);
      if (place < 0) throw new Error(`nowhere: ${at}`);
      const info = service.getQuickInfoAtPosition(file, place + before.length);
      return {
        type: ts.displayPartsToString(info?.displayParts),
        prose: ts.displayPartsToString(info?.documentation),
      };
    },
  };
}
