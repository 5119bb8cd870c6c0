/** How a block of docs/databases.md is run. */
export interface RunStory {
  /** The file of `kinds/` that starts its database. Without it, the block needs none. */
  readonly kind?: string;
  /** The environment variables that the block reads. */
  env?(place: string): Readonly<Record<string, string>>;
  /** Whether the tables are made before the block runs. */
  readonly isPrepared?: boolean;
  /** What the block uses and does not define. */
  names?(place: string): object | Promise<object>;
  /** How many charges the service must have. @default 1 */
  readonly charges?: number;
}

type Story = RunStory | { /** Why the block is compiled only. */ readonly notRun: string };

/** By heading. */
export const stories: Readonly<Record<string, Story>> = {
  pg: { kind: 'postgres', env: (place) => ({ DATABASE_URL: place }) },
  'node:sqlite, better-sqlite3 and bun:sqlite': {},
  'node:sqlite, better-sqlite3 and bun:sqlite (2)': {},
  'libSQL and Turso': { kind: 'libsql-server', env: (place) => ({ TURSO_DATABASE_URL: place }) },
  'Cloudflare D1': { notRun: 'd1.test.ts runs it in workerd' },
  'Durable Objects': { notRun: 'durable-object.test.ts runs it in workerd' },
  Redis: { kind: 'redis', env: (place) => ({ REDIS_URL: place }) },
};
