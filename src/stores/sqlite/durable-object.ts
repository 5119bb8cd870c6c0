/** The handle of a journal in the SQLite storage of one of Cloudflare's Durable Objects. */

import { ConfigurationError, JournalError } from '../../errors.ts';
import { isReadOnly, type SqliteHandle } from './handle.ts';

/** What is used of the storage that a Durable Object has as `ctx.storage`. */
export interface DurableObjectSqlStorage {
  readonly sql: {
    exec(query: string, ...values: (string | number | null)[]): { toArray(): Record<string, unknown>[] };
  };
  transactionSync<T>(closure: () => T): T;
  sync(): Promise<void>;
}

/**
 * Makes the handle of a journal in the SQLite storage of a Durable Object: for the charges of that object. Each step of the
 * journal is a transaction of its own. It ends once `sync()` has confirmed it, before anything is sent.
 *
 * What is written inside `ctx.storage.transaction()` of yours could still be rolled back. So charging there is refused, and
 * so are `resolve` and follow-ups. `read` and `list` are part of the transaction.
 *
 * @throws {ConfigurationError} if the storage has no SQL: a class needs `new_sqlite_classes` in its migration.
 *
 * @example
 * ```ts
 * import { fromDurableObject, sqliteJournal } from 'payment-collection-client/journal/sqlite';
 *
 * // In the constructor of the object, which gets `ctx` and `env`.
 * const payments = new PaymentsClient({ apiKey: env.API_KEY, journal: sqliteJournal(fromDurableObject(ctx.storage)) });
 * ```
 */
export function fromDurableObject(storage: DurableObjectSqlStorage): SqliteHandle {
  assertSqlStorage(storage);
  return {
    async batch(statements) {
      const run = () => statements.map(({ sql, values }) => storage.sql.exec(sql, ...values).toArray());
      if (isReadOnly(statements)) {
        const rows = run();
        // What is read might not be confirmed yet, and never be.
        await storage.sync();
        return rows;
      }
      for (let attempts = 0; attempts < MAX_COMMIT_ATTEMPTS; attempts++) {
        // This commits the runtime's own transaction. One of the merchant stays open.
        await storage.sync();
        if (isInTransaction(storage)) continue;
        const rows = storage.transactionSync(run);
        await storage.sync();
        return rows;
      }
      throw new JournalError(
        'The storage of the Durable Object is inside a transaction, which could be rolled back after the charge: charge ' +
          'outside storage.transaction().',
        { retryable: true },
      );
    },
  };
}

/** Other steps might have written since the commit, so that the runtime has begun its next transaction. */
const MAX_COMMIT_ATTEMPTS = 100;

/**
 * Whether a transaction is open: the runtime's own, which it commits by itself soon, or that of `storage.transaction()`. No
 * function of the storage shows it. SQLite turns `defer_foreign_keys` off at the end of each transaction, and a statement
 * outside one is a transaction of its own.
 */
function isInTransaction({ sql }: DurableObjectSqlStorage): boolean {
  const isDeferred = () => {
    const [row] = sql.exec('SELECT defer_foreign_keys AS deferred FROM pragma_defer_foreign_keys').toArray();
    return Number(row?.deferred) === 1;
  };
  const wasDeferred = isDeferred();
  sql.exec('PRAGMA defer_foreign_keys = ON');
  if (!isDeferred())
    throw new JournalError('The Durable Object does not show whether its storage is inside a transaction.');
  const isOpen = isDeferred();
  if (isOpen && !wasDeferred) sql.exec('PRAGMA defer_foreign_keys = OFF');
  return isOpen;
}

function assertSqlStorage(storage: DurableObjectSqlStorage): void {
  let cause: unknown;
  try {
    if (typeof storage.transactionSync === 'function' && storage.sql.exec('SELECT 1').toArray().length === 1)
      return;
  } catch (error) {
    cause = error;
  }
  throw new ConfigurationError(
    'fromDurableObject takes ctx.storage of a Durable Object with SQLite storage: the migration of its class must name it ' +
      'in new_sqlite_classes.',
    { cause },
  );
}
