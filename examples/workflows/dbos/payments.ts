import { PaymentsClient } from 'payment-collection-client';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import { Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { databaseUrl, lease } from './settings.ts';

const pool = new Pool({ connectionString: databaseUrl });
// An idle connection that breaks must not end the process. The pool opens another.
pool.on('error', ({ message }) => console.error(`A connection of the journal broke: ${message}`));

export const journal = postgresJournal(pool, { lease });
export const payments = new PaymentsClient({ journal, timeout });
export const orders = new Orders(ordersFile);
