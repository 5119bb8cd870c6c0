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
import type { Dispatcher, fetch } from 'undici';

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

interface Order {
  readonly id: string;
  readonly chargedAt: Date;
}

/** The names that an example can use: all exports of the package, and what the text around it assumes. */
export interface Names extends Exported {
  payments: client.PaymentsClient;
  journal: journal.Journal;
  followUps: followUps.FollowUps;
  orderPayments: orderPayments.OrderPayments;
  orders: { settle(key: string, status: string): Promise<void> };
  mock: testing.MockPayments;
  input: client.ChargeMobileMoneyInput;
  charge: client.ChargeMobileMoneyInput;
  reference: string;
  order: Order;
  customer_email: string;
  phone: string;
  network: client.Network;
  signal: AbortSignal;
  request: { readonly body: unknown };
  redirect(address: string): void;
  findSession(cookie: string | null): Promise<{ email: string } | undefined>;
  afterEach(run: () => void): void;
  details: client.ChargeMobileMoneyInput;
  deliver(order: string): Promise<void>;
  remind(order: string): Promise<void>;
  startedAt: number;
  chargedAt: number;
  error: unknown;
  openOrders(): { reference: string; amount: string; currency: string }[];
  show(status: string): void;
  fulfil(order: Order | string): Promise<void>;
  holdForReview(order: Order, error: Error): Promise<void>;
  checkLater(reference: string, startedAt: number): Promise<void>;
  secrets: { get(name: string): Promise<string> };
  undici: { fetch: typeof fetch };
  proxy: Dispatcher;
  pool: postgres.PostgresPool;
  sql: postgres.PostgresJsSql;
  prisma: postgres.PrismaPostgresClient;
  neonSql: { query: postgres.PostgresQuery };
  env: { API_KEY: string; DB: sqlite.D1Binding };
  ctx: { storage: sqlite.DurableObjectSqlStorage };
  libsqlClient: sqlite.LibsqlClient;
  mysqlPool: mysql.MysqlPool;
  records: {
    find(key: string): Promise<journal.StoredRecord | null>;
    readClock(): Promise<number>;
    replaceWhereVersionIs(
      version: string | null,
      key: string,
      change: journal.RecordChange,
    ): Promise<boolean>;
  };
  myDatabase: object;
  storeOf(database: object): journal.JournalStore;
  myStore(storage?: string): journal.JournalStore;
  connect(): { end(): Promise<void> };
  openStore: Parameters<typeof testing.journalConformance>[0];
  storeOn(connection: object, storage?: string): journal.JournalStore;
  setupServer(...handlers: object[]): { listen(): void; close(): void };
  test(name: string, run: () => Promise<void>): void;
  beforeAll(run: () => unknown): void;
  afterAll(run: () => unknown): void;
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
