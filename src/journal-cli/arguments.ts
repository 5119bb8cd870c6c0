import { parseArgs } from 'node:util';
import type { JournalState } from '../journal/journal.ts';
import { findNearestName } from '../unknown-option.ts';
import { CommandError } from './command-error.ts';
import { COMMAND } from './command-line.ts';

const COMMANDS = ['list', 'show', 'resolve', 'count'] as const;
export type CommandName = (typeof COMMANDS)[number];

/** In the order in which they are shown. */
export const STATES = ['unknown', 'begun', 'completed', 'not_sent', 'rejected', 'not_charged'] as const;

/** What every command that reads the journal takes. */
export interface CommonOptions {
  /** The file of the config, if one was named. */
  readonly config: string | undefined;
  readonly json: boolean;
}

export interface ListCommand extends CommonOptions {
  readonly name: 'list';
  readonly state: JournalState | 'all';
  readonly limit: number | undefined;
}

export interface ShowCommand extends CommonOptions {
  readonly name: 'show';
  readonly key: string;
}

export interface CountCommand extends CommonOptions {
  readonly name: 'count';
}

export interface ResolveCommand extends CommonOptions {
  readonly name: 'resolve';
  readonly key: string;
  readonly resolution: { reference: string; checkout_url: string | undefined } | 'not_charged';
  readonly by: string;
  readonly reason: string;
  /** Whether `not_charged` was confirmed already. */
  readonly yes: boolean;
}

export type Command =
  | ListCommand
  | ShowCommand
  | CountCommand
  | ResolveCommand
  | { readonly name: 'help'; readonly about: CommandName | undefined }
  | { readonly name: 'version' };

const OPTIONS = {
  config: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  state: { type: 'string' },
  limit: { type: 'string' },
  reference: { type: 'string' },
  'checkout-url': { type: 'string' },
  'not-charged': { type: 'boolean' },
  by: { type: 'string' },
  reason: { type: 'string' },
  yes: { type: 'boolean' },
} as const;

/** The options of one command. All others are common to all commands. */
const OWNERS: Readonly<Record<string, CommandName>> = {
  state: 'list',
  limit: 'list',
  reference: 'resolve',
  'checkout-url': 'resolve',
  'not-charged': 'resolve',
  by: 'resolve',
  reason: 'resolve',
  yes: 'resolve',
};

/** @throws {CommandError} if the arguments are not a command. Its advice names the help. */
export function parseCommand(args: readonly string[]): Command {
  const { values, positionals } = parse(args);
  const [given, ...rest] = positionals;
  if (values.version) return { name: 'version' };
  if (given === undefined) {
    if (values.help) return { name: 'help', about: undefined };
    throw usageError('Name a command: list, show, resolve or count.');
  }
  const name = COMMANDS.find((command) => command === given);
  if (!name) throw unknownCommandError(given);
  if (values.help) return { name: 'help', about: name };
  for (const option of Object.keys(values)) {
    const owner = OWNERS[option];
    if (owner !== undefined && owner !== name)
      throw usageError(`--${option} is an option of ${owner}, not of ${name}.`, name);
  }

  const common = { config: values.config, json: values.json === true };
  switch (name) {
    case 'list':
      refuseArguments(name, rest);
      return { name, ...common, state: parseState(values.state), limit: parseLimit(values.limit) };
    case 'count':
      refuseArguments(name, rest);
      return { name, ...common };
    case 'show':
      return { name, ...common, key: parseKey(name, rest) };
    case 'resolve': {
      const key = parseKey(name, rest);
      const resolution = parseResolution(values);
      const { by, reason, yes = false } = values;
      if (!by?.trim()) throw usageError('resolve needs --by: who resolves the key.', name);
      if (!reason?.trim()) throw usageError('resolve needs --reason: what was found out.', name);
      return { name, ...common, key, resolution, by, reason, yes };
    }
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    if (error instanceof Error) throw usageError(error.message);
    throw error;
  }
}

type Values = ReturnType<typeof parse>['values'];

function parseState(state = 'unknown'): JournalState | 'all' {
  const known = [...STATES, 'all'] as const;
  const found = known.find((name) => name === state);
  if (found) return found;
  throw usageError(`--state takes ${known.join(', ')}, not "${state}".`, 'list');
}

function parseLimit(limit: string | undefined): number | undefined {
  if (limit === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(limit)) return Number(limit);
  throw usageError(`--limit takes a whole number from 1 on, not "${limit}".`, 'list');
}

function parseKey(name: CommandName, rest: readonly string[]): string {
  const [key, ...others] = rest;
  if (key === undefined || key === '') throw usageError(`${name} needs a key: ${name} order-17/1.`, name);
  if (others.length > 0)
    throw usageError(`${name} takes one key, but got ${rest.length}. Quote a key that has spaces.`, name);
  return key;
}

function refuseArguments(name: CommandName, [first]: readonly string[]): void {
  if (first !== undefined) throw usageError(`${name} takes no key. To see one key, use show.`, name);
}

function parseResolution(values: Values): ResolveCommand['resolution'] {
  const { reference, 'checkout-url': checkout_url, 'not-charged': isNotCharged } = values;
  if ((reference === undefined) === !isNotCharged)
    throw usageError('resolve needs one of the two: --reference TXN-… or --not-charged.', 'resolve');
  if (reference === undefined) {
    if (checkout_url === undefined) return 'not_charged';
    throw usageError('--checkout-url belongs to --reference, not to --not-charged.', 'resolve');
  }
  if (values.yes) throw usageError('--yes confirms --not-charged. --reference needs no --yes.', 'resolve');
  return { reference, checkout_url };
}

function unknownCommandError(given: string): CommandError {
  const nearest = findNearestName(given, COMMANDS);
  const advice = nearest ? `Did you mean ${nearest}?` : 'There are: list, show, resolve, count.';
  return usageError(`Unknown command "${given.slice(0, 40)}". ${advice}`);
}

function usageError(message: string, about?: CommandName): CommandError {
  const command = about === undefined ? '' : ` ${about}`;
  return new CommandError(message, `${COMMAND}${command} --help shows what it takes.`);
}
