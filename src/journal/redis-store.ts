import { createDigest } from '../digest.ts';
import { JournalError } from '../errors.ts';
import { CLAIM_DUE, COUNT, COUNT_DUE, DELETE, LIST, READ, WRITE } from './redis-scripts.ts';
import {
  type JournalStore,
  type ListedRecord,
  NoJournalError,
  type RecordIndex,
  toStoredTime,
} from './store.ts';

/** Sends one command to Redis. */
export type SendCommand = (command: string, ...args: string[]) => Promise<unknown>;

/** Creates a store in Redis, under names that begin with `prefix`. Each step is one script. */
export function createRedisStore(command: SendCommand, prefix: string): JournalStore {
  const index = `${prefix}\tindex`;
  const digests = new Map<string, Promise<string>>();
  const run = async (script: string, names: string[], ...values: string[]) => {
    const digest = digests.get(script) ?? createDigest('SHA-1', script);
    digests.set(script, digest);
    const given = [String(names.length), ...names, ...values];
    try {
      // Redis finds the script by its digest. The text would cost Redis and this process twice the CPU.
      return await command('EVALSHA', await digest, ...given).catch((error: unknown) => {
        if (!isUnknownScript(error)) throw error;
        return command('EVAL', script, ...given);
      });
    } catch (error) {
      throw toClusterError(error);
    }
  };

  const readList = async (script: string, names: string[], ...values: string[]) => {
    const reply = await run(script, names, ...values);
    if (reply !== null) return parseList(reply);
    throw new NoJournalError(
      `The first charge makes it. Is this the Redis of the shop, and "${prefix}" its prefix?`,
    );
  };

  return {
    async read(key) {
      const found = await readList(READ, [prefix + key, index]);
      if (found.length === 0) return null;
      const [version, text, age] = found;
      return { version: String(version), text: String(text), age: Number(age) };
    },

    async write(key, { expected, version, text, index: indexed, dueIn }) {
      const values = [...indexValues(indexed), dueIn === null ? '' : String(Math.ceil(dueIn))];
      return parseWriteReply(
        await run(WRITE, [prefix + key, index], expected ?? '', version, text, ...values),
      );
    },

    async list({ by, value, after, limit }) {
      const start = `${by === 'state' ? 's' : 'r'}\t${value}\t`;
      const from = after ? `(${start}${toDigits(after.createdAt)}\t${after.key}` : `[${start}`;
      // A colon comes after all digits.
      return (await readList(LIST, [index], from, `(${start}:`, String(limit))).map(toListedRecord);
    },

    async count() {
      const counts = (await readList(COUNT, [index])).map(parseList);
      return Object.fromEntries(counts.map(([state, count]) => [String(state), Number(count)]));
    },

    async claimDue({ kind, limit, lease }) {
      const claimed = await run(CLAIM_DUE, [index], kind, String(limit), String(Math.ceil(lease)));
      return parseList(claimed).map(toListedRecord);
    },

    async countDue({ kind }) {
      const [due, nextIn] = parseList(await run(COUNT_DUE, [index], kind));
      return { due: Number(due), nextIn: nextIn === '' ? null : Number(nextIn) };
    },

    async delete(records) {
      const names = records.map(({ key }) => prefix + key);
      const deleted = Number(await run(DELETE, [...names, index], ...records.map(({ version }) => version)));
      if (Number.isNaN(deleted)) throw multiError();
      return deleted;
    },
  };
}

/** Whether Redis does not have the script: it has started since, for example. Nothing was executed. */
const isUnknownScript = (error: unknown) => /^NOSCRIPT\b/.test(String(Object(error).message));

function indexValues(index: RecordIndex | null): string[] {
  return index
    ? [index.state, toDigits(index.createdAt), index.reference ?? '', index.kind]
    : ['', '', '', ''];
}

/** With as many digits each, times are in order as text too. */
const toDigits = (milliseconds: number) => String(toStoredTime(milliseconds)).padStart(16, '0');

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
