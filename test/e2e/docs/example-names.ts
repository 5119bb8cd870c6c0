import type * as client from 'payment-collection-client';
import type * as followUps from 'payment-collection-client/follow-ups';
import type * as journal from 'payment-collection-client/journal';
import type * as mysql from 'payment-collection-client/journal/mysql';
import type * as postgres from 'payment-collection-client/journal/postgres';
import type * as redis from 'payment-collection-client/journal/redis';
import type * as sqlite from 'payment-collection-client/journal/sqlite';
import type * as node from 'payment-collection-client/node';
import type * as orderPayments from 'payment-collection-client/orders';
import type * as phone from 'payment-collection-client/phone';
import type * as review from 'payment-collection-client/review';
import type * as sandbox from 'payment-collection-client/sandbox';
import type * as schedule from 'payment-collection-client/schedule';
import type * as testing from 'payment-collection-client/testing';

type Exported = typeof client &
  typeof followUps &
  typeof journal &
  typeof mysql &
  typeof node &
  typeof orderPayments &
  typeof phone &
  typeof postgres &
  typeof redis &
  typeof review &
  typeof sandbox &
  typeof schedule &
  typeof sqlite &
  typeof testing;

/**
 * The names that an example can use: all exports of the package, what the documented function was called on, and the handles of
 * drivers, of which the example says in a comment where they are from.
 */
export interface Names extends Exported {
  payments: client.PaymentsClient;
  journal: journal.Journal;
  followUps: followUps.FollowUps;
  orderPayments: orderPayments.OrderPayments;
  mock: testing.MockPayments;
  sql: postgres.PostgresJsSql;
  prisma: postgres.PrismaPostgresClient;
  neonSql: { query: postgres.PostgresQuery };
  env: { API_KEY: string; DB: sqlite.D1Binding };
  ctx: { storage: sqlite.DurableObjectSqlStorage };
  libsqlClient: sqlite.LibsqlClient;
  mysqlPool: mysql.MysqlPool;
  /** For an example that is an option with its value. */
  option: client.PaymentsClientOptions &
    client.CreateOptions &
    client.VerifyOptions &
    client.WaitOptions &
    journal.JournalOptions &
    Partial<review.ReviewDeskOptions> &
    Partial<followUps.FollowUpsOptions>;
  orderOption: Partial<orderPayments.OrderPaymentsOptions>;
  /** For an example that is a value. */
  value: client.Expectation | testing.Faults['verify'];
}
