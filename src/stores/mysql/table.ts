/**
 * The table of a journal in MySQL and MariaDB, and its statements. No value is a parameter: text is written in
 * hexadecimal. So neither the SQL mode and the character set of a connection nor the options of mysql2 can change it.
 */

import { JournalError } from '../../errors.ts';
import {
  type JournalStore,
  type ListQuery,
  MAX_DUE_IN,
  type RecordChange,
  type RecordIndex,
  type RecordKind,
  type RecordWrite,
  toStoredTime,
} from '../../journal/store.ts';
import { assertTableName } from '../sql.ts';

/**
 * Returns the statement that makes the table, for a merchant's own migrations. It can run any number of times, and ends with
 * a semicolon.
 *
 * @throws {ConfigurationError} if `table` is not a plain name in lower case.
 */
export const mysqlSchema = (table = 'payments_journal'): string => `${createTable(table)};\n`;

/** The longest texts that the columns hold: keys have 600 characters of 4 bytes. An index of InnoDB has at most 3072 bytes. */
const MAX_KEY_BYTES = 2400;
const MAX_VERSION_BYTES = 128;

/** Returns the statement of {@link mysqlSchema}. */
export function createTable(table: string): string {
  assertTableName(table);
  const text = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
  // Keys are bytes: a collation of text that both servers have would take a key and one with a space at its end for one.
  return `CREATE TABLE IF NOT EXISTS ${quoteTable(table)} (
  \`key\` VARBINARY(${MAX_KEY_BYTES}) NOT NULL,
  version VARBINARY(${MAX_VERSION_BYTES}) NOT NULL,
  record LONGTEXT ${text} NOT NULL,
  kind VARCHAR(32) ${text} NULL,
  created_at BIGINT NULL,
  attention_at BIGINT NULL,
  due_at BIGINT NULL,
  due_before BIGINT NULL,
  due_claim BINARY(16) NULL,
  PRIMARY KEY (\`key\`),
  KEY created_at (created_at, \`key\`),
  KEY attention_at (attention_at, \`key\`),
  KEY due_at (kind, due_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`;
}

/**
 * The server's clock, in milliseconds since 1970. It is the same in each time zone, and through the whole statement.
 * `SYSDATE` and `UNIX_TIMESTAMP` of it would repeat an hour in time zones that set their clocks back.
 */
const NOW = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)";

/** A plain name can still be a word of SQL, such as `order`. */
const quoteTable = (table: string) => table.replace(/[^.]+/g, '`$&`');

type DueClaim = Parameters<NonNullable<JournalStore['claimDue']>>[0];

export type MysqlStatements = ReturnType<typeof buildMysqlStatements>;

/** The columns of a record, as bytes: as text it would be converted to the character set of the connection. */
const READ_COLUMNS = 'version, CAST(record AS BINARY) AS record';

/** The columns of the times that records are listed by. Each has an index of its name. */
const LISTED_BY = { createdAt: 'created_at', attentionAt: 'attention_at' } as const;

/**
 * MariaDB refuses an UPDATE that reads a derived table as a whole, if a session has `sql_safe_updates = 1`. For MySQL, which does
 * not, it is a comment.
 */
const UPDATE_JOINED = '/*M! SET STATEMENT sql_safe_updates = 0 FOR */ UPDATE';

/** A clock that went back leaves times later than a write does. */
const LATEST_DUE = `${NOW} + ${Math.round(MAX_DUE_IN)}`;
const IS_TOO_LATE = `due_at > ${LATEST_DUE}`;
const IS_DUE = `due_at <= ${NOW}`;
const NEEDS_ATTENTION = `attention_at <= ${NOW}`;

export function buildMysqlStatements(table: string) {
  const records = quoteTable(table);
  /** With an index named, a small table is not read as a whole either. A read that locks would wait for all others. */
  const by = (index: string) => `${records} FORCE INDEX (${index})`;
  const dueOf = (kind: RecordKind) => `${by('due_at')} WHERE kind = ${toText(kind)} AND`;

  return {
    /** Returns a row also if there is no record. */
    read: (key: string) =>
      `SELECT ${NOW} AS \`now\`, ${READ_COLUMNS} FROM (SELECT 1) AS one LEFT JOIN ${records} ON \`key\` = ${toKey(key)}`,

    readNow: () => `SELECT ${NOW} AS \`now\``,

    /** Of different keys, in order, so that two of these do not end in a deadlock. If one has a record, it fails as a whole. */
    insert: (writes: readonly RecordWrite[]) => {
      const rows = writes.map(
        ({ key, change }) => `(${[toKey(key), ...Object.values(toColumns(change))].join(', ')})`,
      );
      return `INSERT INTO ${records} (\`key\`, ${COLUMNS.join(', ')}) VALUES ${rows.sort().join(', ')}`;
    },

    update: (key: string, change: RecordChange, expected: string) => {
      const columns = Object.entries(toColumns(change)).map(([name, value]) => `${name} = ${value}`);
      return `UPDATE ${records} SET ${columns.join(', ')} WHERE \`key\` = ${toKey(key)} AND version = ${toVersion(expected)}`;
    },

    /**
     * Updates records of different keys, except those that another transaction has locked. As in claimDue, the derived table
     * with a limit is read first, and waits for no lock of others.
     */
    updateAll: (writes: readonly RecordWrite[]) => {
      const given = writes.map(({ key, change }) => {
        const columns = Object.entries({ ...toColumns(change), expected: toVersion(change.expected ?? '') });
        return `SELECT ${toKey(key)} AS \`key\`, ${columns.map(([name, value]) => `${value} AS ${name}`).join(', ')}`;
      });
      return `${UPDATE_JOINED} (SELECT \`key\` FROM ${by('PRIMARY')} WHERE ${hasKeyOf(writes)}
        LIMIT ${writes.length} FOR UPDATE SKIP LOCKED) AS free
      STRAIGHT_JOIN (${given.join(' UNION ALL ')}) AS given ON given.\`key\` = free.\`key\`
      STRAIGHT_JOIN ${records} AS kept FORCE INDEX (PRIMARY) ON kept.\`key\` = free.\`key\` AND kept.version = given.expected
      SET ${COLUMNS.map((name) => `kept.${name} = given.${name}`).join(', ')}`;
    },

    readVersions: (writes: readonly RecordWrite[]) =>
      `SELECT \`key\`, version FROM ${by('PRIMARY')} WHERE ${hasKeyOf(writes)} LIMIT ${writes.length}`,

    list: ({ by: time, after, limit }: ListQuery) => {
      const column = LISTED_BY[time];
      const at = toTime(after?.at ?? 0);
      const isAfter = after
        ? `(${column} > ${at} OR (${column} = ${at} AND \`key\` > ${toKey(after.key)}))`
        : `${column} >= ${at}`;
      return `SELECT \`key\`, ${READ_COLUMNS}, ${column} AS \`at\` FROM ${by(column)}
      WHERE ${isAfter}${time === 'attentionAt' ? ` AND ${NEEDS_ATTENTION}` : ''}
      ORDER BY ${column}, \`key\` LIMIT ${toNumber(limit)}`;
    },

    count: () =>
      `SELECT
        (SELECT COUNT(*) FROM ${by('created_at')} WHERE created_at >= 0) AS records,
        (SELECT COUNT(*) FROM ${by('attention_at')} WHERE ${NEEDS_ATTENTION}) AS attention`,

    /**
     * Makes due records due again later, and marks them with a claim of 16 bytes. Its `insertId` is when they are due.
     *
     * A derived table with a limit is read first: it locks what it finds, and waits for no lock of others. The last condition
     * is checked when the record is locked: two callers never get one record.
     */
    claimDue: (id: Uint8Array, { kind, limit, lease }: DueClaim) =>
      `${UPDATE_JOINED} (SELECT \`key\`, due_at FROM ${dueOf(kind)} (${IS_DUE} OR ${IS_TOO_LATE})
        ORDER BY due_at LIMIT ${toNumber(limit)} FOR UPDATE SKIP LOCKED) AS found
      STRAIGHT_JOIN ${records} AS kept FORCE INDEX (PRIMARY) ON kept.\`key\` = found.\`key\`
      SET kept.due_before = found.due_at, kept.due_claim = ${toHexLiteral(id)},
        kept.due_at = LAST_INSERT_ID(${NOW} + ${toNumber(lease)})
      WHERE kept.${IS_DUE} OR kept.${IS_TOO_LATE}`,

    readClaimed: (id: Uint8Array, kind: RecordKind, dueAt: number) =>
      `SELECT \`key\`, ${READ_COLUMNS}, due_before AS \`at\` FROM ${dueOf(kind)} due_at = ${toNumber(dueAt)} AND due_claim = ${toHexLiteral(id)}
      ORDER BY due_before, \`key\` LIMIT 1000000`,

    countDue: (kind: RecordKind) =>
      `SELECT
        (SELECT COUNT(*) FROM ${dueOf(kind)} ${IS_DUE}) + (SELECT COUNT(*) FROM ${dueOf(kind)} ${IS_TOO_LATE}) AS due,
        (SELECT MIN(due_at) FROM ${dueOf(kind)} due_at > ${NOW} AND due_at <= ${LATEST_DUE}) - ${NOW} AS later`,

    // The keys alone find the records through their index.
    delete: (unneeded: readonly { readonly key: string; readonly version: string }[]) => {
      const pairs = unneeded.map(({ key, version }) => `(${toKey(key)}, ${toVersion(version)})`);
      return `DELETE FROM ${records} WHERE ${hasKeyOf(unneeded)} AND (\`key\`, version) IN (${pairs.join(', ')})`;
    },

    readEngine: () => {
      const [name = '', database] = table.split('.').reverse();
      return `SELECT ENGINE AS engine FROM information_schema.TABLES
        WHERE TABLE_SCHEMA = ${database === undefined ? 'DATABASE()' : toText(database)} AND TABLE_NAME = ${toText(name)}`;
    },
  };
}

/** The columns that each write sets, but the key. */
const COLUMNS = [
  'version',
  'record',
  'kind',
  'created_at',
  'attention_at',
  'due_at',
  'due_before',
  'due_claim',
] as const;

const hasKeyOf = (named: readonly { readonly key: string }[]) =>
  `\`key\` IN (${named.map(({ key }) => toKey(key)).join(', ')})`;

/** Returns the values of a write, in the order of {@link COLUMNS}. */
function toColumns({ version, text, index }: RecordChange): Record<(typeof COLUMNS)[number], string> {
  return {
    version: toVersion(version),
    record: toText(text),
    ...(index ? toIndexColumns(index) : NO_INDEX),
    due_before: 'NULL',
    due_claim: 'NULL',
  };
}

const NO_INDEX = { kind: 'NULL', created_at: 'NULL', attention_at: 'NULL', due_at: 'NULL' };

const toIndexColumns = ({ kind, createdAt, attentionAt, dueAt }: RecordIndex): typeof NO_INDEX => ({
  kind: toText(kind),
  created_at: toTime(createdAt),
  attention_at: toTimeOrNull(attentionAt),
  due_at: toTimeOrNull(dueAt),
});

const toTime = (milliseconds: number) => toNumber(toStoredTime(milliseconds));
const toTimeOrNull = (milliseconds: number | null) => (milliseconds === null ? 'NULL' : toTime(milliseconds));

/** @throws {JournalError} if it is not a whole number. */
function toNumber(value: number): string {
  if (Number.isInteger(value)) return BigInt(value).toString();
  throw new JournalError(
    'The journal was to write what is not a whole number. Nothing was recorded or sent.',
  );
}

const utf8 = new TextEncoder();
const HEX_BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

const toHexLiteral = (bytes: Uint8Array) => `x'${Array.from(bytes, (byte) => HEX_BYTES[byte]).join('')}'`;

/** Text of utf8mb4, whatever the character set of the connection is. */
const toText = (text: string) => `_utf8mb4 ${toHexLiteral(utf8.encode(text))}`;

const toKey = (key: string) => toLimited('key', key, MAX_KEY_BYTES);
const toVersion = (version: string) => toLimited('version', version, MAX_VERSION_BYTES);

/** Without strict mode the server would cut off what is too long, and two keys could become one. */
function toLimited(name: string, text: string, maxBytes: number): string {
  const bytes = utf8.encode(text);
  if (bytes.length <= maxBytes) return toHexLiteral(bytes);
  throw new JournalError(
    `A ${name} in this journal's table has at most ${maxBytes} bytes. Nothing was recorded or sent. Use a shorter one.`,
  );
}
