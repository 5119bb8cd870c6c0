import { expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { buildJournal } from '../../../src/journal/create-journal.ts';
import { type JournalWarning, memoryStore } from '../../../src/stores/index.ts';
import { readRedisWarnings } from '../../../src/stores/redis/durability.ts';
import { charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

/** Creates clients over one journal, with the warnings that they reported and logged. */
async function listenForWarnings(read: () => Promise<JournalWarning[]>) {
  const service = await startService((response, _, count) =>
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference: `TXN-${count}` })),
  );
  const journal = buildJournal(memoryStore(), {}, read);
  const events: PaymentsEvent[] = [];
  const warned: string[] = [];
  const nothing = () => {};
  const logger = { debug: nothing, info: nothing, warn: (line: string) => warned.push(line), error: nothing };
  const pay = async () => {
    const onEvent = (event: PaymentsEvent) => event.type === 'journal_warning' && events.push(event);
    const payments = service.client({ journal, onEvent, logger });
    return await payments.chargeMobileMoney(charge, { idempotencyKey: crypto.randomUUID() });
  };
  return { events, warned, pay };
}

test('warns of the settings of a database once, in an event and a line', async () => {
  const warning = { setting: 'appendonly', value: 'no', message: 'It can lose records.' };
  const read = vi.fn(async () => [warning]);
  const { events, warned, pay } = await listenForWarnings(read);
  await Promise.all([pay(), pay()]);
  await pay();
  expect(read).toHaveBeenCalledOnce();
  expect(events).toEqual([expect.objectContaining({ type: 'journal_warning', ...warning })]);
  expect(warned).toEqual([`payments: ${warning.message}`]);
});

test.each<[string, () => Promise<never>]>([
  ['never come', () => new Promise(() => {})],
  ['fail', () => Promise.reject(new Error('broken'))],
])('delays and fails no charge if the settings of a database %s', async (_how, read) => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const { events, pay } = await listenForWarnings(read);
  expect(await pay()).toMatchObject({ status: 'processing' });
  expect(await pay()).toMatchObject({ status: 'processing' });
  expect(events).toEqual([]);
  expect(unhandled).not.toHaveBeenCalled();
});

test.each([
  ['yes', 'always', 'noeviction', []],
  ['yes', 'everysec', 'volatile-lru', ['appendfsync']],
  ['yes', 'no', 'allkeys-lru', ['appendfsync', 'maxmemory-policy']],
  ['no', 'everysec', 'allkeys-random', ['appendonly', 'maxmemory-policy']],
])('warns of a Redis with %s, %s and %s', async (appendonly, appendfsync, policy, expected) => {
  const settings: Record<string, string> = { appendonly, appendfsync, 'maxmemory-policy': policy };
  const warnings = await readRedisWarnings(async (...[, , name = '']) => [name, settings[name]]);
  expect(warnings.map(({ setting }) => setting)).toEqual(expected);
});
