import { ordersSchema } from './lib/orders.ts';
import { getShop } from './lib/shop.ts';

/** Creates the tables. Run it before each deployment: it changes nothing that is up to date. */
const { journal, payments, pool } = getShop();
await journal.migrate();
await pool.query(ordersSchema);
payments.close();
await pool.end();
