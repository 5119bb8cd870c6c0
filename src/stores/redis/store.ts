import { JournalError } from '../../errors.ts';
import {
  type JournalStore,
  type ListedRecord,
  NoJournalError,
  type RecordIndex,
  toStoredTime,
} from '../../journal/store.ts';
import { createDigest } from '../../support/digest.ts';
import type { SendCommand } from './client.ts';
import { CLAIM_DUE, COUNT, COUNT_DUE, DELETE, LIST, READ, WRITE } from './scripts.ts';

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

  const readIndex = async (script: string, ...values: string[]) => {
    const reply = await run(script, [index], ...values);
    if (reply !== null) return parseList(reply);
    throw new NoJournalError(
      `The first charge makes it. Is this the Redis of the shop, and "${prefix}" its prefix?`,
    );
  };

  return {
    async read(key) {
      const [now, hasIndex, version, text] = parseList(await run(READ, [prefix + key, index]));
      const isNew = version === undefined && hasIndex === '0';
      const record = version === undefined ? null : { version: String(version), text: String(text) };
      return { record, now: Number(now), ...(isNew && { isNew }) };
    },

    async write(key, { expected, version, text, index: indexed }) {
      const values = [expected ?? '', version, text, ...toPlaces(indexed)];
      return parseWriteReply(await run(WRITE, [prefix + key, index], ...values));
    },

    async list({ by, after, limit }) {
      const position = after ? `${toDigits(after.at)}\t${after.key}` : '';
      return (await readIndex(LIST, by, position, String(limit))).map(toListedRecord);
    },

    async count() {
      const [records, attention] = await readIndex(COUNT);
      return { records: Number(records), attention: Number(attention) };
    },

    async claimDue({ kind, limit, lease }) {
      const claimed = await run(CLAIM_DUE, [index], kind, String(limit), String(Math.ceil(lease)));
      const [now, records] = parseList(claimed);
      return { records: parseList(records).map(toListedRecord), now: Number(now) };
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

/** Returns what a record's members of the index are without its key; an empty text for one that it does not have. */
function toPlaces(index: RecordIndex | null): string[] {
  if (!index) return ['', '', ''];
  const { kind, createdAt, attentionAt, dueAt } = index;
  const toPlace = (start: string, at: number | null) => (at === null ? '' : `${start}\t${toDigits(at)}`);
  return [toPlace('c', createdAt), toPlace('a', attentionAt), toPlace(`d\t${kind}`, dueAt)];
}

/** With as many digits each, times are in order as text too. */
const toDigits = (milliseconds: number) => String(toStoredTime(milliseconds)).padStart(16, '0');

function toListedRecord(row: unknown): ListedRecord {
  const [key, at, version, text] = parseList(row);
  return { key: String(key), at: Number(at), version: String(version), text: String(text) };
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
