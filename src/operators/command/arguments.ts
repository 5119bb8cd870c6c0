import { parseArgs } from 'node:util';
import { CommandError, describeCommand } from './errors.ts';

const OPTIONS = {
  config: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  state: { type: 'string', of: ['list'] },
  limit: { type: 'string', of: ['list'] },
  reference: { type: 'string', of: ['resolve'] },
  'checkout-url': { type: 'string', of: ['resolve'] },
  'not-charged': { type: 'boolean', of: ['resolve'] },
  accepted: { type: 'boolean', of: ['resolve'] },
  closed: { type: 'boolean', of: ['resolve'] },
  by: { type: 'string', of: ['resolve', 'desk'] },
  reason: { type: 'string', of: ['resolve'] },
  port: { type: 'string', of: ['desk'] },
  before: { type: 'string', of: ['prune'] },
  unfollowed: { type: 'boolean', of: ['prune'] },
  yes: { type: 'boolean', of: ['resolve', 'prune'] },
} as const;

/** The options that were given, and the keys after the name of the command. */
export interface Arguments {
  readonly command: string | undefined;
  readonly keys: readonly string[];
  readonly options: ReturnType<typeof parse>['values'];
}

/** @throws {CommandError} if there is no such option, or if it belongs to another command. */
export function parseArguments(args: readonly string[]): Arguments {
  const { values: options, positionals } = parse(args);
  const [command, ...keys] = positionals;
  for (const [name, option] of Object.entries(OPTIONS)) {
    const owners: readonly string[] | undefined = 'of' in option ? option.of : undefined;
    if (command !== undefined && name in options && owners?.includes(command) === false)
      throw usageError(`--${name} is an option of ${owners.join(' and ')}, not of ${command}.`);
  }
  return { command, keys, options };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    if (error instanceof Error) throw usageError(error.message);
    throw error;
  }
}

export function takeKey({ command, keys }: Arguments): string {
  const [key, ...others] = keys;
  if (key === undefined || key === '') throw usageError(`${command} needs a key: ${command} order-17/1.`);
  if (others.length === 0) return key;
  throw usageError(`${command} takes one key, but got ${keys.length}. Quote a key that has spaces.`);
}

export function refuseKeys({ command, keys }: Arguments): void {
  if (keys.length > 0) throw usageError(`${command} takes no key. To see one, use show.`);
}

export function usageError(message: string): CommandError {
  return new CommandError(message, `${describeCommand('--help')} shows what it takes.`);
}

export const HELP = `payment-journal: find the payments that need a person, and resolve them.

Commands
  list                    list the payments that need a person, oldest first
    --state <state>       those in a state instead: unknown (unresolved), begun,
                          completed, not_sent, rejected, not_charged, closed
                          or all
    --limit <number>      how many to list at most (default: all)
  show KEY-OR-ORDER       show what is recorded of a payment, or of those of an
                          order, and what to do next
  resolve KEY             record what you found out about a payment. The first
                          payment of the order 17 has the key 17/1
    --reference <TXN-…>   the charge exists. The service is asked first: it must
                          have it. For an order, it is added to its payments
    --checkout-url <url>  its checkout page, if the customer is still to be sent
                          there
    --not-charged         no charge exists. The key can then charge again.
                          You type the amount to confirm it
    --accepted            you take a payment of another price as it is: it pays
    --closed              the payment is dealt with outside: paid back. The key
                          is never charged again, but an order can be paid by
                          another payment
    --by <who>            who resolves it. It is kept for ever
    --reason <why>        what you found out. It is kept for ever
  count                   count the orders and keys, and what needs a person
  desk                    look and decide in a browser, on this machine
    --by <who>            who decides. It is kept with each decision
    --port <number>       the port to listen on (default: a free one)
  prune                   delete old records that have nothing left to do. Their
                          keys then count as new. You type the date to confirm
    --before <date>       those that were created before this day, in UTC
    --unfollowed          those too that no follow-up has ended

Options
  --config <file>         a module that exports payments and journal
                          (default: payments.ts, .js, .mjs, .cjs, .mts or .cts)
  --json                  print one JSON object a line
  --yes                   confirms --not-charged and prune without a terminal
  --help, --version       show this text, or the version

Exit codes
  0  done: list and count found nothing that needs a person
  3  list or count found what needs a person
  1  an error: arguments, config, journal or service. If the message says
     nothing else, nothing was changed

Examples
  npx payment-journal count --config src/payments.ts
  npx payment-journal list --json | jq -r .key
  npx payment-journal show order-17/1
  npx payment-journal resolve order-17/1 --reference TXN-8F2K1 \\
      --by kofi@shop.example --reason "found by its request id"
  npx payment-journal resolve order-18/1 --not-charged \\
      --by kofi@shop.example --reason "the service has none: ticket 4711"
  npx payment-journal prune --before 2025-11-01

A key is exact: quote it if it has spaces, and put -- before one that begins
with a dash.`;
