import { stripTypeScriptTypes } from 'node:module';
import ts from 'typescript';

/**
 * Returns a module as the body of an async function that returns its exports. No line moves: types become blanks, and an
 * import stays on its line. `load` returns the expression that imports a specifier.
 */
export function toFunctionBody(code: string, load: (specifier: string) => string): string {
  let script = stripTypeScriptTypes(code);
  const file = ts.createSourceFile('block.js', script, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  const edits = file.statements.flatMap((statement) => editOf(statement, load) ?? []);
  // From the last one up, so that the positions of those above stay.
  for (const { start, end, text } of edits.toReversed()) {
    const lines = script.slice(start, end).replace(/[^\n]/g, '');
    script = script.slice(0, start) + text + lines + script.slice(end);
  }
  return `${script}\nreturn { ${edits.flatMap(({ exported }) => exported).join(', ')} };`;
}

/** What comes instead of a part of the script, and what it exports, as in an object. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly exported: readonly string[];
}

function editOf(statement: ts.Statement, load: (specifier: string) => string): Edit | undefined {
  const start = statement.getStart();
  const { end } = statement;
  if (ts.isImportDeclaration(statement) && ts.isStringLiteral(statement.moduleSpecifier)) {
    const loaded = `await ${load(statement.moduleSpecifier.text)};`;
    const { importClause } = statement;
    const text = importClause ? `const ${patternOf(importClause)} = ${loaded}` : loaded;
    return { start, end, text, exported: [] };
  }
  if (ts.isExportAssignment(statement)) {
    const value = statement.expression.getStart();
    return { start, end: value, text: 'const defaultExport = ', exported: ['default: defaultExport'] };
  }
  if (ts.isExportDeclaration(statement)) return { start, end, text: '', exported: listExported(statement) };
  return editOfDeclaration(statement);
}

function listExported({ exportClause, moduleSpecifier }: ts.ExportDeclaration): string[] {
  if (moduleSpecifier || !exportClause || !ts.isNamedExports(exportClause)) {
    throw new SyntaxError('A block cannot export what another file exports');
  }
  return exportClause.elements.map(
    ({ name, propertyName }) => `${name.text}: ${(propertyName ?? name).text}`,
  );
}

/** Takes `export` or `export default` from a declaration. */
function editOfDeclaration(statement: ts.Statement): Edit | undefined {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
  const last = modifiers.findLast(({ kind }) => EXPORT_KEYWORDS.has(kind));
  if (!last) return;
  const range = { start: statement.getStart(), end: last.end };
  const names = namesOf(statement);
  if (last.kind !== ts.SyntaxKind.DefaultKeyword) return { ...range, text: '', exported: names };
  const [name] = names;
  return name === undefined
    ? { ...range, text: 'const defaultExport = ', exported: ['default: defaultExport'] }
    : { ...range, text: '', exported: [`default: ${name}`] };
}

const EXPORT_KEYWORDS = new Set([ts.SyntaxKind.ExportKeyword, ts.SyntaxKind.DefaultKeyword]);

/** Returns what is left of the `=` for what an import binds. */
function patternOf({ name, namedBindings }: ts.ImportClause): string {
  if (namedBindings && ts.isNamespaceImport(namedBindings)) return namedBindings.name.text;
  const bound = (namedBindings?.elements ?? []).map(({ propertyName, name: own }) =>
    propertyName ? `${propertyName.getText()}: ${own.text}` : own.text,
  );
  return `{ ${[...(name ? [`default: ${name.text}`] : []), ...bound].join(', ')} }`;
}

/** Lists the names that a statement declares. */
function namesOf(statement: ts.Statement): string[] {
  const ofBinding = (name: ts.BindingName): string[] =>
    ts.isIdentifier(name)
      ? [name.text]
      : name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : ofBinding(element.name)));
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => ofBinding(name));
  }
  const isNamed = ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement);
  return isNamed && statement.name ? [statement.name.text] : [];
}
