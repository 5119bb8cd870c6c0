/** One floor of src: the folders and the files of its root that are on it. */
export interface Floor {
  readonly parts: readonly string[];
  /** What is on it, in a few words. */
  readonly about: string;
}

/** The floors of src from the bottom up. A part imports from its own floor and from those below: test/unit/tree/imports.test.ts. */
export const floors: readonly Floor[] = [
  { parts: ['support'], about: 'clocks, redaction, values of unknown form' },
  { parts: ['schedule'], about: 'delays between checks, as pure functions' },
  { parts: ['ledger'], about: 'the rules of an order, as pure functions' },
  { parts: ['api', 'phone'], about: 'operations, schemas, money, numbers' },
  { parts: ['errors', 'events', 'parse-options'], about: 'outcomes, and what can be printed' },
  { parts: ['journal'], about: 'read, rule, compare-and-swap, again' },
  { parts: ['stores'], about: 'the journal on each database' },
  { parts: ['options', 'api-key', 'base-url'], about: 'checked once, each default filled in' },
  { parts: ['http'], about: 'attempts, retries, proof' },
  { parts: ['polling'], about: 'all waits on one timer' },
  { parts: ['idempotency', 'client-access'], about: 'claim, send, record' },
  { parts: ['index', 'client'], about: 'one method for each action of a merchant' },
  { parts: ['orders', 'follow-ups'], about: 'press, wait, sweep, notify' },
  { parts: ['node', 'ui'], about: 'undiciTransport; pages and terminal' },
  { parts: ['developers', 'operators'], about: 'mock, sandbox, probe; command, desk' },
];

/** Returns the floor of a file of src; -1 if it has none. */
export const findFloor = (file: string) =>
  floors.findIndex(({ parts }) => parts.some((part) => new RegExp(`^src/${part}[./]`).test(file)));
