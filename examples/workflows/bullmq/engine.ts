import { onPostgres } from './on-postgres.ts';
import { onRedis } from './on-redis.ts';

const url = process.env.QUEUE_URL ?? 'redis://127.0.0.1:6379';

/** BullMQ and the journal in one database. Keep the file for yours and delete the other. */
export const engine = url.startsWith('postgres') ? onPostgres(url) : onRedis(url);

export type OrderQueue = ReturnType<typeof engine.queue>;
