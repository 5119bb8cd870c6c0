import { onPostgres } from './on-postgres.ts';
import { onRedis } from './on-redis.ts';
import { queueUrl } from './settings.ts';

/** BullMQ and the journal in one database. Keep the file for yours and delete the other. */
export const engine = queueUrl.startsWith('postgres') ? await onPostgres(queueUrl) : onRedis(queueUrl);
