import { orderPayments, payments, pool } from './payments.ts';
import { budget } from './settings.ts';

/** One sweep, for cron: `* * * * * cd /srv/shop && node sweep.ts`. An error ends it with exit code 1. */
console.log(await orderPayments.sweep({ budget }));
await payments.close();
await pool.end();
