import { expect } from 'vitest';
import { payingSandbox, program, project, tool } from './project.ts';
import { run } from './run.ts';

export const moduleSystems = ['module', 'commonjs'] as const;
export type ModuleSystem = (typeof moduleSystems)[number];

/** A runtime from npm that runs a program from a file. */
interface Runtime {
  readonly name: string;
  readonly command: string;
  readonly flags: readonly string[];
}

const deno = (folder: string): Pick<Runtime, 'command' | 'flags'> => ({
  command: tool(`${folder}/deno`),
  flags: ['run', '--node-modules-dir=manual', '--no-remote', '--quiet', '--allow-all'],
});

/** The newest and the oldest version that the README promises of each, and those of Node between them. */
export const runtimes: readonly Runtime[] = [
  ...['22.0', '22', '24', '26'].map((version) => ({
    name: `Node ${version}`,
    command: tool(`node-${version}/bin/node`),
    flags: [],
  })),
  { name: 'Bun 1.4', command: tool('bun/bin/bun.exe'), flags: [] },
  { name: 'Bun 1.1.0', command: tool('bun-1.1/bin/bun'), flags: [] },
  { name: 'Deno 2.9', ...deno('deno') },
  { name: 'Deno 2.0.0', ...deno('deno-2.0') },
];

/** Each runtime whose name matches. */
export const named = (pattern: RegExp) => runtimes.filter(({ name }) => pattern.test(name));

/** Each of these runtimes, with each module system. */
export const withSystems = (of: readonly Runtime[]) =>
  of.flatMap((runtime) => moduleSystems.map((system) => ({ ...runtime, system })));

/** What can be loaded by its name in a program. */
const paths: Record<string, string> = {
  main: 'payment-collection-client',
  schedule: 'payment-collection-client/schedule',
  journals: 'payment-collection-client/journal',
  sqliteJournals: 'payment-collection-client/journal/sqlite',
  testing: 'payment-collection-client/testing',
  node: 'payment-collection-client/node',
  msw: 'msw/node',
  sqlite: 'node:sqlite',
};

/** Returns the lines that load modules under their names. */
export function loading(system: ModuleSystem, names: readonly string[]): string {
  const load = (name: string) =>
    system === 'module'
      ? `import * as ${name} from '${paths[name]}';\n`
      : `const ${name} = require('${paths[name]}');\n`;
  return names.map(load).join('');
}

interface Program {
  /** The names of the modules that it loads. */
  readonly loads?: readonly string[];
  readonly text: string;
  readonly inside?: 'bare' | 'shop' | 'olderShop';
  readonly variables?: Record<string, string>;
}

/** Runs a program, whose extension selects the module system. Returns what it printed. */
export async function runProgram(
  { command, flags, system = 'module' }: Pick<Runtime, 'command' | 'flags'> & { system?: ModuleSystem },
  { loads = [], text, inside = 'bare', variables = {} }: Program,
  ...args: readonly string[]
): Promise<string> {
  const file = system === 'module' ? 'program.mjs' : 'program.cjs';
  const folder = await project({ [file]: loading(system, loads) + text }, inside);
  return run(command, [...flags, file, ...args], folder, variables);
}

const shopModules = ['main', 'schedule', 'journals'];

/** Returns a shop as a program, and what it loads. `run` calls it. */
export const readShop = async (run: (call: string) => string) => ({
  loads: shopModules,
  text: (await program('shop.js')) + run('shop({ main, schedule, journals }'),
});

/** Runs a shop on a new sandbox and checks its results. */
export async function expectShopRun(
  shop: (baseUrl: string, apiKey: string) => Promise<string>,
): Promise<void> {
  const sandbox = await payingSandbox();
  expect(JSON.parse(await shop(sandbox.baseUrl, sandbox.liveKey))).toEqual({
    checkout: true,
    charged: 'processing',
    again: true,
    polls: 2,
    paid: ['success', '25.50', true],
    missing: ['NotFoundError', 404, true, false, true],
    invalid: ['InvalidInputError', 'not_sent', false, true, true],
    schedule: [true, 9_000],
  });
  expect(sandbox.charges).toHaveLength(1);
}
