/** The store of a journal in a database of the SQLite family. */

import { createRowReader } from './sql.ts';
import type { SqliteRunner, SqliteStatement } from './sqlite-handle.ts';
import { buildStatements } from './sqlite-table.ts';
import { type JournalStore, type ListedRecord, type RecordWrite, toStoredTime } from './store.ts';

const reader = createRowReader();

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
    const written = await runner.write({ mustCommit, mustSync: true }, (now) =>
      writes.map((write) => toStatement(write, now)),
    );
    return writes.map((_, index) => written[index]?.length === 1);
  };

  return {
    ...(runner.groupsWrites ? { writeAll } : {}),

    async read(key) {
      const [row] = await runner.read((now) => ({ sql: sql.read, values: [key, ...now] }));
      return row === undefined ? null : reader.toStoredRecord(row);
    },

    async write(key, change) {
      const [isWritten = false] = await writeAll([{ key, change }]);
      return isWritten;
    },

    async list({ by, value, after, limit }) {
      const position = [after?.createdAt ?? -Number.MAX_VALUE, after?.key ?? ''];
      const values = [value, ...position, limit];
      const found = await runner.read((now) => ({ sql: sql.list[by], values: [...values, ...now] }));
      return found.map(reader.toListedRecord);
    },

    async count() {
      const found = await runner.read(() => ({ sql: sql.count, values: [] }));
      return reader.toCounts(found);
    },

    async claimDue({ kind, limit, lease }) {
      // A record might become due, or its time might go back, between the two: what was claimed is what counts.
      const [order = [], claimed = []] = await runner.write({ mustCommit: true, mustSync: false }, (now) => [
        { sql: sql.dueKeys, values: [kind, limit, ...now] },
        { sql: sql.claimDue, values: [kind, limit, Math.ceil(lease), ...now] },
      ]);
      const ranks = new Map(order.map((row, rank) => [Object(row).key, rank]));
      const rankOf = ({ key }: ListedRecord) => ranks.get(key) ?? order.length;
      return claimed.map(reader.toListedRecord).sort((one, other) => rankOf(one) - rankOf(other));
    },

    async countDue({ kind }) {
      const [row] = await runner.read((now) => ({ sql: sql.countDue, values: [kind, ...now] }));
      return reader.toDue(row);
    },

    async delete(records) {
      const pairs = JSON.stringify(records.map(({ key, version }) => [key, version]));
      const [deleted = []] = await runner.write({ mustCommit: true, mustSync: true }, () => [
        { sql: sql.delete, values: [pairs] },
      ]);
      return deleted.length;
    },
  };
}
