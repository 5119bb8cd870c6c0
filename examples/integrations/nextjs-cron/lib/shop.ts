import { PaymentsClient } from 'payment-collection-client';
import { createFollowUps, type FollowUps } from 'payment-collection-client/follow-ups';
import { type PostgresJournal, postgresJournal } from 'payment-collection-client/journal/postgres';
import { Pool } from 'pg';
import { Orders } from './orders.ts';

interface CronShop {
  readonly pool: Pool;
  readonly journal: PostgresJournal;
  readonly payments: PaymentsClient;
  readonly followUps: FollowUps;
  readonly orders: Orders;
}

declare global {
  var cronShop: CronShop | undefined;
}

/**
 * Returns the shop of this process. Next gives each route its own modules, and loads them again when they change. The shop
 * is created at the first request, because `next build` has no API key.
 */
export function getShop(): CronShop {
  globalThis.cronShop ??= createShop();
  return globalThis.cronShop;
}

function createShop(): CronShop {
  const { DATABASE_URL: connectionString, PAYMENTS_TIMEOUT, JOURNAL_LEASE, CHECK_SCHEDULE } = process.env;
  // Each function holds few connections, because many functions run at once.
  const pool = new Pool({ connectionString, max: 5 });
  // An idle connection that breaks must not end the process. The pool opens another.
  pool.on('error', ({ message }) => console.error(`A connection to the database broke: ${message}`));
  const orders = new Orders(pool);

  // The tests set shorter times, because they cannot wait.
  const journal = postgresJournal(pool, { lease: Number(JOURNAL_LEASE ?? 10_000) });
  const { beforeDeadline: polling } = JSON.parse(CHECK_SCHEDULE ?? '{"beforeDeadline":{}}');
  const timeout = Number(PAYMENTS_TIMEOUT ?? 10_000);
  const payments = new PaymentsClient({ journal, timeout, polling, logger: console });

  const followUps = createFollowUps({
    payments,
    journal,
    // After a crash it can be called again, so it changes an order only once.
    onFinal: ({ key, reference, transaction }) => orders.settle(key, reference, transaction),
    async onAttention({ key, reference, reason }) {
      // An approval can still come: the payment is checked for 7 more days.
      if (reason === 'overdue') await orders.markNotPaid(key);
      else await orders.holdForReview(key, reason);
      alertOnCall(`The payment of ${key} is ${reason}.`, { key, reference, reason });
    },
  });
  return { pool, journal, payments, followUps, orders };
}

/** Stands for the pager, chat or mail of your team. */
function alertOnCall(message: string, details: object): void {
  console.error(`ALERT: ${message}`, details);
}
