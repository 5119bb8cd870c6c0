/**
 * The two tables of a journal in MySQL and MariaDB, and its statements. No value is a parameter: text is written in
 * hexadecimal. So neither the SQL mode and the character set of a connection nor the options of mysql2 can change it.
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { MAX_CLOCK_STEP, MIN_CLOCK_STEP } from './retention.ts';
import { type ListQuery, MAX_DUE_IN, type RecordChange, type RecordIndex } from './store.ts';

/**
 * Returns the statements that make the two tables, for a merchant's own migrations. They can run any number of times. Each
 * ends with a semicolon at the end of a line. The second table holds one row: the time that `retention` is measured with.
 *
 * @throws {ConfigurationError} if `table` is not a plain name in lower case.
 */
export function mysqlSchema(table = 'payments_journal'): string {
  return mysqlSchemaStatements(table)
    .map((statement) => `${statement};\n`)
    .join('');
}

/** The longest texts that the columns hold: keys and versions in bytes, references in characters. */
const MAX_KEY_BYTES = 1020;
const MAX_VERSION_BYTES = 128;
const MAX_REFERENCE_CHARS = 255;

/** Returns the statements of {@link mysqlSchema}, one by one. */
export function mysqlSchemaStatements(table: string): readonly string[] {
  if (typeof table !== 'string' || !/^(?:[a-z_][a-z\d_]{0,62}\.)?[a-z_][a-z\d_]{0,50}$/.test(table))
    throw new ConfigurationError('table must be a plain name in lower case, such as payments_journal.');
  const { records, clock } = quoteTables(table);
  const text = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
  // Keys are bytes: a collation of text that both servers have would take a key and one with a space at its end for one.
  return [
    `CREATE TABLE IF NOT EXISTS ${records} (
  \`key\` VARBINARY(${MAX_KEY_BYTES}) NOT NULL,
  version VARBINARY(${MAX_VERSION_BYTES}) NOT NULL,
  record LONGTEXT ${text} NOT NULL,
  written_at BIGINT NOT NULL,
  kept_until BIGINT NULL,
  state VARCHAR(32) ${text} NULL,
  created_at BIGINT NULL,
  reference VARCHAR(${MAX_REFERENCE_CHARS}) ${text} NULL,
  due_at BIGINT NULL,
  due_before BIGINT NULL,
  due_claim BINARY(16) NULL,
  PRIMARY KEY (\`key\`),
  KEY kept_until (kept_until),
  KEY state (state, created_at, \`key\`),
  KEY reference (reference, created_at, \`key\`),
  KEY due_at (due_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
    `CREATE TABLE IF NOT EXISTS ${clock} (
  id INT NOT NULL PRIMARY KEY,
  counted BIGINT NOT NULL,
  told_at BIGINT NOT NULL
) ENGINE = InnoDB`,
    `INSERT IGNORE INTO ${clock} (id, counted, told_at) VALUES (1, 0, ${NOW})`,
  ];
}

/**
 * The server's clock, in milliseconds since 1970. It is the same in each time zone, and through the whole statement.
 * `SYSDATE` and `UNIX_TIMESTAMP` of it would repeat an hour in time zones that set their clocks back.
 */
const NOW = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)";

/** A plain name can still be a word of SQL, such as `order`. */
function quoteTables(table: string): { records: string; clock: string } {
  const quote = (name: string) => name.replace(/[^.]+/g, '`$&`');
  return { records: quote(table), clock: quote(`${table}_clock`) };
}

/** Each is one statement. */
export interface MysqlStatements {
  read(key: string): string;
  insert(key: string, change: RecordChange, keptUntil: number | null): string;
  /** The record must have the version `expected`. */
  update(key: string, change: RecordChange, keptUntil: number | null, expected: string): string;
  /** Reads the time that `retention` is measured with. */
  readTime(): string;
  /** Adds what the clock shows since the last count. */
  countTime(): string;
  /** Deletes some records that were kept until a counted time. */
  dropExpired(counted: number): string;
  /** Deletes the record of a key if it was kept until a counted time. */
  dropExpiredKey(key: string, counted: number): string;
  list(query: ListQuery): string;
  count(): string;
  /** Makes due records due again later, and marks them with a claim of 16 bytes. Its `insertId` is when they are due. */
  claimDue(claim: Uint8Array, limit: number, lease: number): string;
  /** Reads the records that `claimDue` has marked, by its `insertId`. */
  readClaimed(claim: Uint8Array, dueAt: number): string;
  countDue(): string;
  /** Reads the storage engine of the table. */
  readEngine(): string;
}

/** The columns of a record that was read, as bytes: as text it would be converted to the character set of the connection. */
const READ_COLUMNS = `version, CAST(record AS BINARY) AS record, ${NOW} - written_at AS age`;

/** Those of one that was listed. */
const LISTED_COLUMNS = `\`key\`, ${READ_COLUMNS}, created_at`;

/** The time since the counted time was recorded, in milliseconds. */
const CLOCK_STEP = `(${NOW} - told_at)`;

/** A clock that went back leaves times later than a write does. */
const IS_TOO_LATE = `due_at > ${NOW} + ${MAX_DUE_IN}`;
const IS_DUE = `due_at <= ${NOW}`;

export function buildMysqlStatements(table: string): MysqlStatements {
  const { records, clock } = quoteTables(table);
  /** With an index named, a small table is not read as a whole either. A read that locks would wait for all others. */
  const by = (index: string) => `${records} FORCE INDEX (${index})`;
  /** A derived table with a limit is read first. It locks what it finds, and waits for no lock of others. */
  const lockFirst = (columns: string, from: string, limit: number) =>
    `(SELECT ${columns} FROM ${from} LIMIT ${toNumber(limit)} FOR UPDATE SKIP LOCKED) AS found`;

  return {
    read: (key) => `SELECT ${READ_COLUMNS} FROM ${records} WHERE \`key\` = ${toKey(key)}`,

    insert: (key, change, keptUntil) => {
      const columns = toColumns(change, keptUntil);
      const names = columns.map(([name]) => name).join(', ');
      const values = columns.map(([, value]) => value).join(', ');
      return `INSERT INTO ${records} (\`key\`, ${names}) VALUES (${toKey(key)}, ${values})`;
    },

    update: (key, change, keptUntil, expected) => {
      const columns = toColumns(change, keptUntil).map(([name, value]) => `${name} = ${value}`);
      return `UPDATE ${records} SET ${columns.join(', ')} WHERE \`key\` = ${toKey(key)} AND version = ${toVersion(expected)}`;
    },

    // What the clock went back is taken away once it is recorded. Until then it must not make a new record look old.
    readTime: () =>
      `SELECT counted + LEAST(${CLOCK_STEP}, ${MAX_CLOCK_STEP}) AS counted,
        counted + GREATEST(LEAST(${CLOCK_STEP}, ${MAX_CLOCK_STEP}), 0) AS stamped,
        ABS(${CLOCK_STEP}) >= ${MIN_CLOCK_STEP} AS is_count_due,
        (SELECT MIN(kept_until) FROM ${records}) AS next_expiry
      FROM ${clock} WHERE id = 1`,

    countTime: () =>
      `UPDATE ${lockFirst('*', `${clock} WHERE id = 1 AND ABS(${CLOCK_STEP}) >= ${MIN_CLOCK_STEP}`, 1)}
      STRAIGHT_JOIN ${clock} AS kept FORCE INDEX (PRIMARY) ON kept.id = found.id AND kept.told_at = found.told_at
      SET kept.counted = found.counted + LEAST(${NOW} - found.told_at, ${MAX_CLOCK_STEP}), kept.told_at = ${NOW}`,

    // Each write deletes more than it adds, and never so much that it takes long.
    dropExpired: (counted) =>
      `DELETE kept FROM ${lockFirst('`key`', `${by('kept_until')} WHERE kept_until <= ${toNumber(counted)} ORDER BY kept_until`, 10)}
      STRAIGHT_JOIN ${records} AS kept FORCE INDEX (PRIMARY) ON kept.\`key\` = found.\`key\`
      WHERE kept.kept_until <= ${toNumber(counted)}`,

    dropExpiredKey: (key, counted) =>
      `DELETE FROM ${records} WHERE \`key\` = ${toKey(key)} AND kept_until <= ${toNumber(counted)}`,

    list: ({ by: column, value, after, limit }) => {
      const wanted = column === 'reference' ? toReference(value) : toText(value);
      const createdAt = toTime(after?.createdAt ?? 0);
      const position = after
        ? ` AND created_at >= ${createdAt} AND (created_at > ${createdAt} OR \`key\` > ${toBytes(after.key)})`
        : '';
      return `SELECT ${LISTED_COLUMNS} FROM ${by(column)} WHERE ${column} = ${wanted}${position}
      ORDER BY created_at, \`key\` LIMIT ${toNumber(limit)}`;
    },

    // With a limit of its own, the limit of a session does not hold. There are six states.
    count: () =>
      `SELECT state, COUNT(*) AS records FROM ${records} WHERE state IS NOT NULL GROUP BY state LIMIT 100`,

    // The last condition is checked when the record is locked: two callers never get one record.
    claimDue: (claim, limit, lease) =>
      `UPDATE ${lockFirst('`key`, due_at', `${by('due_at')} WHERE ${IS_DUE} OR ${IS_TOO_LATE} ORDER BY due_at`, limit)}
      STRAIGHT_JOIN ${records} AS kept FORCE INDEX (PRIMARY) ON kept.\`key\` = found.\`key\`
      SET kept.due_before = found.due_at, kept.due_claim = ${toHex(claim)},
        kept.due_at = LAST_INSERT_ID(${NOW} + ${toNumber(Math.ceil(lease))})
      WHERE kept.${IS_DUE} OR kept.${IS_TOO_LATE}`,

    readClaimed: (claim, dueAt) =>
      `SELECT ${LISTED_COLUMNS} FROM ${by('due_at')}
      WHERE due_at = ${toNumber(dueAt)} AND due_claim = ${toHex(claim)} ORDER BY due_before, \`key\` LIMIT 1000000`,

    countDue: () =>
      `SELECT
        (SELECT COUNT(*) FROM ${by('due_at')} WHERE ${IS_DUE}) +
        (SELECT COUNT(*) FROM ${by('due_at')} WHERE ${IS_TOO_LATE}) AS due,
        (SELECT MIN(due_at) FROM ${by('due_at')} WHERE due_at > ${NOW} AND due_at <= ${NOW} + ${MAX_DUE_IN}) - ${NOW}
          AS next_in`,

    readEngine: () => {
      const [name = '', database] = table.split('.').reverse();
      return `SELECT ENGINE AS engine FROM information_schema.TABLES
        WHERE TABLE_SCHEMA = ${database === undefined ? 'DATABASE()' : toText(database)} AND TABLE_NAME = ${toText(name)}`;
    },
  };
}

/** Returns the columns that each write sets, but the key. */
function toColumns(
  { version, text, index, dueIn }: RecordChange,
  keptUntil: number | null,
): readonly (readonly [string, string])[] {
  return [
    ['version', toVersion(version)],
    ['record', toText(text)],
    ['written_at', NOW],
    ['kept_until', keptUntil === null ? 'NULL' : toNumber(keptUntil)],
    ...toIndexColumns(index),
    ['due_at', dueIn === null ? 'NULL' : `${NOW} + ${toNumber(Math.ceil(dueIn))}`],
    ['due_before', 'NULL'],
    ['due_claim', 'NULL'],
  ];
}

function toIndexColumns(index: RecordIndex | null): readonly (readonly [string, string])[] {
  return [
    ['state', index ? toText(index.state.slice(0, 32)) : 'NULL'],
    ['created_at', index ? toTime(index.createdAt) : 'NULL'],
    ['reference', index && index.reference !== null ? toReference(index.reference) : 'NULL'],
  ];
}

/** The latest time of JavaScript's dates, in milliseconds since 1970. */
const MAX_TIME = 8.64e15;

const toTime = (milliseconds: number) => toNumber(Math.round(Math.min(Math.max(milliseconds, 0), MAX_TIME)));

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
