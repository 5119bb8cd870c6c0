import { journal, orders, payments, pool } from './payments.ts';

/** Creates the tables. Run it before each deployment: it changes nothing that is up to date. */
await journal.migrate();
await orders.createTables();
await payments.close();
await pool.end();
