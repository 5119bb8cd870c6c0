/** How a block of the pages on databases is run. */
export interface RunStory {
  /** The file of `kinds/` that starts its database. Without it, the block needs none. */
  readonly kind?: string;
  /** The environment variables that the block reads. */
  env?(place: string): Readonly<Record<string, string>>;
}

type Story = RunStory | { /** Why the block is compiled only. */ readonly notRun: string };

/** By heading. */
export const stories: Readonly<Record<string, Story>> = {
  'Use PostgreSQL': { kind: 'postgres', env: (place) => ({ DATABASE_URL: place }) },
  'postgres.js': { kind: 'postgres-js', env: (place) => ({ DATABASE_URL: place }) },
  Prisma: { kind: 'prisma', env: (place) => ({ DATABASE_URL: place }) },
  'Drizzle, Kysely, Neon, PGlite and others': {},
  'Drizzle, Kysely, Neon, PGlite and others (2)': {
    kind: 'postgres',
    env: (place) => ({ DATABASE_URL: place }),
  },
  'node:sqlite, better-sqlite3 and bun:sqlite': {},
  'node:sqlite, better-sqlite3 and bun:sqlite (2)': {},
  'libSQL and Turso': { kind: 'libsql-server', env: (place) => ({ TURSO_DATABASE_URL: place }) },
  'Cloudflare D1': { notRun: 'd1.test.ts runs it in workerd' },
  'Durable Objects': { notRun: 'durable-object.test.ts runs it in workerd' },
  'Use MySQL or MariaDB': { kind: 'mysql', env: (place) => ({ MYSQL_URL: place }) },
  'Use Redis': { kind: 'redis', env: (place) => ({ REDIS_URL: place }) },
  'Use MongoDB': { kind: 'mongodb', env: (place) => ({ MONGO_URL: place }) },
  'Use DynamoDB': {
    kind: 'dynamodb',
    env: (place) => ({
      AWS_ENDPOINT_URL_DYNAMODB: place,
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
    }),
  },
};
