export const moduleSystems = ['module', 'commonjs'] as const;
export type ModuleSystem = (typeof moduleSystems)[number];

/** The file name of a program. Its extension selects the module system of the runtime. */
export const fileNames = { module: 'program.mjs', commonjs: 'program.cjs' } as const;

/** Returns the lines that load modules under these names, such as `{ main: 'payment-collection-client' }`. */
export function loading(system: ModuleSystem, modules: Record<string, string>): string {
  const lines = Object.entries(modules).map(([name, path]) =>
    system === 'module' ? `import * as ${name} from '${path}';` : `const ${name} = require('${path}');`,
  );
  return `${lines.join('\n')}\n`;
}
