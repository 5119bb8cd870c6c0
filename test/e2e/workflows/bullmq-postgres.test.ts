import { describeQueueOnPostgres } from './queue-on-postgres.ts';

describeQueueOnPostgres('BullMQ on PostgreSQL', 'bullmq', {
  schema: 'bullmq',
  tables: 'bullmq.job, bullmq.scheduler',
  variable: 'QUEUE_URL',
});
