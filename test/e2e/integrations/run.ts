/**
 * `npm run test:integrations`: installs the packages of examples/integrations, checks their types, and runs their tests,
 * and those of examples/docker-compose.
 */
import { spawnSync } from 'node:child_process';

const FOLDER = 'examples/integrations';

function run(command: string, args: string[], cwd?: string): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...(cwd === undefined ? {} : { cwd }) });
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} exited with ${status}.`);
}

run('npm', ['ci', '--silent', '--no-audit', '--no-fund'], FOLDER);
run('tsc', ['--noEmit', '--project', FOLDER]);
run('tsc', ['--noEmit', '--project', `${FOLDER}/tsconfig.nextjs.json`]);
run('vitest', ['run', '--config', 'test/e2e/integrations/vitest.config.ts', ...process.argv.slice(2)]);
