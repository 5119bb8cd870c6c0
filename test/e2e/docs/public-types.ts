import ts from 'typescript';
import packageJson from '../../../package.json' with { type: 'json' };
import { root } from './pages.ts';

/** An entry point of the package: `.`, `./journal` and so on. */
export interface EntryPoint {
  readonly path: string;
  /** What a merchant imports. */
  readonly specifier: string;
  /** The built declarations. */
  readonly types: string;
}

export const entryPoints: EntryPoint[] = Object.entries(packageJson.exports).flatMap(([path, target]) =>
  typeof target === 'string'
    ? []
    : [{ path, specifier: path.replace('.', 'payment-collection-client'), types: target.import.types }],
);

const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
const program = ts.createProgram(
  entryPoints.map(({ types }) => root + types),
  options,
);

/** The types of the built package, as a merchant's editor has them. Build it first: `npm run build`. */
export const publicTypes = program.getTypeChecker();

export interface Export {
  readonly name: string;
  /** What the name stands for, if it is exported from another file. */
  readonly symbol: ts.Symbol;
  readonly isValue: boolean;
}

/** Lists what an entry point exports. */
export function listExports({ types }: EntryPoint): Export[] {
  const file = program.getSourceFile(root + types);
  const module = file && publicTypes.getSymbolAtLocation(file);
  if (!module) throw new Error(`${types} is not there: npm run build`);
  return publicTypes.getExportsOfModule(module).map((found) => {
    const isAlias = (found.flags & ts.SymbolFlags.Alias) !== 0;
    const symbol = isAlias ? publicTypes.getAliasedSymbol(found) : found;
    return { name: found.name, symbol, isValue: (symbol.flags & ts.SymbolFlags.Value) !== 0 };
  });
}
