/** The store of a journal in MySQL or MariaDB. */

import type { JournalStore, RecordWrite } from '../../journal/store.ts';
import { createRowReader, explainMissingTable } from '../sql.ts';
import {
  createMysqlRunner,
  isDuplicateKey,
  isMissingTable,
  type MysqlClient,
  type MysqlRunner,
  type MysqlSession,
  type MysqlStep,
} from './connection.ts';
import { readMysqlWarnings } from './durability.ts';
import { buildMysqlStatements, createTable, type MysqlStatements } from './table.ts';

const reader = createRowReader();

export function openMysqlStore(client: MysqlClient, table: string) {
  const schema = createTable(table);
  const runner = createMysqlRunner(client);
  const statements = buildMysqlStatements(table);
  return {
    store: createStore(runner, statements),
    async migrate() {
      await runner.runCommitted(({ change }) => change(schema));
    },
    readWarnings: () => readMysqlWarnings(runner, statements.readEngine()),
  };
}

function createStore(runner: MysqlRunner, sql: MysqlStatements): Required<JournalStore> {
  const select = (statement: string) => runner.read(statement).catch(explainMissingTableMysql);
  const runWrite = <T>(mustCommit: boolean, step: MysqlStep<T>) =>
    (mustCommit ? runner.runCommitted(step) : runner.runAnywhere(step)).catch(explainMissingTableMysql);
  /** Returns `false` if one of the keys has a record: none is inserted then. */
  const insert = async ({ change }: MysqlSession, writes: readonly RecordWrite[]) => {
    try {
      return (await change(sql.insert(writes))).rows === writes.length;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  };
  const readVersions = async ({ select }: MysqlSession, writes: readonly RecordWrite[]) =>
    new Map((await select(sql.readVersions(writes))).map(({ key, version }) => [key, version]));
  /** Returns those that were made. */
  const insertAll = async (session: MysqlSession, writes: readonly RecordWrite[]) => {
    if (await insert(session, writes)) return writes;
    const found = await readVersions(session, writes);
    const free = writes.filter(({ key }) => !found.has(key));
    return free.length > 0 && (await insert(session, free)) ? free : [];
  };
  const updateAll = async (session: MysqlSession, writes: readonly RecordWrite[]) => {
    if ((await session.change(sql.updateAll(writes))).rows === writes.length) return writes;
    const found = await readVersions(session, writes);
    return writes.filter(({ key, change }) => found.get(key) === change.version);
  };

  return {
    async read(key) {
      const [row] = await select(sql.read(key));
      return reader.toRead(row);
    },

    write(key, change) {
      const { expected } = change;
      return runWrite(change.mustCommit, async (session) => {
        if (expected === null) return insert(session, [{ key, change }]);
        return (await session.change(sql.update(key, change, expected))).rows === 1;
      });
    },

    writeAll(writes) {
      const inserts = writes.filter(({ change }) => change.expected === null);
      const updates = writes.filter(({ change }) => change.expected !== null);
      return runWrite(writes[0]?.change.mustCommit !== false, async (session) => {
        const updated = updates.length > 0 ? await updateAll(session, updates) : [];
        const inserted = inserts.length > 0 ? await insertAll(session, inserts) : [];
        const written = new Set([...updated, ...inserted]);
        // Of the others it is not known whether they were overtaken or skipped.
        return writes.map((write) => written.has(write) || undefined);
      });
    },

    async list(query) {
      return (await select(sql.list(query))).map(reader.toListedRecord);
    },

    async count() {
      const [row] = await select(sql.count());
      return reader.toCount(row);
    },

    claimDue: (claim) =>
      runWrite(true, async (session) => {
        const id = crypto.getRandomValues(new Uint8Array(16));
        const lease = Math.ceil(claim.lease);
        // If nothing is due at the claim, nothing was due before it either. A time read after it could be too late.
        const [before] = await session.select(sql.readNow());
        const { rows: changed, insertId } = await session.change(sql.claimDue(id, { ...claim, lease }));
        if (changed === 0) return { records: [], now: reader.toNumber(before?.now) };
        const claimed = await session.select(sql.readClaimed(id, claim.kind, insertId));
        return { records: claimed.map(reader.toListedRecord), now: insertId - lease };
      }),

    async countDue({ kind }) {
      const [row] = await select(sql.countDue(kind));
      return reader.toDue(row);
    },

    async delete(records) {
      if (records.length === 0) return 0;
      return runWrite(true, async ({ change }) => (await change(sql.delete(records))).rows);
    },
  };
}

const explainMissingTableMysql = explainMissingTable(
  isMissingTable,
  'Nothing was recorded. Run journal.migrate(), or the text of mysqlSchema().',
);
