import { expect } from 'vitest';
import * as testing from '../../../src/developers/mock/index.ts';
import * as sandbox from '../../../src/developers/sandbox/index.ts';
import * as followUps from '../../../src/follow-ups/index.ts';
import * as main from '../../../src/index.ts';
import * as node from '../../../src/node/index.ts';
import * as review from '../../../src/operators/desk/index.ts';
import * as orders from '../../../src/orders/index.ts';
import * as phone from '../../../src/phone.ts';
import * as schedule from '../../../src/schedule.ts';
import * as journal from '../../../src/stores/index.ts';
import * as journalMysql from '../../../src/stores/mysql/index.ts';
import * as journalPostgres from '../../../src/stores/postgres/index.ts';
import * as journalRedis from '../../../src/stores/redis/index.ts';
import * as journalSqlite from '../../../src/stores/sqlite/index.ts';
import type { ModuleSystem } from './runtimes.ts';

/** Every entry point of the package, with its source module. */
export const entries: Record<string, object> = {
  '.': main,
  './schedule': schedule,
  './journal': journal,
  './journal/sqlite': journalSqlite,
  './journal/postgres': journalPostgres,
  './journal/mysql': journalMysql,
  './journal/redis': journalRedis,
  './orders': orders,
  './follow-ups': followUps,
  './node': node,
  './review': review,
  './phone': phone,
  './testing': testing,
  './sandbox': sandbox,
};

/** Returns a program that prints the exported names of each entry point. */
export function entriesProgram(system: ModuleSystem): string {
  const paths = Object.keys(entries).map((entry) => `payment-collection-client${entry.slice(1)}`);
  const loads = paths.map((path) => (system === 'module' ? `import('${path}')` : `require('${path}')`));
  return `const own = (name) => !['default', '__esModule', 'module.exports'].includes(name);
Promise.all([${loads.join(', ')}]).then((modules) => {
  console.log(JSON.stringify(modules.map((module) => Object.keys(module).filter(own).sort())));
  if ('Deno' in globalThis) process.exit(); // MSW, once loaded, keeps Deno alive.
});`;
}

/** Compares the output of {@link entriesProgram} with the source. */
export function expectEntries(printed: string): void {
  const names = Object.values(entries).map((module) => Object.keys(module).sort());
  expect(JSON.parse(printed)).toEqual(names);
}
