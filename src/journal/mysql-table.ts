/**
 * The table of a journal in MySQL and MariaDB, and its statements. No value is a parameter: text is written in
 * hexadecimal. So neither the SQL mode and the character set of a connection nor the options of mysql2 can change it.
 */

import { JournalError } from '../errors.ts';
import { assertTableName } from './sql.ts';
import {
  type JournalStore,
  type ListQuery,
  MAX_DUE_IN,
  MAX_KEYS_OF_REFERENCE,
  type RecordChange,
  type RecordKind,
  type RecordWrite,
  toStoredTime,
} from './store.ts';

/**
 * Returns the statement that makes the table, for a merchant's own migrations. It can run any number of times, and ends with
 * a semicolon.
 *
 * @throws {ConfigurationError} if `table` is not a plain name in lower case.
 */
export const mysqlSchema = (table = 'payments_journal'): string => `${createTable(table)};\n`;

/** The longest texts that the columns hold: keys and versions in bytes, references in characters. */
const MAX_KEY_BYTES = 1020;
const MAX_VERSION_BYTES = 128;
const MAX_REFERENCE_CHARS = 255;

/** Returns the statement of {@link mysqlSchema}. */
export function createTable(table: string): string {
  assertTableName(table);
  const text = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
  // Keys are bytes: a collation of text that both servers have would take a key and one with a space at its end for one.
  return `CREATE TABLE IF NOT EXISTS ${quoteTable(table)} (
  \`key\` VARBINARY(${MAX_KEY_BYTES}) NOT NULL,
  version VARBINARY(${MAX_VERSION_BYTES}) NOT NULL,
  record LONGTEXT ${text} NOT NULL,
  written_at BIGINT NOT NULL,
  kind VARCHAR(32) ${text} NULL,
  state VARCHAR(32) ${text} NULL,
  created_at BIGINT NULL,
  reference VARCHAR(${MAX_REFERENCE_CHARS}) ${text} NULL,
  due_at BIGINT NULL,
  due_before BIGINT NULL,
  due_claim BINARY(16) NULL,
  PRIMARY KEY (\`key\`),
  KEY state (state, created_at, \`key\`),
  KEY reference (reference, created_at, \`key\`),
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

/** What `claimDue` of a store is given. */
type DueClaim = Parameters<NonNullable<JournalStore['claimDue']>>[0];

export type MysqlStatements = ReturnType<typeof buildMysqlStatements>;

/** The columns of a record that was read, as bytes: as text it would be converted to the character set of the connection. */
const READ_COLUMNS = `version, CAST(record AS BINARY) AS record, ${NOW} - written_at AS age`;

/** Those of one that was listed. */
const LISTED_COLUMNS = `\`key\`, ${READ_COLUMNS}, created_at AS created`;

/**
 * MariaDB refuses an UPDATE that reads a derived table as a whole, if a session has `sql_safe_updates = 1`. For MySQL, which does
 * not, it is a comment.
 */
const UPDATE_JOINED = '/*M! SET STATEMENT sql_safe_updates = 0 FOR */ UPDATE';

/** A clock that went back leaves times later than a write does. */
const IS_TOO_LATE = `due_at > ${NOW} + ${MAX_DUE_IN}`;
const IS_DUE = `due_at <= ${NOW}`;

/** Builds the statements: each step of the journal is one. */
export function buildMysqlStatements(table: string) {
  const records = quoteTable(table);
  /** With an index named, a small table is not read as a whole either. A read that locks would wait for all others. */
  const by = (index: string) => `${records} FORCE INDEX (${index})`;
  const dueOf = (kind: RecordKind) => `${by('due_at')} WHERE kind = ${toText(kind)} AND`;

  return {
    read: (key: string) => `SELECT ${READ_COLUMNS} FROM ${records} WHERE \`key\` = ${toKey(key)}`,

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

    list: ({ by: column, value, after, limit }: ListQuery) => {
      const wanted = column === 'reference' ? toReference(value) : toText(value);
      const createdAt = toTime(after?.createdAt ?? 0);
      const position = after
        ? ` AND created_at >= ${createdAt} AND (created_at > ${createdAt} OR \`key\` > ${toBytes(after.key)})`
        : '';
      return `SELECT ${LISTED_COLUMNS} FROM ${by(column)} WHERE ${column} = ${wanted}${position}
      ORDER BY created_at, \`key\` LIMIT ${toNumber(limit)}`;
    },

    // A limit of a session would hold for the whole union.
    listByReferences: (references: readonly string[]) => {
      const parts = references.map(
        (reference) => `(SELECT ${LISTED_COLUMNS} FROM ${by('reference')}
        WHERE reference = ${toReference(reference)} LIMIT ${MAX_KEYS_OF_REFERENCE})`,
      );
      return `SELECT * FROM (${parts.join(' UNION ALL ')}) AS found
      LIMIT ${references.length * MAX_KEYS_OF_REFERENCE}`;
    },

    // With a limit of its own, the limit of a session does not hold. There are seven states.
    count: () =>
      `SELECT state, COUNT(*) AS records FROM ${records} WHERE state IS NOT NULL GROUP BY state LIMIT 100`,

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
      SET kept.due_before = found.due_at, kept.due_claim = ${toHex(id)},
        kept.due_at = LAST_INSERT_ID(${NOW} + ${toNumber(Math.ceil(lease))})
      WHERE kept.${IS_DUE} OR kept.${IS_TOO_LATE}`,

    /** Reads the records that `claimDue` has marked, by its `insertId`. */
    readClaimed: (id: Uint8Array, kind: RecordKind, dueAt: number) =>
      `SELECT ${LISTED_COLUMNS} FROM ${dueOf(kind)} due_at = ${toNumber(dueAt)} AND due_claim = ${toHex(id)}
      ORDER BY due_before, \`key\` LIMIT 1000000`,

    countDue: (kind: RecordKind) =>
      `SELECT
        (SELECT COUNT(*) FROM ${dueOf(kind)} ${IS_DUE}) + (SELECT COUNT(*) FROM ${dueOf(kind)} ${IS_TOO_LATE}) AS due,
        (SELECT MIN(due_at) FROM ${dueOf(kind)} due_at > ${NOW} AND due_at <= ${NOW} + ${MAX_DUE_IN}) - ${NOW} AS later`,

    // The keys alone find the records through their index.
    delete: (unneeded: readonly { readonly key: string; readonly version: string }[]) => {
      const pairs = unneeded.map(({ key, version }) => `(${toKey(key)}, ${toVersion(version)})`);
      return `DELETE FROM ${records} WHERE ${hasKeyOf(unneeded)} AND (\`key\`, version) IN (${pairs.join(', ')})`;
    },

    /** Reads the storage engine of the table. */
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
  'written_at',
  'kind',
  'state',
  'created_at',
  'reference',
  'due_at',
  'due_before',
  'due_claim',
] as const;

const hasKeyOf = (named: readonly { readonly key: string }[]) =>
  `\`key\` IN (${named.map(({ key }) => toKey(key)).join(', ')})`;

/** Returns the values of a write, in the order of {@link COLUMNS}. */
function toColumns({ version, text, index, dueIn }: RecordChange): Record<(typeof COLUMNS)[number], string> {
  return {
    version: toVersion(version),
    record: toText(text),
    written_at: NOW,
    kind: index ? toText(index.kind) : 'NULL',
    state: index ? toText(index.state.slice(0, 32)) : 'NULL',
    created_at: index ? toTime(index.createdAt) : 'NULL',
    reference: index && index.reference !== null ? toReference(index.reference) : 'NULL',
    due_at: dueIn === null ? 'NULL' : `${NOW} + ${toNumber(Math.ceil(dueIn))}`,
    due_before: 'NULL',
    due_claim: 'NULL',
  };
}

const toTime = (milliseconds: number) => toNumber(toStoredTime(milliseconds));

/** @throws {JournalError} if it is not a whole number. */
function toNumber(value: number): string {
  if (Number.isInteger(value)) return BigInt(value).toString();
  throw new JournalError(
    'The journal was to write what is not a whole number. Nothing was recorded or sent.',
  );
}

const utf8 = new TextEncoder();
const HEX_BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

const toHex = (bytes: Uint8Array) => `x'${Array.from(bytes, (byte) => HEX_BYTES[byte]).join('')}'`;

const toBytes = (text: string) => toHex(utf8.encode(text));

/** Text of utf8mb4, whatever the character set of the connection is. */
const toText = (text: string) => `_utf8mb4 ${toBytes(text)}`;

/** A longer one is found by its beginning. The journal compares the whole of what it finds. */
const toReference = (reference: string) =>
  toText(Array.from(reference).slice(0, MAX_REFERENCE_CHARS).join(''));

const toKey = (key: string) => toLimited(key, MAX_KEY_BYTES);
const toVersion = (version: string) => toLimited(version, MAX_VERSION_BYTES);

/** Without strict mode the server would cut off what is too long, and two keys could become one. */
function toLimited(text: string, maxBytes: number): string {
  const bytes = utf8.encode(text);
  if (bytes.length <= maxBytes) return toHex(bytes);
  throw new JournalError(
    `A key of this journal has at most 255 characters, ${maxBytes} bytes. Nothing was recorded or sent.`,
  );
}
