import { existsSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PaymentsClient } from '../../client.ts';
import { CLIENT_ACCESS } from '../../client-access.ts';
import { getRecords } from '../../journal/core.ts';
import type { Journal } from '../../journal/journal.ts';
import type { OrderPayments } from '../../orders/index.ts';
import { isObject, orUndefined } from '../../support/untrusted.ts';
import type { OutputRedaction } from '../../ui/redact-output.ts';
import type { Screen } from '../../ui/screen.ts';
import { CommandError, describeForeignError, limitTime } from './errors.ts';

export interface Config {
  readonly payments: PaymentsClient;
  readonly journal: Journal;
  /** For the desk, which shows the state of each order. */
  readonly orderPayments: Pick<OrderPayments, 'read'> | undefined;
  /** Ends the connections of the module, if it exports such a function. */
  close(): Promise<void>;
}

/** Runs a command whose arguments are right. Returns whether it found what needs a person. */
export type Run = (config: Config, screen: Screen) => Promise<boolean>;

const CONFIG_NAMES = ['ts', 'js', 'mjs', 'cjs', 'mts', 'cts'].map((extension) => `payments.${extension}`);
const NAME_IT = 'Name the module that exports payments and journal: --config src/payments.ts.';
const EXPORT_IT = 'It must export the PaymentsClient as payments, and the journal of that client as journal.';

/**
 * Loads the config: `given`, or the one that there is in `folder`.
 *
 * @throws {CommandError} if there is none, if it fails, or if an export is missing or wrong.
 */
export async function loadConfig(
  given: string | undefined,
  folder: string,
  redact: OutputRedaction,
): Promise<Config> {
  const path = resolve(folder, given ?? findConfig(folder));
  const name = basename(path);
  if (!existsSync(path)) throw new CommandError(`There is no config ${given ?? name}.`, NAME_IT);
  const loaded = await limitTime(`The config ${name}`, () => importFile(path, redact), {
    advice: 'It must not wait for a database that is down, nor for an event.',
  });
  return readExports(loaded, name);
}

function findConfig(folder: string): string {
  const [only, ...others] = CONFIG_NAMES.filter((name) => existsSync(resolve(folder, name)));
  if (only === undefined)
    throw new CommandError(
      `There is no config in this folder: ${CONFIG_NAMES.slice(0, 3).join(', ')}, ….`,
      NAME_IT,
    );
  if (others.length === 0) return only;
  throw new CommandError(
    `There are several configs in this folder: ${[only, ...others].join(', ')}.`,
    `Name one of them: --config ${only}.`,
  );
}

async function importFile(path: string, redact: OutputRedaction): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw new CommandError(
      `The config ${basename(path)} failed: ${describeForeignError(error, redact)}`,
      adviseAbout(error, path),
    );
  }
}

/** Returns what to do about an error of Node's loader. */
function adviseAbout(error: unknown, path: string): string | undefined {
  switch (readProperty(error, 'code')) {
    case 'ERR_UNKNOWN_FILE_EXTENSION':
      if (!/^\.[mc]?ts$/.test(extname(path))) return 'Write it as a .ts, .js, .mjs or .cjs file.';
      return (
        `Node ${process.versions.node} runs no TypeScript. Use Node 22.18 or later, set ` +
        'NODE_OPTIONS=--experimental-strip-types, or write the config in JavaScript.'
      );
    case 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX':
    case 'ERR_INVALID_TYPESCRIPT_SYNTAX':
      return 'Node only removes types. For enums, namespaces and decorators set NODE_OPTIONS=--import=tsx.';
    case 'ERR_MODULE_NOT_FOUND':
    case 'MODULE_NOT_FOUND':
      return (
        'Node runs the file as it is: an import of a file needs its extension, and a package must be installed. For ' +
        'paths of a tsconfig.json set NODE_OPTIONS=--import=tsx.'
      );
    default:
      return undefined;
  }
}

/** Reads the named exports, or the fields of the default export: also of CommonJS that a compiler wrote. */
function readExports(loaded: unknown, name: string): Config {
  const byDefault = readProperty(loaded, 'default');
  const sources = [loaded, byDefault, readProperty(byDefault, 'default')];
  const read = (what: string) =>
    sources.map((source) => readProperty(source, what)).find((value) => value !== undefined);
  const payments = read('payments');
  const journal = read('journal');
  const close = read('close');
  const orderPayments = read('orderPayments');
  for (const [what, value] of Object.entries({ payments, journal }))
    if (value === undefined) throw new CommandError(`The config ${name} exports no ${what}.`, EXPORT_IT);
  const access = readProperty(payments, CLIENT_ACCESS);
  if (!isPaymentsClient(payments) || readProperty(access, 'version') !== 1)
    throw new CommandError(
      `The payments that ${name} exports is no PaymentsClient of this version.`,
      EXPORT_IT,
    );
  if (!isJournal(journal))
    throw new CommandError(`The journal that ${name} exports is no journal of this package.`, EXPORT_IT);
  if (readStore(readProperty(readProperty(access, 'client'), 'journal')) !== readStore(journal)) {
    throw new CommandError(
      `The journal that ${name} exports is not the one that its payments use.`,
      'Give the client this journal, new PaymentsClient({ journal }), and export both.',
    );
  }
  return {
    payments,
    journal,
    orderPayments: isOrderPayments(orderPayments) ? orderPayments : undefined,
    close: async () => {
      if (typeof close === 'function') await close();
    },
  };
}

/** By what it has: the module can load another copy of this package. */
function isPaymentsClient(value: unknown): value is Config['payments'] {
  return typeof readProperty(value, 'resolve') === 'function';
}

function isOrderPayments(value: unknown): value is Pick<OrderPayments, 'read'> {
  return typeof readProperty(value, 'read') === 'function';
}

function isJournal(value: unknown): value is Config['journal'] {
  return readStore(value) !== undefined;
}

const readStore = (journal: unknown) => orUndefined(() => getRecords(journal).store);

/** Returns a property of what others made. A getter can throw. */
function readProperty(owner: unknown, name: string | symbol): unknown {
  return isObject(owner) ? orUndefined((): unknown => Reflect.get(owner, name)) : undefined;
}
