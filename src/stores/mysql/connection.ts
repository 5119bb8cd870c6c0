/**
 * Runs the statements of a journal through `mysql2`, so that what is written is committed, and that a connection which
 * breaks does not end the process.
 */

import { ConfigurationError, JournalError } from '../../errors.ts';
import { sleep } from '../../support/timing.ts';
import { isObject } from '../../support/untrusted.ts';
import { ignore, surviveBrokenConnections } from '../sql.ts';

/** A statement for `mysql2`. Its options override those that the merchant's pool has. */
export interface MysqlQuery {
  readonly sql: string;
  /** Returns each value as its bytes. */
  readonly typeCast: (field: { buffer(): Uint8Array | null }) => Uint8Array | null;
  readonly rowsAsArray: boolean;
  readonly nestTables: boolean;
}

/** What is used of a `Connection` of `mysql2/promise`, or of one that a pool lends. */
export interface MysqlConnection {
  query(query: MysqlQuery): Promise<unknown>;
  on?(event: 'error', listener: () => void): unknown;
}

/** What is used of a connection that a pool of `mysql2/promise` lends. */
export interface PooledMysqlConnection extends MysqlConnection {
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
  release(): void;
  destroy(): void;
}

/** What is used of a `Pool` of `mysql2/promise`. */
export interface MysqlPool {
  getConnection(): Promise<PooledMysqlConnection>;
}

/** What is used of a `Pool` or a `Connection` of `mysql2`, with callbacks. */
export interface MysqlCallbackClient {
  promise(): MysqlPool | MysqlConnection;
}

/** A pool or a connection of `mysql2`. */
export type MysqlClient = MysqlPool | MysqlConnection | MysqlCallbackClient;

export type MysqlRow = Readonly<Record<string, string | null>>;

interface MysqlChange {
  readonly rows: number;
  /** The argument of `LAST_INSERT_ID` in the statement. */
  readonly insertId: number;
}

/** One connection, for the statements of one step. */
export interface MysqlSession {
  select(sql: string): Promise<readonly MysqlRow[]>;
  change(sql: string): Promise<MysqlChange>;
}

/** A step of the journal: some statements on one connection. */
export type MysqlStep<T> = (session: MysqlSession) => Promise<T>;

export interface MysqlRunner {
  /**
   * Runs a step outside any transaction: each of its changes is committed once it returns. A step that a concurrent one
   * has overtaken is run again, so its first change must be the one that matters.
   *
   * @throws {JournalError} if the connection is inside a transaction, or cannot show that it is not.
   */
  runCommitted<T>(step: MysqlStep<T>): Promise<T>;
  /**
   * Runs a step as a part of any transaction that is open on a connection. With a pool, it runs outside any. Outside one, a step
   * that a concurrent one has overtaken is run again.
   */
  runAnywhere<T>(step: MysqlStep<T>): Promise<T>;
  /** Reads rows; on a connection, as a part of any transaction that is open. With a pool, it reads what is committed. */
  read(sql: string): Promise<readonly MysqlRow[]>;
}

/** @throws {ConfigurationError} if `client` is not a pool or a connection of `mysql2`. */
export function createMysqlRunner(client: MysqlClient): MysqlRunner {
  const promised = toPromised(client);
  if (isPool(promised)) {
    const run = <T>(step: MysqlStep<T>) => retryOvertaken(() => runOnPool(promised, CHECK, step));
    return {
      runCommitted: run,
      runAnywhere: run,
      read: (sql) => runOnPool(promised, CHECK_BEFORE_READ, ({ select }) => select(sql)),
    };
  }
  surviveBrokenConnections(promised);
  return {
    runCommitted: (step) =>
      retryOvertaken(async () => {
        assertNoTransaction(await readSessionStatus(promised, CHECK));
        return step(openSession(promised, true));
      }),
    async runAnywhere(step) {
      const run = () => step(openSession(promised, false));
      const status = await readSessionStatus(promised, CHECK);
      // A deadlock rolls a transaction of the merchant back as a whole, so the step must not be run again outside it.
      const isAlone = isAutocommit(status) && !isInTransaction(status);
      return isAlone ? retryOvertaken(run) : run();
    },
    read: (sql) => openSession(promised, false).select(sql),
  };
}

/** The server shows its status after it. A `SELECT` would not show it to the callers of mysql2. */
const CHECK = 'DO 0';

/**
 * It holds for one transaction: the read that follows. With READ UNCOMMITTED, a read returns what might be rolled back.
 * Inside a transaction the server refuses it.
 */
const CHECK_BEFORE_READ = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED';

const isPool = (client: MysqlPool | MysqlConnection): client is MysqlPool => 'getConnection' in client;

function toPromised(client: unknown): MysqlPool | MysqlConnection {
  // Each node of a PoolCluster is another server, which might not have what was written on the one before.
  if (!isObject(client) || ['add', '_cluster', 'poolNamespace'].some((name) => name in client))
    throw clientError();
  const promised: unknown =
    'promise' in client && typeof client.promise === 'function' ? client.promise() : client;
  // The older `mysql` package has no `execute`. Its methods return no promise.
  if (!isObject(promised) || !('execute' in promised) || !isClient(promised)) throw clientError();
  return promised;
}

const isClient = (client: object): client is MysqlPool | MysqlConnection =>
  ('getConnection' in client && typeof client.getConnection === 'function') ||
  ('query' in client && typeof client.query === 'function');

function clientError(): ConfigurationError {
  return new ConfigurationError('mysqlJournal takes a pool or a connection of mysql2, and no PoolCluster.');
}

/** The server's codes: a deadlock, a lock that was not released in time, a row that has changed since it was read. */
const OVERTAKEN = [1213, 1205, 1020];
const DUPLICATE_KEY = 1062;
const MISSING_TABLE = 1146;

/** How often a step is run at most, and for how long, in milliseconds. */
const MAX_STEP_ATTEMPTS = 20;
const MAX_STEP_TIME = 10_000;

/** Runs a step again that the server has ended because of a concurrent one. Outside a transaction it has changed nothing. */
async function retryOvertaken<T>(run: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isLast = attempt === MAX_STEP_ATTEMPTS || performance.now() - startedAt > MAX_STEP_TIME;
      if (!OVERTAKEN.includes(errorNumber(error)) || isLast) throw error;
      await sleep(Math.random() * attempt, undefined);
    }
  }
}

const errorNumber = (error: unknown) => Number(Object(error).errno);

/** Whether a record was there already. The statement has changed nothing. */
export const isDuplicateKey = (error: unknown) => errorNumber(error) === DUPLICATE_KEY;

export const isMissingTable = (error: unknown) => errorNumber(error) === MISSING_TABLE;

/** How many connections of a pool are tried at most: each that is broken or inside a transaction is replaced. */
const MAX_CONNECTION_ATTEMPTS = 20;

/** Runs a step on a connection of the pool that is outside any transaction. Before that, nothing of the step was sent. */
async function runOnPool<T>(
  pool: MysqlPool,
  check: typeof CHECK | typeof CHECK_BEFORE_READ,
  step: MysqlStep<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const connection = await pool.getConnection();
    connection.on('error', ignore);
    const status = await readSessionStatus(connection, check).catch((error: unknown) => {
      connection.destroy();
      // The server might have closed it while it was idle, or refuse the check inside a transaction.
      if (error instanceof JournalError || attempt === MAX_CONNECTION_ATTEMPTS) throw error;
      return undefined;
    });
    if (status === undefined) continue;
    // The merchant's code might have released a connection inside a transaction that is never committed.
    if (isInTransaction(status) && attempt < MAX_CONNECTION_ATTEMPTS) {
      connection.destroy();
      continue;
    }
    return runOnConnection(connection, status, step);
  }
}

async function runOnConnection<T>(
  connection: PooledMysqlConnection,
  status: number,
  step: MysqlStep<T>,
): Promise<T> {
  let isHealthy = false;
  try {
    assertNoTransaction(status);
    const result = await step(openSession(connection, true));
    isHealthy = true;
    return result;
  } catch (error) {
    // Only the statement failed.
    if (OVERTAKEN.includes(errorNumber(error))) isHealthy = true;
    throw error;
  } finally {
    if (isHealthy) {
      connection.release();
      // The pool listens from here on.
      connection.removeListener('error', ignore);
    } else connection.destroy();
  }
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** With options of its own a statement returns the same whatever options the merchant's pool has. */
const toQuery = (sql: string): MysqlQuery => ({
  sql,
  typeCast: (field) => field.buffer(),
  rowsAsArray: false,
  nestTables: false,
});

function openSession(connection: MysqlConnection, mustCommit: boolean): MysqlSession {
  return {
    async select(sql) {
      const rows = firstOf(await connection.query(toQuery(sql)));
      if (!Array.isArray(rows)) throw foreignError();
      return rows.map(toRow);
    },
    async change(sql) {
      const header = firstOf(await connection.query(toQuery(sql)));
      const status = statusOf(header);
      // A BEGIN might have been before it in the queue of the connection.
      if (mustCommit) assertNoTransaction(status);
      const { affectedRows, insertId } = Object(header);
      return { rows: Number(affectedRows), insertId: Number(insertId) };
    },
  };
}

function toRow(row: unknown): MysqlRow {
  const columns = Object.entries(Object(row)).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? utf8.decode(value) : null,
  ]);
  return Object.fromEntries(columns);
}

/** mysql2 returns a list: what the statement returned, and its columns. */
const firstOf = (result: unknown): unknown => (Array.isArray(result) ? result[0] : undefined);

async function readSessionStatus(connection: MysqlConnection, check: string): Promise<number> {
  return statusOf(firstOf(await connection.query(toQuery(check))));
}

/** The server sends its status with the result of each statement that returns no rows. */
function statusOf(header: unknown): number {
  const { serverStatus } = Object(header);
  if (typeof serverStatus === 'number') return serverStatus;
  throw foreignError();
}

function foreignError(): JournalError {
  return new JournalError(
    'The client of the journal cannot show whether it is inside a transaction, which could be rolled back after the ' +
      'charge. Nothing was sent. Give mysqlJournal a pool of mysql2.',
  );
}

const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

const isInTransaction = (status: number) => (status & IN_TRANSACTION) !== 0;
const isAutocommit = (status: number) => (status & AUTOCOMMIT) !== 0;

/** What is recorded inside a transaction could be rolled back after the charge. */
function assertNoTransaction(status: number): void {
  if (!isAutocommit(status)) {
    throw new JournalError(
      "The journal's connection has autocommit = 0, so what is recorded could be rolled back after the charge: give " +
        'the journal a pool of its own, with autocommit = 1.',
    );
  }
  if (!isInTransaction(status)) return;
  throw new JournalError(
    "The journal's connection is inside a transaction, which could be rolled back after the charge: give the journal " +
      'the pool, and release no connection before COMMIT or ROLLBACK.',
    { retryable: true },
  );
}
