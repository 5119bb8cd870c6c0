/** The store of a journal in a database of the SQLite family. */

import {
  type JournalStore,
  NoJournalError,
  type RecordIndex,
  type RecordWrite,
  type StoreRead,
  toStoredTime,
} from '../../journal/store.ts';
import { createRowReader } from '../sql.ts';
import type { SqliteRunner, SqliteStatement } from './handle.ts';
import { buildSchema, buildStatements } from './table.ts';

const reader = createRowReader();

/** Returns what handles an error: if it says that there is no table yet, by `run`. */
const ifNew =
  <T>(run: () => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (error instanceof NoJournalError) return run();
    throw error;
  };

const toColumns = ({ kind, createdAt, attentionAt, dueAt }: RecordIndex) => [
  kind,
  ...[createdAt, attentionAt, dueAt].map((time) => (time === null ? null : toStoredTime(time))),
];

export function createSqliteStore(runner: SqliteRunner, table: string) {
  const sql = buildStatements(table, runner.now);

  const toStatement = ({ key, change }: RecordWrite): SqliteStatement => {
    const { expected, version, text, index } = change;
    const values = [key, version, text, ...(index ? toColumns(index) : [null, null, null, null])];
    return expected === null
      ? { sql: sql.insert, values }
      : { sql: sql.update, values: [...values, expected] };
  };
  const writeAll = async (writes: readonly RecordWrite[]) => {
    const needs = { mustCommit: writes.some(({ change }) => change.mustCommit), mustSync: true };
    const write = () => runner.write(needs, () => writes.map(toStatement));
    const makeTable = () => runner.write(needs, () => buildSchema(table).map((sql) => ({ sql, values: [] })));
    const written = await write().catch(ifNew(() => makeTable().then(write)));
    return writes.map((_, index) => written[index]?.length === 1);
  };
  const read = (build: (now: readonly number[]) => SqliteStatement) => runner.read(build, sql.touch);
  const readNow = async () => {
    const [row] = await runner.read((now) => ({ sql: sql.now, values: now }));
    return reader.toNumber(Object(row).now);
  };

  return {
    ...(runner.groupsWrites ? { writeAll } : {}),

    read(key) {
      return read((now) => ({ sql: sql.read, values: [key, ...now] }))
        .then(([row]) => reader.toRead(row))
        .catch(ifNew<StoreRead>(async () => ({ record: null, now: await readNow(), isNew: true })));
    },

    async write(key, change) {
      const [isWritten = false] = await writeAll([{ key, change }]);
      return isWritten;
    },

    async list({ by, after, limit }) {
      const values = [after?.at ?? -1, after?.key ?? '', limit];
      const found = await read((now) => ({ sql: sql.list[by], values: [...values, ...now] }));
      return found.map(reader.toListedRecord);
    },

    async count() {
      const [row] = await read((now) => ({ sql: sql.count, values: now }));
      return reader.toCount(row);
    },

    async claimDue({ kind, limit, lease }) {
      const [clock = [], due = [], claimed = []] = await runner
        .write({ mustCommit: true, mustSync: false }, (now) => [
          { sql: sql.now, values: now },
          { sql: sql.selectDue, values: [kind, limit, ...now] },
          { sql: sql.claimDue, values: [kind, limit, Math.ceil(lease), ...now] },
        ])
        .catch(ifNew(async () => [[{ now: await readNow() }]]));
      const now = reader.toNumber(Object(clock[0]).now);
      const times = new Map(due.map((row) => [Object(row).key, Object(row).at]));
      // A record might become due between the two statements, or its time might go back: what was claimed is what counts.
      const records = claimed.map((row) =>
        reader.toListedRecord({ ...Object(row), at: times.get(Object(row).key) ?? now }),
      );
      return { records: records.sort((one, other) => one.at - other.at), now };
    },

    countDue({ kind }) {
      return read((now) => ({ sql: sql.countDue, values: [kind, ...now] }))
        .then(([row]) => reader.toDue(row))
        .catch(ifNew(async () => ({ due: 0, nextIn: null })));
    },

    async delete(records) {
      const pairs = JSON.stringify(records.map(({ key, version }) => [key, version]));
      const [deleted = []] = await runner.write({ mustCommit: true, mustSync: true }, () => [
        { sql: sql.delete, values: [pairs] },
      ]);
      return deleted.length;
    },
  } satisfies JournalStore;
}
