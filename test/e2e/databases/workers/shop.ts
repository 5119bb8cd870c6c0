/**
 * A shop in workerd: the client and its journal run inside the Worker, and inside a Durable Object. A path is a place
 * (`d1` or `object`) and an action, which gets the body as JSON. Processes outside share what workerd keeps by the action
 * `statements`: it runs them on the D1 database itself, and through the handle of the object.
 */

import type {
  D1Database,
  DurableObjectNamespace,
  DurableObjectState,
  DurableObjectStorage,
} from '@cloudflare/workers-types';
import * as z from 'zod';
import { journalConformance } from '../../../../src/developers/conformance/index.ts';
import { createFollowUps } from '../../../../src/follow-ups/index.ts';
import { IdempotencyConflictError, PaymentsClient, PaymentsError } from '../../../../src/index.ts';
import { getRecords } from '../../../../src/journal/core.ts';
import {
  fromD1,
  fromDurableObject,
  type Journal,
  type SqliteJournalOptions,
  type SqliteStatement,
  sqliteJournal,
} from '../../../../src/stores/sqlite/index.ts';

interface Env {
  readonly DB: D1Database;
  readonly OBJECTS: DurableObjectNamespace;
  readonly LEGACY: DurableObjectNamespace;
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** What the actions need of the place that they run in. */
interface Place {
  readonly env: Env;
  runStatements(statements: readonly SqliteStatement[]): Promise<unknown>;
  /** A new one for each use, as another process would have. */
  openJournal(options?: SqliteJournalOptions): Journal;
}

/** A payment is due for its first check at once. */
const polling = { initialDelay: 0, minDelay: 50, maxDelay: 200 };

/** Longer than a charge takes on the busiest machine, in milliseconds. */
const LIMIT = 120_000;

const chargeSchema = z.object({ key: z.string(), amount: z.string().default('25.50') });

async function charge({ env, openJournal }: Place, input: unknown) {
  const { key, amount } = chargeSchema.parse(input);
  const { apiKey, baseUrl } = env;
  const journal = openJournal({ lease: LIMIT });
  const payments = new PaymentsClient({ apiKey, baseUrl, journal, polling, timeout: LIMIT, maxRetries: 1 });
  const customer = {
    customer_email: 'ama.serwaa@example.com',
    phone: '024 412 3456',
    network: 'mtn',
  } as const;
  try {
    const charged = await payments.chargeMobileMoney({ ...customer, amount }, { idempotencyKey: key });
    return { result: 'completed', reference: charged.reference, replayed: charged.replayed };
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    const result = error instanceof IdempotencyConflictError ? 'conflict' : (error.outcome ?? 'failed');
    return { result, message: error.message, retryable: error.retryable };
  }
}

/** Checks what is due, and returns what became final. */
async function sweep({ env, openJournal }: Place, onFinal: (key: string) => void) {
  const { apiKey, baseUrl } = env;
  const journal = openJournal();
  const payments = new PaymentsClient({ apiKey, baseUrl, journal, polling });
  const followUps = createFollowUps({
    payments,
    journal,
    onFinal: ({ key, transaction }) => onFinal(`${key} ${transaction.status}`),
    onAttention: () => {},
  });
  return followUps.sweep({ budget: 5_000 });
}

const keySchema = z.object({ key: z.string() });
const statementsSchema = z.array(
  z.object({ sql: z.string(), values: z.array(z.union([z.string(), z.number(), z.null()])) }),
);

const actions: Record<string, (place: Place, input: unknown) => Promise<unknown>> = {
  charge,
  read: ({ openJournal }, input) => openJournal().read(keySchema.parse(input).key),
  async list({ openJournal }) {
    const entries: unknown[] = [];
    for await (const entry of openJournal().list()) entries.push(entry);
    return entries;
  },
  statements: ({ runStatements }, input) => runStatements(statementsSchema.parse(input)),
  async sweep(place) {
    const finals: string[] = [];
    const { final } = await sweep(place, (key) => finals.push(key));
    return { final, finals };
  },
  /** Returns the cases that failed. */
  async conformance({ openJournal }) {
    const cases = journalConformance((table) => getRecords(openJournal({ table })).store);
    const queue = cases.values();
    const failed: string[] = [];
    const work = async () => {
      for (const { name, run } of queue)
        await run().catch((error: unknown) => failed.push(`${name}: ${error}`));
    };
    await Promise.all(Array.from({ length: 8 }, work));
    return { cases: cases.length, failed };
  },
};

/** Runs an action with the body of the request, and returns its result, or the message of its error. */
async function respond(run: (action: string, input: unknown) => Promise<unknown>, request: Request) {
  const action = decodeURIComponent(new URL(request.url).pathname.split('/')[2] ?? '');
  try {
    const result = await run(action, await request.json());
    return Response.json({ result: result ?? null });
  } catch (error) {
    return Response.json({ error: String(Object(error).message) });
  }
}

async function runAction(place: Place, action: string, input: unknown): Promise<unknown> {
  const run = actions[action];
  if (!run) throw new Error(`There is no action ${action}.`);
  return run(place, input);
}

export class Shop {
  readonly #state: DurableObjectState;
  readonly #storage: DurableObjectStorage;
  readonly #place: Place;

  constructor(state: DurableObjectState, env: Env) {
    const handle = fromDurableObject(state.storage);
    this.#state = state;
    this.#storage = state.storage;
    this.#place = {
      env,
      runStatements: (statements) => handle.batch(statements),
      openJournal: (options) => sqliteJournal(handle, options),
    };
    this.#storage.sql.exec('CREATE TABLE IF NOT EXISTS finals (payment TEXT)');
    this.#storage.sql.exec('CREATE TABLE IF NOT EXISTS orders (key TEXT)');
  }

  fetch(request: Request): Promise<Response> {
    return respond((action, input) => this.#run(action, input), request);
  }

  async alarm(): Promise<void> {
    const { nextAt } = await sweep(this.#place, (payment) =>
      this.#storage.sql.exec('INSERT INTO finals VALUES (?)', payment),
    );
    if (nextAt) await this.#storage.setAlarm(nextAt);
  }

  async #run(action: string, input: unknown): Promise<unknown> {
    const place = this.#place;
    const storage = this.#storage;
    switch (action) {
      case 'charge inside a transaction':
        return storage.transaction(() => charge(place, input));
      case 'charge, and roll the transaction back': {
        let result: unknown;
        await storage.transaction(async (transaction) => {
          result = await charge(place, input);
          transaction.rollback();
        });
        return result;
      }
      case 'charge inside a nested transaction':
        return storage.transaction(() => storage.transaction(() => charge(place, input)));
      case 'charge inside a transaction that has written':
        return storage.transaction(async () => {
          storage.sql.exec('INSERT INTO orders VALUES (?)', 'inside');
          return charge(place, input);
        });
      case 'charge inside transactionSync': {
        let charging: Promise<unknown> | undefined;
        try {
          storage.transactionSync(() => {
            storage.sql.exec('INSERT INTO orders VALUES (?)', 'rolled back');
            charging = charge(place, input);
            throw new Error('rolled back');
          });
        } catch {
          // It was rolled back on purpose.
        }
        return charging;
      }
      case 'wait inside a transaction, and roll it back':
        return storage.transaction(async (transaction) => {
          storage.sql.exec('INSERT INTO orders VALUES (?)', 'rolled back');
          await new Promise((resolve) => setTimeout(resolve, 20));
          transaction.rollback();
        });
      case 'charge after a write':
        storage.sql.exec('INSERT INTO orders VALUES (?)', 'before');
        return charge(place, input);
      case 'charge inside blockConcurrencyWhile':
        return this.#state.blockConcurrencyWhile(() => charge(place, input));
      case 'read inside a transaction':
        return storage.transaction(() => runAction(place, 'read', input));
      case 'orders':
        return storage.sql.exec('SELECT key FROM orders').toArray();
      case 'set the alarm':
        return storage.setAlarm(Date.now());
      case 'finals':
        return storage.sql.exec('SELECT payment FROM finals').toArray();
      default:
        return runAction(place, action, input);
    }
  }
}

/** A class of the old kind, without SQLite. */
export class Legacy {
  readonly #storage: DurableObjectStorage;

  constructor({ storage }: DurableObjectState) {
    this.#storage = storage;
  }

  fetch(request: Request): Promise<Response> {
    return respond(async () => void fromDurableObject(this.#storage), request);
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [, place] = new URL(request.url).pathname.split('/');
    if (place === 'd1') {
      const { DB } = env;
      const openJournal = (options?: SqliteJournalOptions) => sqliteJournal(fromD1(DB), options);
      const runStatements = (statements: readonly SqliteStatement[]) =>
        DB.batch(statements.map(({ sql, values }) => DB.prepare(sql).bind(...values)));
      return respond(
        (action, input) => runAction({ env, runStatements, openJournal }, action, input),
        request,
      );
    }
    const objects = place === 'object' ? env.OBJECTS : env.LEGACY;
    const stub = objects.get(objects.idFromName('shop'));
    const response = await stub.fetch(request.url, { method: 'POST', body: await request.text() });
    return Response.json(await response.json());
  },
};
