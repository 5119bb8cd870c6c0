/** Finds faults that do not compile: a fault must be found by a test, not by its types. */

import ts from 'typescript';
import type { Fault } from './faults.ts';

/** What a fault may leave behind: imports and variables that nothing uses any more, and code that is not reached. */
const LEFT_OVER = [6133, 6192, 6196, 6198, 7027];

/** Returns what checks one file with other text in it. All checks share one program. */
export function createTypeCheck(): (fault: Fault, text: string) => string[] {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: ['src'] }, ts.sys, process.cwd());
  const files = ts.sys.readDirectory('src', ['.ts']);
  const changed = new Map<string, { text: string; version: number }>();
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => files,
    getScriptVersion: (name) => String(changed.get(toRelative(name))?.version ?? 0),
    getScriptSnapshot(name) {
      const text = changed.get(toRelative(name))?.text || ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  });
  return ({ file }, text) => {
    const version = (changed.get(file)?.version ?? 0) + 1;
    changed.set(file, { text, version });
    const found = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)];
    changed.set(file, { text: '', version: version + 1 });
    return found
      .filter(({ code }) => !LEFT_OVER.includes(code))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  };
}

const toRelative = (name: string) => name.replace(`${process.cwd()}/`, '');
