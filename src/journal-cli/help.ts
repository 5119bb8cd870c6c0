import { type CommandName, STATES } from './arguments.ts';

const COMMON = `Options
  --config <file>  a module that exports payments and journal
                   (default: payments.ts, .js, .mjs, .cjs, .mts or .cts here)
  --json           print one JSON object a line
  --help           show this text
`;

const MAIN = `payment-journal: find the payments whose result is not known, and resolve them.

Commands
  list           list the unresolved keys, oldest first
  show KEY       show what is recorded of a key, and what to do next
  resolve KEY    record whether the charge of a key exists
  count          count the keys in each state

${COMMON}  --version        show the version
  A command has its own options: npx payment-journal resolve --help

Exit codes
  0  done: no key is unresolved (list, count), the entry was shown, or resolved
  3  list or count found an unresolved key
  1  an error: arguments, config, journal or service

Examples
  npx payment-journal count --config src/payments.ts
  npx payment-journal show order-17/1
  npx payment-journal resolve order-17/1 --reference TXN-8F2K1 \\
      --by kofi@shop.example --reason "found by its request id"
`;

const LIST = `payment-journal list: list keys, oldest first.

  payment-journal list [--state <state>] [--limit <number>]

Options of list
  --state <state>   ${STATES.slice(0, 4).join(', ')},
                    ${STATES.slice(4).join(', ')} or all (default: unknown)
  --limit <number>  how many keys to list at most (default: all)

  unknown: unresolved. A charge might exist, and nothing is sent under the key.
  begun:   a process is charging now.
  A long key is shortened in the table. --json prints it whole.

${COMMON}
Exit codes
  0  no listed key is unresolved. With --state completed that is always so:
     to ask about the whole journal, use count
  3  an unresolved key was listed
  1  an error: arguments, config or journal

Examples
  npx payment-journal list
  npx payment-journal list --state all --limit 20
  npx payment-journal list --json | jq -r .key
`;

const SHOW = `payment-journal show: show what is recorded of a key, and what to do next.

  payment-journal show KEY

  The key is exact: quote it if it has spaces, and put -- before one that
  begins with a dash.

${COMMON}
Exit codes
  0  the entry was shown, also if it is unresolved
  1  there is no such key, or an error: arguments, config or journal

Examples
  npx payment-journal show order-17/1
  npx payment-journal show order-17/1 --json
`;

const RESOLVE = `payment-journal resolve: record whether the charge of a key exists.

  payment-journal resolve KEY --reference TXN-… --by <who> --reason <why>
  payment-journal resolve KEY --not-charged --by <who> --reason <why>

  Find the charge in the records of the service first. What is recorded of it:
  npx payment-journal show KEY

Options of resolve
  --reference <TXN-…>   the charge exists. The service is asked first: it must
                        have the transaction, with the key's amount and currency
  --checkout-url <url>  its checkout page, for a key of initialize
  --not-charged         no charge exists. The key can then charge again.
                        You type the amount to confirm it
  --yes                 confirms --not-charged, if there is no terminal
  --by <who>            who resolves the key. It is kept for ever
  --reason <why>        what you found out. It is kept for ever

${COMMON}
Exit codes
  0  the key is resolved
  1  nothing was changed, unless the message says otherwise

Examples
  npx payment-journal resolve order-17/1 --reference TXN-8F2K1 \\
      --by kofi@shop.example --reason "found by its request id"
  npx payment-journal resolve order-18/1 --not-charged \\
      --by kofi@shop.example --reason "the service has none: ticket 4711"
`;

const COUNT = `payment-journal count: count the keys in each state.

  payment-journal count

${COMMON}
Exit codes
  0  no key is unresolved
  3  a key is unresolved
  1  an error: arguments, config or journal

Examples
  npx payment-journal count
  npx payment-journal count --json | jq .unknown
`;

const TEXTS: Readonly<Record<CommandName, string>> = {
  list: LIST,
  show: SHOW,
  resolve: RESOLVE,
  count: COUNT,
};

/** Returns the help of the command, or of one of its commands, as lines. */
export function getHelp(about: CommandName | undefined): string[] {
  return (about === undefined ? MAIN : TEXTS[about]).trimEnd().split('\n');
}
