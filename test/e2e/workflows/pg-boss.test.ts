import { describeQueueOnPostgres } from './queue-on-postgres.ts';

describeQueueOnPostgres('pg-boss on PostgreSQL', 'pg-boss', {
  schema: 'pgboss',
  tables: 'pgboss.job',
  variable: 'DATABASE_URL',
});
