import { connectNeon } from './neon-proxy.ts';

/** How a block of the pages on databases is run: as the `payments.ts` of a shop that charges. */
export interface RunStory {
  /** The file of `kinds/` that starts its database. Without it, the block needs none. */
  readonly kind?: string;
  /** The environment variables that the block reads. */
  env?(place: string): Readonly<Record<string, string>>;
  /** A file of the page that is run before. */
  readonly first?: string;
  /** What the block exports, and the method that ends it, such as `pool.end`. */
  readonly end?: string;
}

type Story = RunStory | { /** Why the block is compiled only. */ readonly notRun: string };

const databaseUrl = (place: string) => ({ DATABASE_URL: place });

/** By heading. */
export const stories: Readonly<Record<string, Story>> = {
  'Use PostgreSQL': { kind: 'postgres', env: databaseUrl, end: 'pool.end' },
  'postgres.js': { kind: 'postgres-js', env: databaseUrl, end: 'sql.end' },
  Prisma: { kind: 'prisma', env: databaseUrl, end: 'prisma.$disconnect' },
  'Drizzle, Kysely, Neon, PGlite and others': {
    kind: 'neon',
    env: (place) => ({ DATABASE_URL: connectNeon(place) }),
  },
  'Use SQLite': {},
  'libSQL and Turso': {
    kind: 'libsql-server',
    env: (place) => ({ TURSO_DATABASE_URL: place }),
    end: 'client.close',
  },
  'Cloudflare D1': { notRun: 'd1.test.ts runs it in workerd' },
  'Durable Objects': { notRun: 'durable-object.test.ts runs it in workerd' },
  'Use MySQL or MariaDB': { kind: 'mysql', env: (place) => ({ MYSQL_URL: place }), end: 'pool.end' },
  'Use Redis': { kind: 'redis', env: (place) => ({ REDIS_URL: place }), end: 'redis.disconnect' },
  MongoDB: { kind: 'mongodb', env: (place) => ({ MONGO_URL: place }), end: 'client.close' },
  DynamoDB: { notRun: 'the next block is run after it' },
  'DynamoDB (2)': {
    kind: 'dynamodb',
    first: './create-table.ts',
    env: (place) => ({
      AWS_ENDPOINT_URL_DYNAMODB: place,
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
    }),
    end: 'client.destroy',
  },
};
