import { PaymentsClient } from 'payment-collection-client';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import { timeout } from '../shop/settings.ts';
import { Orders } from './orders.ts';
import { databaseUrl, lease } from './settings.ts';

/** A Lambda environment runs one invocation at a time: a charge and its heartbeat need two connections. */
export const pool = new Pool({ connectionString: databaseUrl, max: 2 });
// An idle connection breaks while Lambda freezes the environment. That must not end the process: the pool opens another.
pool.on('error', ({ message }) => console.error(`A connection to the database broke: ${message}`));

export const journal = postgresJournal(pool, { lease });
export const orders = new Orders(pool);

/** The client's own two retries are the only ones of a charge. They are for 429 and for a connection that was not made. */
export const payments = new PaymentsClient({ journal, timeout });
