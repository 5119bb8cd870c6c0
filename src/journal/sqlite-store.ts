/** The store of a journal in a database of the SQLite family. */

import { JournalError } from '../errors.ts';
import type { SqliteRunner, SqliteStatement } from './sqlite-handle.ts';
import { buildStatements } from './sqlite-table.ts';
import {
  type JournalStore,
  type ListedRecord,
  type RecordWrite,
  type StoredRecord,
  toStoredTime,
} from './store.ts';

export function createSqliteStore(runner: SqliteRunner, table: string): JournalStore {
  const sql = buildStatements(table, runner.now);

  const toStatement = ({ key, change }: RecordWrite, now: readonly number[]): SqliteStatement => {
    const { expected, version, text, index, dueIn } = change;
    const found = index
      ? [index.kind, index.state, toStoredTime(index.createdAt), index.reference]
      : [null, null, null, null];
    const values = [key, version, text, ...found, dueIn === null ? null : Math.ceil(dueIn)];
    return expected === null
      ? { sql: sql.insert, values: [...values, ...now] }
      : { sql: sql.update, values: [...values, expected, ...now] };
  };
  const writeAll = async (writes: readonly RecordWrite[]) => {
    const mustCommit = writes.some(({ change }) => change.mustCommit);
    const written = await runner.write(mustCommit, (now) => writes.map((write) => toStatement(write, now)));
    return writes.map((_, index) => written[index]?.length === 1);
  };

  return {
    ...(runner.groupsWrites ? { writeAll } : {}),

    async read(key) {
      const [row] = await runner.read((now) => ({ sql: sql.read, values: [key, ...now] }));
      return row === undefined ? null : toStoredRecord(row);
    },

    async write(key, change) {
      const [isWritten = false] = await writeAll([{ key, change }]);
      return isWritten;
    },

    async list({ by, value, after, limit }) {
      const position = [after?.createdAt ?? -Number.MAX_VALUE, after?.key ?? ''];
      const rows = await runner.read((now) => ({
        sql: sql.list[by],
        values: [value, ...position, limit, ...now],
      }));
      return rows.map(toListedRecord);
    },

    async count() {
      const rows = await runner.read(() => ({ sql: sql.count, values: [] }));
      return Object.fromEntries(
        rows.map((row) => {
          const { state, records } = toFields(row);
          return [toText(state), toNumber(records)];
        }),
      );
    },

    async claimDue({ kind, limit, lease }) {
      // A record might become due, or its time might go back, between the two: what was claimed is what counts.
      const [order = [], claimed = []] = await runner.write(true, (now) => [
        { sql: sql.dueKeys, values: [kind, limit, ...now] },
        { sql: sql.claimDue, values: [kind, limit, Math.ceil(lease), ...now] },
      ]);
      const ranks = new Map(order.map((row, rank) => [toText(toFields(row).key), rank]));
      const rankOf = ({ key }: ListedRecord) => ranks.get(key) ?? order.length;
      return claimed.map(toListedRecord).sort((one, other) => rankOf(one) - rankOf(other));
    },

    async countDue({ kind }) {
      const [row] = await runner.read((now) => ({ sql: sql.countDue, values: [kind, ...now] }));
      const { due, next_in } = toFields(row);
      return { due: toNumber(due), nextIn: next_in === null ? null : toNumber(next_in) };
    },

    async delete(records) {
      const pairs = JSON.stringify(records.map(({ key, version }) => [key, version]));
      const [deleted = []] = await runner.write(true, () => [{ sql: sql.delete, values: [pairs] }]);
      return deleted.length;
    },
  };
}

function toStoredRecord(row: unknown): StoredRecord {
  const { version, record, age } = toFields(row);
  return { version: toText(version), text: toText(record), age: toNumber(age) };
}

function toListedRecord(row: unknown): ListedRecord {
  const { key, created } = toFields(row);
  return { ...toStoredRecord(row), key: toText(key), createdAt: toNumber(created) };
}

/** Returns a row by the names of its columns. Drivers also return objects without a prototype, or with a length. */
function toFields(row: unknown): Record<string, unknown> {
  if (!Array.isArray(row)) return Object(row);
  throw unreadable(
    'The database returns rows as arrays, so no record can be read. Turn off returnArrays or raw().',
  );
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw unreadable('The database returned a row of the journal without its text, so no record can be read.');
}

/** Returns a number, which a driver might return as a BigInt or as text. */
function toNumber(value: unknown): number {
  const number =
    typeof value === 'number' || typeof value === 'bigint'
      ? Number(value)
      : Number(toText(value) || Number.NaN);
  if (Number.isFinite(number)) return number;
  throw unreadable(
    'The database returned a row of the journal without its number, so no record can be read.',
  );
}

const unreadable = (message: string) => new JournalError(message, { outcome: 'unknown' });
