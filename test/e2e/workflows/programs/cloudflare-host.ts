/**
 * Runs the example's worker on Miniflare, with what Miniflare stores in a folder. It takes commands from the test as
 * messages, and can be killed at any time.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { z } from 'zod';
import { commandSchema, settingsSchema } from '../cloudflare-host.ts';

/** What is used of Miniflare, which is installed in the example's folder only. */
interface Miniflare {
  readonly ready: Promise<URL>;
  getBindings(): Promise<{ DB: D1 }>;
  getWorker(): Promise<{ scheduled(options: { cron: string }): Promise<unknown> }>;
}

interface D1 {
  prepare(sql: string): { all(): Promise<{ results: unknown[] }> };
}

const example = resolve('examples/workflows/cloudflare');
const { folder, script, vars } = settingsSchema.parse(JSON.parse(process.argv[2] ?? ''));

/** The worker runs with the settings that wrangler reads. */
const wrangler = z
  .object({
    compatibility_date: z.string(),
    compatibility_flags: z.array(z.string()).default([]),
    d1_databases: z.tuple([z.object({ binding: z.literal('DB'), database_name: z.string() })]),
    triggers: z.object({ crons: z.tuple([z.string()]) }),
    vars: z.record(z.string(), z.string()),
  })
  .parse(ts.parseConfigFileTextToJson('', readFileSync(join(example, 'wrangler.jsonc'), 'utf8')).config);
const [database] = wrangler.d1_databases;

const load = createRequire(join(example, 'package.json'));
const { Miniflare }: { Miniflare: new (options: object) => Miniflare } = load('miniflare');
const miniflare = new Miniflare({
  modules: [{ type: 'ESModule', path: 'worker.js', contents: readFileSync(script, 'utf8') }],
  compatibilityDate: wrangler.compatibility_date,
  compatibilityFlags: wrangler.compatibility_flags,
  host: '127.0.0.1',
  port: 0,
  d1Databases: { DB: database.database_name },
  d1Persist: join(folder, 'd1'),
  bindings: { ...wrangler.vars, ...vars },
});

const url = await miniflare.ready;
const { DB } = await miniflare.getBindings();

const commands = {
  query: async (sql: string) => (await DB.prepare(sql).all()).results,
  cron: async () => {
    const worker = await miniflare.getWorker();
    await worker.scheduled({ cron: wrangler.triggers.crons[0] });
  },
};

process.on('message', async (message) => {
  const { number, command, argument } = commandSchema.parse(message);
  const reply = await commands[command](argument).then(
    (result) => ({ number, result: result ?? null }),
    (error: unknown) => ({ number, error: String(error) }),
  );
  process.send?.(reply);
});
// The test has ended, or was killed.
process.once('disconnect', () => process.exit());
process.send?.({ url: String(url) });
