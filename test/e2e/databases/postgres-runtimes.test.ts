/** The built package through the drivers that run on Bun and Deno. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CountingService, startCountingService } from './counting-service.ts';
import type { RunningDatabase } from './database.ts';
import { startServer } from './postgres-database.ts';

const tool = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const dist = new URL('../../../dist', import.meta.url).href;
const deno = ['run', '--node-modules-dir=manual', '--no-remote', '--quiet', '--allow-all'];

const runtimes: [name: string, command: string, flags: string[], drivers: string[]][] = [
  ['Node', process.execPath, [], []],
  ['Bun', tool('node_modules/bun/bin/bun.exe'), [], ['Bun.SQL']],
  ['Deno', tool('node_modules/deno/deno'), deno, []],
];
const cells = runtimes.flatMap(([runtime, command, flags, own]) =>
  ['pg', 'pg through fromQuery', 'postgres.js', ...own].map((driver) => ({
    runtime,
    command,
    flags,
    driver,
  })),
);

describe('the built package', () => {
  let running: RunningDatabase;
  let service: CountingService;
  beforeAll(async () => {
    if (!existsSync('dist/journal-postgres.js')) throw new Error('Build the package first: npm run build');
    service = await startCountingService();
    running = await startServer();
  });
  afterAll(async () => {
    await running?.stop();
    await service?.stop();
  });

  test.each(cells)(
    'charges once through $driver on $runtime',
    async ({ runtime, command, flags, driver }) => {
      const key = `${driver}-on-${runtime}`.replaceAll(' ', '-');
      const program = [...flags, tool('programs/charge-once.mjs'), dist];
      const args = [...program, driver, running.place, service.baseUrl, key];
      const { stdout } = await promisify(execFile)(command, args);
      const [reference, ...others] = service.chargesFor(key);
      expect(others).toEqual([]);
      expect(JSON.parse(stdout)).toEqual({
        reference,
        replayed: false,
        again: { reference, replayed: true },
        listed: [[key, 'completed']],
      });
    },
  );
});
