/**
 * `npm run test:workflows [name …]`: installs the packages of each example, checks its types, and runs its tests.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const names = process.argv.slice(2);
const examples = readdirSync('examples/workflows', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(entry.parentPath, entry.name, 'package.json')))
  .map(({ name }) => name)
  .filter((name) => names.length === 0 || names.includes(name));

function run(command: string, args: string[], options: { cwd?: string } = {}): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} exited with ${status}.`);
}

for (const name of examples) {
  const cwd = join('examples/workflows', name);
  run('npm', ['ci', '--silent', '--no-audit', '--no-fund'], { cwd });
  run('tsc', ['--noEmit', '--project', cwd]);
}
const files = examples.map((name) => `test/e2e/workflows/${name}`);
run('vitest', ['run', '--config', 'test/e2e/workflows/vitest.config.ts', ...files]);
