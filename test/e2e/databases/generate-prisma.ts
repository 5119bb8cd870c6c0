/** Generates the client of Prisma, after each install. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const cli = createRequire(import.meta.url).resolve('prisma/build/index.js');
const { status } = spawnSync(process.execPath, [cli, 'generate', '--schema', 'prisma/schema.prisma'], {
  cwd: import.meta.dirname,
  stdio: ['ignore', 'ignore', 'inherit'],
  // Prisma downloads this program before any command. Only its migrations need it.
  env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
});
process.exitCode = status ?? 1;
