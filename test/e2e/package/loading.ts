export const moduleSystems = ['module', 'commonjs'] as const;
export type ModuleSystem = (typeof moduleSystems)[number];

/** The name of a program's file, by which a runtime knows how to load it. */
export const fileNames = { module: 'program.mjs', commonjs: 'program.cjs' } as const;

/** The lines that load modules, each under a name: `{ main: 'payment-collection-client' }`. */
export function loading(system: ModuleSystem, modules: Record<string, string>): string {
  const lines = Object.entries(modules).map(([name, path]) =>
    system === 'module' ? `import * as ${name} from '${path}';` : `const ${name} = require('${path}');`,
  );
  return `${lines.join('\n')}\n`;
}
