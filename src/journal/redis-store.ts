import { JournalError } from '../errors.ts';
import {
  CLAIM_DUE,
  COUNT,
  COUNT_DUE,
  COUNT_TIME,
  DELETE_EXPIRED,
  FORGET_KEYS,
  LIST,
  READ,
  SEARCH,
  WRITE,
} from './redis-scripts.ts';
import { RETENTION_MARGIN } from './retention.ts';
import type { JournalStore, ListedRecord, RecordIndex } from './store.ts';

/** Sends one command to Redis. */
export type Command = (command: string, ...args: string[]) => Promise<unknown>;

/** How long one call takes part in a search for records without an index, in milliseconds. The first search is completed. */
const SEARCH_BUDGET = 100;

/** Creates a store in Redis, under names that begin with `prefix`. Each step is one script. */
export function createRedisStore(command: Command, prefix: string): JournalStore {
  const index = `${prefix}\tindex`;
  const run = (script: string, names: string[], ...values: string[]) =>
    command('EVAL', script, String(names.length), ...names, ...values).catch((error: unknown) => {
      throw toClusterError(error);
    });

  const searchKeys = async () => {
    const startedAt = performance.now();
    for (;;) {
      const [state] = parseList(await run(SEARCH, [index]));
      if (state === 'done') return;
      if (state === 'again' && performance.now() - startedAt > SEARCH_BUDGET) return;
    }
  };
  const readIndex = async (script: string, ...values: string[]) => {
    let [state, ...found] = parseList(await run(script, [index], 'search', ...values));
    if (state !== 'done') {
      await searchKeys();
      [state, ...found] = parseList(await run(script, [index], '', ...values));
    }
    return found;
  };

  return {
    async read(key) {
      const found = await run(READ, [prefix + key]);
      if (found === null) return null;
      const [version, text, age] = parseList(found);
      return { version: String(version), text: String(text), age: Number(age) };
    },

    async write(key, { expected, version, text, ttl, index: indexed, dueIn }) {
      // If the time cannot be counted, the record is kept for ever.
      const time = ttl === null ? undefined : await countTime(run, prefix, key, ttl).catch(() => undefined);
      const record = [expected ?? '', version, text, time?.keptUntil ?? ''];
      const values = [...record, ...indexValues(indexed), dueIn === null ? '' : String(Math.ceil(dueIn))];
      const isWritten = parseWriteReply(await run(WRITE, [prefix + key, index], ...values));
      // In the background: the write does not wait for it.
      if (time && time.expiredKeys.length > 0) deleteExpired(run, prefix, time).catch(() => {});
      return isWritten;
    },

    async list({ by, value, after, limit }) {
      const start = `${by === 'state' ? 's' : 'r'}\t${value}\t`;
      const from = after ? `(${start}${toDigits(after.createdAt)}\t${after.key}` : `[${start}`;
      // A colon comes after all digits.
      return (await readIndex(LIST, from, `(${start}:`, String(limit))).map(toListedRecord);
    },

    async count() {
      const counts = (await readIndex(COUNT)).map(parseList);
      return Object.fromEntries(counts.map(([state, count]) => [String(state), Number(count)]));
    },

    async claimDue({ limit, lease }) {
      return (await readIndex(CLAIM_DUE, String(limit), String(Math.ceil(lease)))).map(toListedRecord);
    },

    async countDue() {
      const [due, nextIn] = await readIndex(COUNT_DUE);
      return { due: Number(due), nextIn: nextIn === '' ? null : Number(nextIn) };
    },
  };
}

type Run = (script: string, names: string[], ...values: string[]) => Promise<unknown>;

function indexValues(index: RecordIndex | null): string[] {
  return index ? [index.state, toDigits(index.createdAt), index.reference ?? ''] : ['', '', ''];
}

/** With as many digits each, times are in order as text too. */
const toDigits = (milliseconds: number) => Math.max(0, milliseconds).toFixed(0).padStart(16, '0');

function toListedRecord(row: unknown): ListedRecord {
  const [key, version, text, age, createdAt] = parseList(row);
  return {
    key: String(key),
    version: String(version),
    text: String(text),
    age: Number(age),
    createdAt: Number(createdAt),
  };
}

interface CountedTime {
  readonly now: string;
  readonly keptUntil: string;
  /** Keys whose records can be deleted. */
  readonly expiredKeys: string[];
}

/** In a cluster both are on one node. No idempotency key has a control character, so none has these names. */
const timeName = (prefix: string) => `${prefix}\t{retention}:time`;
const keysName = (prefix: string) => `${prefix}\t{retention}:keys`;

async function countTime(
  run: Run,
  prefix: string,
  key: string,
  ttl: number,
): Promise<CountedTime | undefined> {
  const names = [timeName(prefix), keysName(prefix)];
  const reply = await run(COUNT_TIME, names, key, String(ttl + RETENTION_MARGIN));
  const [now = '', keptUntil = '', ...expiredKeys] = parseList(reply).map(String);
  return { now, keptUntil, expiredKeys };
}

async function deleteExpired(run: Run, prefix: string, { now, expiredKeys }: CountedTime): Promise<void> {
  const index = `${prefix}\tindex`;
  await Promise.all(expiredKeys.map((key) => run(DELETE_EXPIRED, [prefix + key, index], now)));
  await run(FORGET_KEYS, [keysName(prefix)], now, ...expiredKeys);
}

/** A client can be set to return numbers as text. */
function parseWriteReply(reply: unknown): boolean {
  const text = String(reply);
  if (text === '1' || text === '0') return text === '1';
  throw multiError();
}

function parseList(reply: unknown): unknown[] {
  if (Array.isArray(reply)) return reply;
  throw multiError();
}

/** Inside a MULTI, Redis replies `QUEUED` to any command. */
function multiError(): JournalError {
  const message = "The journal's client is inside a MULTI: give it a connection of its own.";
  return new JournalError(message, { retryable: true });
}

/** Redis checks the names before it runs a script. */
function toClusterError(error: unknown): unknown {
  if (!/CROSSSLOT|same slot/i.test(String(Object(error).message))) return error;
  return new JournalError(
    'The Redis Cluster keeps this journal on several nodes, so nothing was recorded or sent. Give redisJournal a prefix ' +
      'with a hash tag, such as "{payments}:journal:".',
    { cause: error },
  );
}
