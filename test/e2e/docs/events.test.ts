import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { createReporters, type Logger, type PaymentsEvent } from '../../../src/events.ts';
import { PaymentsClient } from '../../../src/index.ts';
import { readRedisWarnings } from '../../../src/stores/redis/durability.ts';
import { entryPoints, listExports, publicTypes } from './public-types.ts';
import { codeIn, readPage, sectionOf } from './tables.ts';

const page = readPage('docs/reference/events.md');

const reference = 'TXN-8f2c61d0';
const requestId = '5f0c7c1e-…';
const idempotencyKey = 'order-17/1';
const read = { operation: 'verify', attempt: 1, reference } as const;
const charge = { operation: 'chargeMobileMoney', idempotencyKey } as const;
const wait = { type: 'wait', reference, attempts: 4, elapsed: 23_118 } as const;
const followUp = { type: 'follow_up', idempotencyKey, reference } as const;

/** What the journal says about a Redis with one wrong setting. */
const settings = new Map([
  ['appendonly', 'yes'],
  ['appendfsync', 'everysec'],
]);
const warnings = await readRedisWarnings(async (_config, _get, name) => [name, settings.get(String(name))]);

/** Lets a client report each warning. */
async function causeWarnings(): Promise<PaymentsEvent[]> {
  const events: PaymentsEvent[] = [];
  const sent = Promise.withResolvers<void>();
  const client = new PaymentsClient({
    apiKey: 'sk_test_x',
    baseUrl: 'https://payments.example/api/v1',
    fetch() {
      sent.resolve();
      return new Promise(() => {});
    },
    onEvent: (event) => events.push(event),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  client.notify(undefined);
  const stop = new AbortController();
  client.verify(reference, { signal: stop.signal }).catch(() => {});
  await sent.promise;
  await client.close({ timeout: 1 });
  stop.abort();
  return events.flatMap((event) =>
    event.type === 'warning' ? [{ ...event, message: event.message.replace(' 1 ms', ' 30000 ms') }] : [],
  );
}

/** An event for each line of the page, in its order. */
const samples: PaymentsEvent[] = [
  { type: 'request', ...read, requestId },
  { type: 'response', ...read, requestId, status: 200, duration: 87.4 },
  {
    type: 'response',
    ...read,
    requestId,
    serviceRequestId: 'req-7',
    status: 503,
    duration: 87.4,
    error: 'server_error',
  },
  { type: 'response', ...read, requestId, status: null, duration: 30_000, error: 'request_timeout' },
  { type: 'retry', ...read, delay: 412, error: 'server_error' },
  { type: 'poll', reference, attempt: 3, status: 'pending', lag: 2, delay: 3_742 },
  { type: 'poll', reference, attempt: 3, error: 'connection_error', lag: 2, delay: 3_742 },
  { ...wait, result: 'final', status: 'success' },
  { ...wait, result: 'timeout', status: 'pending', elapsed: 600_000, attempts: 54 },
  { ...wait, result: 'aborted', status: 'pending' },
  { ...wait, result: 'closed', status: 'pending' },
  { ...wait, result: 'failed' },
  { type: 'journal', ...charge, result: 'replayed', reference },
  { type: 'journal', ...charge, result: 'waiting' },
  { type: 'journal', ...charge, result: 'unresolved' },
  { type: 'journal', ...charge, result: 'not_recorded', reference },
  { type: 'resolved', ...charge, result: 'charged', reference, by: 'ama' },
  { type: 'resolved', ...charge, result: 'not_charged', by: 'ama' },
  { type: 'resolved', ...charge, result: 'closed', by: 'ama' },
  { ...followUp, result: 'final', status: 'success' },
  { ...followUp, result: 'delivered', status: 'success' },
  { ...followUp, result: 'attention', reason: 'overdue' },
  { ...followUp, result: 'handler_failed', error: 'RangeError: out of stock' },
  { ...followUp, result: 'handler_slow' },
  { ...followUp, result: 'given_up' },
  { ...followUp, result: 'failed', error: 'ConnectionError: no route' },
  { type: 'follow_up', idempotencyKey, result: 'unreadable' },
  { type: 'follow_up', result: 'paused', error: 'JournalError: no route', delay: 30_000 },
  ...(await causeWarnings()),
  ...warnings.map((warning) => ({ type: 'journal_warning' as const, ...warning })),
];

/** Returns the level and the line that the client logs for an event. */
function log(event: PaymentsEvent): { level: string; line: string } {
  const lines: { level: string; line: string }[] = [];
  const at = (level: string) => (line: string) => void lines.push({ level, line });
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  createReporters(undefined, logger, (id) => id).report(event);
  const [first, ...others] = lines;
  if (!first || others.length > 0) throw new Error(`${event.type} is not one line.`);
  return first;
}

const resultOf = (event: PaymentsEvent) => ('result' in event ? event.result : undefined);

const [main] = entryPoints;
if (!main) throw new Error('The package has no entry point.');
const exported = listExports(main);

/** The types of all events, by the text of their `type`. */
const types = new Map<string, ts.Type>();
const union = exported.find(({ name }) => name === 'PaymentsEvent');
const members = union && publicTypes.getDeclaredTypeOfSymbol(union.symbol);
for (const member of members?.isUnion() ? members.types : []) {
  const [type] = literalsOf(member, 'type');
  if (type !== undefined) types.set(type, member);
}

function literalsOf(type: ts.Type, field: string): string[] {
  const property = publicTypes.getPropertyOfType(type, field);
  const value = property && publicTypes.getTypeOfSymbol(property);
  const all = value?.isUnion() ? value.types : [value];
  return all.flatMap((one) => (one?.isStringLiteral() ? [one.value] : []));
}

test('has a section for each type of event, and for no other', () => {
  const headings = [...page.matchAll(/^### `(?<type>\w+)`/gm)].map(({ groups }) => groups?.type ?? '');
  expect(types.size).toBe(10);
  expect(headings.sort()).toEqual([...types.keys()].sort());
});

describe.each([...types])('%s', (name, type) => {
  const section = sectionOf(page, `\`${name}\``);

  test('shows its lines, each with its level', () => {
    const [, shown = ''] = /^```text\n(.*?)^```$/ms.exec(section) ?? [];
    const logged = samples.filter((event) => event.type === name).map(log);
    expect(shown.trimEnd().split('\n')).toEqual(
      logged.map(({ level, line }) => `${level.padEnd(5)} ${line}`),
    );
  });

  test('lists its fields, and no other', () => {
    const fields = publicTypes.getPropertiesOfType(type).map((field) => {
      const isOptional = (field.flags & ts.SymbolFlags.Optional) !== 0;
      return isOptional ? `${field.name}?` : field.name;
    });
    const [, listed = ''] = /^Fields: (.+)\.$/m.exec(section) ?? [];
    expect(codeIn(listed)).toEqual(fields.filter((field) => field !== 'type'));
  });

  test('explains each of its results, and shows a line of each', () => {
    const results = literalsOf(type, 'result');
    const [explained = ''] = section.split('```text');
    expect(codeIn(explained)).toEqual(expect.arrayContaining(results));
    const logged = samples.filter((event) => event.type === name).map(resultOf);
    expect([...new Set(logged)].sort()).toEqual(results.length === 0 ? [undefined] : [...results].sort());
  });
});
