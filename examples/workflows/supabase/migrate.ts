import { ordersSchema } from './supabase/functions/_shared/orders.ts';
import { journal, payments, pool } from './supabase/functions/_shared/payments.ts';

/** Creates the tables. Run it before each deployment: it changes nothing that is up to date. */
await journal.migrate();
await pool.query(ordersSchema);
payments.close();
await pool.end();
