import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { createMerchantProject } from '../../../helpers/installed-package.ts';
import { API_KEY } from '../../../helpers/service.ts';

const COMMAND = 'node_modules/payment-collection-client/dist/payment-journal.js';

/** A merchant's project with the built package, in which the command is run as its own process. */
export interface Project {
  readonly folder: string;
  write(file: string, text: string): Promise<void>;
  /** Starts the command. `nodeArgs` are for Node itself. */
  start(args: readonly string[], options?: StartOptions): ReturnType<typeof startProcess>;
  /** Runs the command to its end. */
  run(args: readonly string[], options?: StartOptions): Promise<ProcessEnd>;
}

interface StartOptions {
  readonly nodeArgs?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export interface ProcessEnd {
  code: unknown;
  out: string;
  err: string;
}

export async function createProject(
  files: Readonly<Record<string, string>>,
  ...packages: string[]
): Promise<Project> {
  const folder = await createMerchantProject(...packages);
  const write = (file: string, text: string) => writeFile(join(folder, file), text);
  for (const [file, text] of Object.entries(files)) await write(file, text);
  const start: Project['start'] = (args, { nodeArgs = [], env = {} } = {}) =>
    startProcess(process.execPath, [...nodeArgs, COMMAND, ...args], folder, env);
  return { folder, write, start, run: (args, options) => start(args, options).ended };
}

const endsSchema = z.array(z.object({ code: z.number(), out: z.string(), err: z.string() }));

/**
 * Runs the commands one after the other in one process, each `[project, ...args]`. That is enough for what the loader of
 * Node and the journal do. What the command does as a process of its own is tested with `Project.run`.
 */
export async function runInOneProcess(
  commands: readonly (readonly [Project, ...string[]])[],
  env?: NodeJS.ProcessEnv,
): Promise<ProcessEnd[]> {
  const program = fileURLToPath(new URL('programs/run-commands.ts', import.meta.url));
  const list = JSON.stringify(commands.map(([{ folder }, ...args]) => [folder, ...args]));
  const { out, err } = await startProcess(process.execPath, [program, list], '.', env).ended;
  if (out === '') throw new Error(err);
  return endsSchema.parse(JSON.parse(out));
}

/** Starts a process whose output is collected. It is killed when the test ends. */
export function startProcess(
  file: string,
  args: readonly string[],
  folder: string,
  env: NodeJS.ProcessEnv = {},
) {
  // The colours and warnings of whoever runs the tests are not those of the command.
  const { FORCE_COLOR: _, NO_COLOR: __, NODE_OPTIONS: ___, ...inherited } = process.env;
  const child = spawn(file, args, { cwd: folder, env: { ...inherited, ...env }, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const end: ProcessEnd = { code: null, out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    end.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    end.err += text;
  });
  const ended = once(child, 'close').then(([code]: unknown[]): ProcessEnd => ({ ...end, code }));
  return { child, ended };
}

/** How a config gets its journal and client, in each module system. */
const LOADS = {
  module: `import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';`,
  commonjs: `const { DatabaseSync } = require('node:sqlite');
const { PaymentsClient } = require('payment-collection-client');
const { sqliteJournal } = require('payment-collection-client/journal/sqlite');`,
};

const EXPORTS = {
  named: 'export { journal, payments };',
  default: 'export default { journal, payments };',
  commonjs: 'module.exports = { journal, payments };',
  transpiled:
    "Object.defineProperty(exports, '__esModule', { value: true });\nexports.default = { journal, payments };",
};

interface ConfigOptions {
  readonly system?: keyof typeof LOADS;
  readonly exports?: keyof typeof EXPORTS;
  readonly isTyped?: boolean;
  readonly baseUrl?: string;
  readonly more?: string;
}

/** Returns the text of a config with an SQLite journal, `journal.db` of its folder. */
export function sqliteConfig(options: ConfigOptions = {}): string {
  const { system = 'module', exports = 'named', isTyped = false } = options;
  const { baseUrl = 'http://127.0.0.1:9/api/v1', more = '' } = options;
  const type = isTyped ? ': InstanceType<typeof PaymentsClient>' : '';
  return `${LOADS[system]}

const journal = sqliteJournal(new DatabaseSync('journal.db'), { lease: 200 });
const payments${type} = new PaymentsClient({ journal, baseUrl: '${baseUrl}', apiKey: '${API_KEY}', maxRetries: 0 });
${more}
${EXPORTS[exports]}
`;
}
