/// <reference path="../node_modules/bun-types/sqlite.d.ts" />
// Runs on Bun, with the built package: bun programs/bun-sqlite.ts <command> <file> <base URL>.

import { Database } from 'bun:sqlite';
import type { PaymentsClient } from '../../../../src/index.ts';
import { getRecords } from '../../../../src/journal/core.ts';
import type { Journal } from '../../../../src/stores/index.ts';
import type { SqliteJournalOptions } from '../../../../src/stores/sqlite/index.ts';

const built = (file: string) => new URL(`../../../../dist/${file}`, import.meta.url).href;
const main: typeof import('../../../../src/index.ts') = await import(built('index.js'));
const { createFollowUps }: typeof import('../../../../src/follow-ups/index.ts') = await import(
  built('follow-ups.js')
);
const { sqliteJournal }: typeof import('../../../../src/stores/sqlite/index.ts') = await import(
  built('journal-sqlite.js')
);
const { journalConformance }: typeof import('../../../../src/developers/mock/index.ts') = await import(
  built('testing.js')
);

const [command, file = '', baseUrl = ''] = process.argv.slice(2);

function open(options?: SqliteJournalOptions): { database: Database; journal: Journal; close(): void } {
  const database = new Database(file);
  return { database, journal: sqliteJournal(database, options), close: () => database.close() };
}

function createPayments(journal: Journal): PaymentsClient {
  const polling = { initialDelay: 100, minDelay: 100, maxDelay: 200 };
  return new main.PaymentsClient({
    apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
    maxRetries: 0,
    baseUrl,
    journal,
    polling,
  });
}

/** Charges an order. Returns the reference, or the name of the error. */
async function charge(payments: PaymentsClient, key: string): Promise<string> {
  const input = {
    amount: '25.50',
    customer_email: 'ama@example.com',
    phone: '0244123456',
    network: 'mtn',
  } as const;
  try {
    const options = { idempotencyKey: key, extraBody: { order: key } };
    return (await payments.chargeMobileMoney(input, options)).reference;
  } catch (error) {
    return `${Object(error).name}: ${Object(error).message}`;
  }
}

const commands: Record<string, () => Promise<unknown>> = {
  /** Runs the cases, and returns which failed. */
  async conformance() {
    const failed: string[] = [];
    const cases = journalConformance((table) => {
      const { journal, close } = open({ table });
      return { store: getRecords(journal).store, close };
    });
    for (const { name, run } of cases) {
      await Promise.resolve(run()).catch((error) => failed.push(`${name}: ${error}`));
    }
    return { count: cases.length, failed };
  },

  /** Does what a shop does with a key, on one connection. */
  async shop() {
    const { database, journal, close } = open();
    const payments = createPayments(journal);
    const first = await charge(payments, 'order-1');
    const replayed = await charge(payments, 'order-1');
    database.exec('BEGIN');
    const inside = await charge(payments, 'order-2');
    database.exec('ROLLBACK');
    const listed: string[] = [];
    for await (const { key } of journal.list({ reference: first })) listed.push(key);
    const count = await journal.count();
    const delivered: string[] = [];
    const followUps = createFollowUps({
      payments,
      journal,
      onFinal: ({ key }) => delivered.push(key),
      onAttention: () => {},
    });
    while (delivered.length === 0) {
      await followUps.sweep();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const pragmas = ['journal_mode', 'synchronous'].map((name) => database.query(`PRAGMA ${name}`).get());
    payments.close();
    close();
    return { first, replayed, inside, listed, count, delivered, pragmas };
  },
};

const run = commands[command ?? ''];
if (!run) throw new Error(`There is no command ${command}.`);
console.log(JSON.stringify(await run()));
